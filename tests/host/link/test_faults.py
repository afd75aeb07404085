"""One byte in a hundred is damaged, and the board is reset during the run. Each result is right or missing, never
wrong.

The line is a pseudo-terminal between the client and the emulator, and the emulator resets the board.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from arenite.errors import DeviceError
from arenite.host.bench.devices.monitor_answers import CONFIRMATIONS, MonitorAnswers
from arenite.host.emulator.machine import start
from arenite.host.link.client import DeviceClient
from arenite.host.link.mlperf_monitor import MonitorClient
from arenite.host.link.transport import SerialTransport
from arenite.profiles.boards import load_board
from tests import toy_model
from tests.host.link.device_reset import reset
from tests.host.link.faulty_transport import FaultyLine, RandomFaults

pytestmark = pytest.mark.qemu
BOARD = "qemu_mps2_an386"
RATE = 0.01
Firmware = Callable[..., Path]


def samples(count: int, seed: int) -> list[bytes]:
    """Return ``count`` random inputs of the toy model."""
    rng = random.Random(seed)
    return [rng.randbytes(8) for _ in range(count)]


def framed_answer(client: DeviceClient, sample: bytes) -> bytes | None:
    """Run one sample and return its output. After an error, reconnect and repeat the sample. Return None after four
    errors."""
    for _ in range(4):
        try:
            client.write_input(0, sample)
            client.infer()
            return client.read_output(0, 8)
        except DeviceError:
            client.connect(toy_model.HASH)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_framed_results_are_right_despite_faults_and_a_reset(firmware: Firmware, seed: int) -> None:
    faults = RandomFaults(RATE, seed), RandomFaults(RATE, seed + 100)
    inputs, actual = samples(40, seed), []
    with start(load_board(BOARD), firmware(BOARD)) as machine:
        line = FaultyLine(machine.transport, to_device=faults[0], to_host=faults[1])
        with line, SerialTransport(line.port) as host:
            client = DeviceClient(host, resend_s=0.1, attempts=40)
            client.connect(toy_model.HASH)
            for k, sample in enumerate(inputs):
                if k == 20:
                    # The reset happens in the middle of a sample, so its input is lost.
                    client.write_input(0, sample)
                    reset(machine)
                actual.append(framed_answer(client, sample))
    wrong_indices = [
        k
        for k, (a, b) in enumerate(zip(actual, toy_model.expected(inputs), strict=True))
        if a not in (b, None)
    ]
    assert wrong_indices == []
    assert actual.count(None) == 0  # such short frames arrive after a few attempts
    assert faults[0].count > 10 and faults[1].count > 10
    assert client.statistics.damaged > 0


@pytest.mark.slow
def test_the_frame_size_adapts_to_the_line(firmware: Firmware) -> None:
    faults = RandomFaults(0.03, 5)
    part_sizes: list[int] = []

    def to_device(data: bytes) -> bytes:
        return faults(data) if len(part_sizes) < 40 else data

    with start(load_board(BOARD), firmware(BOARD)) as machine:
        line = FaultyLine(machine.transport, to_device=to_device)
        with line, SerialTransport(line.port) as host:
            client = DeviceClient(host, resend_s=0.1, attempts=40)
            client.connect(toy_model.HASH)
            for _ in range(80):
                client.memory()
                part_sizes.append(client._part)
            for _ in range(200):
                client.memory()
    # A frame carries at most 240 bytes. On the damaged line the parts are smaller; afterwards they grow again.
    assert min(part_sizes) < 240
    assert client._part == 240


@pytest.mark.slow
def test_monitor_results_are_right_or_missing_despite_faults(firmware: Firmware) -> None:
    faults = RandomFaults(RATE, 3), RandomFaults(RATE, 103)
    inputs = samples(60, 3)
    all_expected = toy_model.expected(inputs)
    actual: list[bytes | None] = []
    with start(load_board(BOARD), firmware(BOARD, protocol="mlperf")) as machine:
        line = FaultyLine(machine.transport, to_device=faults[0], to_host=faults[1])
        with line, SerialTransport(line.port) as host:
            client = MonitorClient(host, timeout_s=1.0, infer_timeout_s=2.0)
            client.connect()
            feeder = MonitorAnswers(client)
            for k, (sample, expected) in enumerate(zip(inputs, all_expected, strict=True)):
                if k == 5:
                    host.write(b"db load 8%db 01")  # an incomplete command
                    reset(machine)
                answer_found = feeder.answer(sample, expected)
                actual.append(None if answer_found is None else answer_found.outputs)
                # Lines of eight bytes sometimes arrive undamaged. On a busy computer, answers also come too late.
                if k >= 9 and sum(answer is not None for answer in actual) >= 5:
                    break
    assert [k for k, (a, b) in enumerate(zip(actual, all_expected, strict=False)) if a not in (b, None)] == []
    assert sum(answer is not None for answer in actual) >= 5
    assert feeder.statistics.repeated > 0
    assert faults[0].count > 5 and faults[1].count > 5


class ChangedOutputs:
    """Applies ``change`` to the first two digits of the outputs that the device sends, line by line."""

    def __init__(self, change: Callable[[bytes], bytes]) -> None:
        self._change = change
        self._pending = b""

    def __call__(self, data: bytes) -> bytes:
        *lines, self._pending = (self._pending + data).split(b"\n")
        head = b"m-raw-["
        return b"".join(
            (head + self._change(line[7:9]) + line[9:] if line.startswith(head) else line) + b"\n"
            for line in lines
        )


@pytest.mark.parametrize("times", [1, CONFIRMATIONS - 1])
def test_a_damaged_answer_is_repeated(firmware: Firmware, times: int) -> None:
    wrong_digits = [b"ee"] * times  # the same wrong bytes each time
    sample = bytes(range(8, 16))
    (expected,) = toy_model.expected([sample])
    with start(load_board(BOARD), firmware(BOARD, protocol="mlperf")) as machine:
        line = FaultyLine(
            machine.transport,
            to_host=ChangedOutputs(lambda digits: wrong_digits.pop() if wrong_digits else digits),
        )
        with line, SerialTransport(line.port) as host:
            client = MonitorClient(host)
            client.connect()
            feeder = MonitorAnswers(client)
            answer = feeder.answer(sample, expected)
    assert answer is not None and answer.outputs == expected
    assert feeder.statistics.repeated == times


def test_a_wrong_answer_of_the_device_is_kept(firmware: Firmware) -> None:
    """If three runs return the same unexpected bytes, the device computed these bytes, and the line did not damage
    them."""
    sample = bytes(range(8))
    with start(load_board(BOARD), firmware(BOARD, "AT(24)[0] ^= 4;", protocol="mlperf")) as machine:
        client = MonitorClient(machine.transport)
        client.connect()
        feeder = MonitorAnswers(client)
        (expected,) = toy_model.expected([sample])
        answer = feeder.answer(sample, expected)
    assert answer is not None
    assert answer.outputs == bytes([expected[0] ^ 4]) + expected[1:]
    assert feeder.statistics.repeated == CONFIRMATIONS - 1


def test_answers_that_never_agree_are_missing(firmware: Firmware) -> None:
    changed = iter(range(100, 256))
    sample = bytes(range(8))
    with start(load_board(BOARD), firmware(BOARD, protocol="mlperf")) as machine:
        line = FaultyLine(machine.transport, to_host=ChangedOutputs(lambda _: b"%02x" % next(changed)))
        with line, SerialTransport(line.port) as host:
            client = MonitorClient(host)
            client.connect()
            assert MonitorAnswers(client).answer(sample, toy_model.expected([sample])[0]) is None
