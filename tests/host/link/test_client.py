"""Tests of the device client with firmware in an emulator, with faults of the serial line and of the device."""

from __future__ import annotations

import os
import pty
import random
import threading
import tty
from collections.abc import Callable
from pathlib import Path

import pytest

from arenite.errors import DeviceError
from arenite.firmware.generator.project import write_project
from arenite.host.emulator.machine import start
from arenite.host.flash.build import direct_build
from arenite.host.link.client import DeviceClient
from arenite.host.link.frames import encode_frame
from arenite.host.link.transport import SerialTransport
from arenite.profiles.boards import load_board
from tests import toy_model
from tests.host.link.faulty_transport import FaultyLine, RandomFaults

pytestmark = pytest.mark.qemu
BOARD = "qemu_mps2_an386"
Firmware = Callable[..., Path]
FAULT_BOARDS = ["qemu_mps2_an386", "qemu_microbit", "qemu_netduinoplus2", "qemu_riscv32", "qemu_xtensa_lx106"]
# C code in a layer of the toy model: an instruction that causes a fault, and a loop that never ends.
TRAP = "__builtin_trap();"
SPIN = "for (volatile int i = 1; i;) {\n    }"


def use_stack(count: int) -> str:
    """Return C code that writes ``count`` bytes of stack."""
    fill = f"for (int i = 0; i < {count}; i++) {{\n        big[i] = 1;\n    }}"
    return f"volatile uint8_t big[{count}];\n    {fill}\n    (void)big[0];"


def run_carried(device: DeviceClient, count: int, seed: int) -> tuple[list[bytes], list[bytes]]:
    """Run ``count`` inferences that keep their state from one to the next. Return the actual and the expected outputs.

    If an inference ran twice, all later outputs would differ.
    """
    rng = random.Random(seed)
    samples = [rng.randbytes(8) for _ in range(count)]
    outputs = []
    for index, sample in enumerate(samples):
        device.write_input(0, sample)
        device.infer(fresh=index == 0)
        outputs.append(device.read_output(0, 8))
    return outputs, toy_model.expected(samples, fresh=False)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_results_are_right_over_a_faulty_line(firmware: Firmware, seed: int) -> None:
    faults = RandomFaults(0.005, seed), RandomFaults(0.005, seed + 100)
    with start(load_board(BOARD), firmware(BOARD)) as machine:
        line = FaultyLine(machine.transport, to_device=faults[0], to_host=faults[1])
        with line, SerialTransport(line.port) as host:
            device = DeviceClient(host, resend_s=0.1, attempts=40)
            device.connect(toy_model.HASH)
            outputs, expected = run_carried(device, 40, seed)
            assert outputs == expected
    assert faults[0].count > 5 and faults[1].count > 5
    assert device.statistics.resent > 0


@pytest.mark.slow
def test_a_lost_reply_to_infer_does_not_run_it_twice(firmware: Firmware) -> None:
    lost_frames: list[bytes] = []

    def lose_every_second_infer_reply(data: bytes) -> bytes:
        # Only the reply to INFER is a frame of 22 bytes: 16 bytes and the CRC, encoded. It may arrive in several reads.
        pending.extend(data)
        out = bytearray()
        while 0 in pending:
            end = pending.index(0) + 1
            frame = bytes(pending[:end])
            del pending[:end]
            is_infer = len(frame) == 22 and lost_frames[-1:] != [frame]
            if is_infer:
                lost_frames.append(frame)
            else:
                out += frame
        return bytes(out)

    pending = bytearray()
    with start(load_board(BOARD), firmware(BOARD)) as machine:
        line = FaultyLine(machine.transport, to_host=lose_every_second_infer_reply)
        with line, SerialTransport(line.port) as host:
            device = DeviceClient(host, resend_s=0.1)
            device.connect(toy_model.HASH)
            outputs, expected = run_carried(device, 10, 7)
            assert outputs == expected
    assert len(lost_frames) >= 10
    assert device.statistics.resent >= 10


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULT_BOARDS)
def test_a_fault_restarts_the_device_and_is_reported(firmware: Firmware, name: str) -> None:
    with start(load_board(name), firmware(name, TRAP)) as machine:
        device = DeviceClient(machine.transport, resend_s=0.3)
        device.connect(toy_model.HASH)
        device.write_input(0, bytes(8))
        with pytest.raises(DeviceError, match="restarted during the run because of a fault"):
            device.infer()
        assert device.connect(toy_model.HASH).model == "toy"
        assert device.memory().started_by.startswith("a fault")


@pytest.mark.slow
def test_a_device_that_hangs_is_reported_within_the_timeout(firmware: Firmware) -> None:
    with start(load_board(BOARD), firmware(BOARD, SPIN)) as machine:
        device = DeviceClient(machine.transport, resend_s=0.3, infer_timeout_s=1.5)
        device.connect(toy_model.HASH)
        with pytest.raises(DeviceError, match="does not respond"):
            device.infer()


def test_a_requested_restart_is_noticed(firmware: Firmware) -> None:
    with start(load_board(BOARD), firmware(BOARD)) as machine:
        device = DeviceClient(machine.transport, resend_s=0.3)
        device.connect(toy_model.HASH)
        device.restart()
        with pytest.raises(DeviceError, match="restarted during the run because of a request"):
            device.read_output(0, 8)


def test_other_firmware_raises_an_error(firmware: Firmware) -> None:
    with start(load_board(BOARD), firmware(BOARD)) as machine:
        device = DeviceClient(machine.transport)
        with pytest.raises(DeviceError, match=r"runs other firmware: model 'toy' \(0102030405060708\)"):
            device.connect(b"\xaa" * 32)


def test_another_protocol_version_raises_an_error(firmware: Firmware) -> None:
    sentence = "uses version 9 of the protocol, but this program uses version 1"
    with (
        start(load_board(BOARD), firmware(BOARD, version=9)) as machine,
        pytest.raises(DeviceError, match=sentence),
    ):
        DeviceClient(machine.transport).hello()


@pytest.mark.slow
def test_a_long_name_is_truncated(tmp_path: Path) -> None:
    name = "a-very-long-name-" * 20
    project = write_project(tmp_path / "p", toy_model.sources(name=name), [], load_board(BOARD))
    with start(load_board(BOARD), direct_build(project)) as machine:
        device = DeviceClient(machine.transport)
        info = device.connect(toy_model.HASH)
        assert len(info.model) > 200
        assert name.startswith(info.model)
        device.write_input(0, bytes(8))
        device.infer()
        assert device.read_output(0, 8) == b"\1" * 8


def test_a_write_after_the_end_of_the_arena_damages_a_guard(firmware: Firmware) -> None:
    with start(
        load_board(BOARD), firmware(BOARD, "volatile int past = 33;\n    AT(0)[past] = 1;")
    ) as machine:
        device = DeviceClient(machine.transport)
        device.connect(toy_model.HASH)
        device.infer()
        assert device.memory().guards_damaged == 1


@pytest.mark.parametrize("name", ["qemu_mps2_an386", "qemu_riscv32", "qemu_xtensa_lx106"])
def test_the_stack_of_a_layer_is_measured(firmware: Firmware, name: str) -> None:
    fill = use_stack(1000)
    with start(load_board(name), firmware(name, fill)) as machine:
        device = DeviceClient(machine.transport)
        device.connect(toy_model.HASH)
        memory_before = device.memory()
        device.infer()
        memory_after = device.memory()
        assert memory_before.stack_used < 300
        assert 1000 <= memory_after.stack_used < 1300
        assert not memory_after.stack_overflowed


def test_a_stack_overflow_is_detected(firmware: Firmware) -> None:
    fill = use_stack(2040)
    with start(load_board(BOARD), firmware(BOARD, fill)) as machine:
        device = DeviceClient(machine.transport)
        device.connect(toy_model.HASH)
        device.infer()
        assert device.memory().stack_overflowed


@pytest.mark.parametrize(
    "junk",
    [
        b"\0" * 50,
        bytes(range(1, 256)) * 4,
        encode_frame(bytes([1, 5, 1, 0]))[:-3],
        encode_frame(bytes([1, 3, 0, 0]) + b"x" * 400),
        encode_frame(b"\x01\x63\x00\x00"),
        encode_frame(bytes([1, 4, 0, 0]) + b"\xff\xff\xff\xff\xff\xff\xff\xff"),
        encode_frame(bytes([1, 3, 0, 0])),
    ],
    ids=["zeros", "noise", "truncated", "oversized", "unknown", "far", "no offset"],
)
def test_invalid_bytes_change_nothing(firmware: Firmware, junk: bytes) -> None:
    with start(load_board(BOARD), firmware(BOARD)) as machine:
        device = DeviceClient(machine.transport, resend_s=0.2)
        device.connect(toy_model.HASH)
        device.write_input(0, bytes(8))
        machine.transport.write(junk)
        device.infer()
        assert device.read_output(0, 8) == b"\1" * 8
        assert device.memory().guards_damaged == 0


def test_a_missing_tensor_raises_an_error(firmware: Firmware) -> None:
    with start(load_board(BOARD), firmware(BOARD)) as machine:
        device = DeviceClient(machine.transport)
        device.connect(toy_model.HASH)
        for index, size in [(0, 9), (1, 1)]:
            with pytest.raises(DeviceError, match="does not have this tensor, or the tensor is smaller"):
                device.read_output(index, size)
        with pytest.raises(DeviceError, match="does not have this tensor, or the tensor is smaller"):
            device.write_input(0, bytes(9))


def test_a_missing_port_raises_an_error() -> None:
    with pytest.raises(DeviceError, match="There is no serial port /dev/ttyNOPE99"):
        SerialTransport("/dev/ttyNOPE99")


def test_a_silent_port_raises_an_error() -> None:
    near, far = pty.openpty()
    tty.setraw(far)
    try:
        with (
            SerialTransport(os.ttyname(far)) as line,
            pytest.raises(DeviceError, match="No device answers on"),
        ):
            DeviceClient(line).hello(timeout_s=0.3)
    finally:
        os.close(near)
        os.close(far)


def test_a_device_with_other_output_raises_an_error() -> None:
    near, far = pty.openpty()
    tty.setraw(far)
    stop = threading.Event()

    def chatter() -> None:
        while not stop.wait(0.02):
            os.write(near, b"Hello from a sketch\r\n\0")

    talker = threading.Thread(target=chatter)
    talker.start()
    try:
        with SerialTransport(os.ttyname(far)) as line, pytest.raises(DeviceError, match="is too noisy"):
            DeviceClient(line).hello(timeout_s=0.5)
    finally:
        stop.set()
        talker.join()
        os.close(near)
        os.close(far)


def test_a_port_that_disappears_raises_an_error(firmware: Firmware) -> None:
    with start(load_board(BOARD), firmware(BOARD)) as machine:
        device = DeviceClient(machine.transport, resend_s=0.2)
        device.connect(toy_model.HASH)
        machine.process.kill()
        machine.process.wait()
        with pytest.raises(DeviceError, match=r"disappeared|does not respond"):
            device.infer()
