"""Tests of a device's health report: causes of starts, a log that survives resets, and the watchdog."""

from __future__ import annotations

import json
import random
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from arenite.errors import DeviceError, UsageError
from arenite.firmware.generator.features import Features
from arenite.firmware.generator.project import write_project
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import prepare
from arenite.host.build.project import generate_project
from arenite.host.emulator.machine import RunningEmulator, start
from arenite.host.link import health
from arenite.host.link.client import DeviceClient, DeviceRestartedError, HealthUnavailableError
from arenite.host.link.frames import FrameDecoder, encode_frame
from arenite.host.link.transport import SerialTransport
from arenite.profiles.boards import load_board
from tests import toy_model
from tests.host.link.device_reset import reset
from tests.host.link.faulty_transport import FaultyLine, RandomFaults
from tests.host.small_graphs import classifier, save
from tests.session_builds import ToyFirmware

pytestmark = pytest.mark.qemu
BOARDS = [
    "qemu_microbit",
    "qemu_mps2_m0",
    "qemu_mps2_an385",
    "qemu_mps2_an386",
    "qemu_netduinoplus2",
    "qemu_mps2_an505",
    "qemu_mps3_an547",
    "qemu_riscv32",
    "qemu_xtensa_lx106",
]
#: The boards with a watchdog.
WATCHED = ["qemu_mps2_m0", "qemu_mps2_an385", "qemu_mps2_an386", "qemu_mps2_an505", "qemu_mps3_an547"]
BOARD = "qemu_mps2_an386"
#: C code in the last layer of the toy model. The first byte of the input selects the fault.
MISCHIEF = """
    volatile uint32_t nothing = 0;
    switch (AT(0)[0]) {
    case 1:
        __builtin_trap();
        break;
    case 2:
        model_memory.tail[1] = 7;
        model_memory.head[0] = 8;
        break;
    case 3:
        while (nothing == 0) {
        }
        break;
    case 4: /* no memory is there on any of the boards */
        nothing = *(volatile uint32_t *)0xE8000000u;
        break;
    case 5: /* a word into RAM, as boards with a Cortex-M have it */
        *(volatile uint32_t *)(0x20000000u + 4u * (AT(0)[1] | (uint32_t)AT(0)[2] << 8)) =
            AT(0)[4] | (uint32_t)AT(0)[5] << 8 | (uint32_t)AT(0)[6] << 16 | (uint32_t)AT(0)[7] << 24;
        break;
    default:
        break;
    }
"""
#: Inputs of the toy model. The last four select the faults 1 to 4 of ``MISCHIEF``.
OK, TRAP, GUARD, HANG, NOWHERE = (bytes([k]) + bytes(range(1, 8)) for k in range(5))
Firmware = Callable[[str], Path]


@pytest.fixture(scope="session")
def healthy(toy_firmware: ToyFirmware) -> Firmware:
    """Return a function that builds the ELF file of the toy model with the health report."""
    return lambda board: toy_firmware(board, MISCHIEF, features=Features(health=True))


def connected(machine: RunningEmulator) -> DeviceClient:
    """Return a client with an open session."""
    device = DeviceClient(machine.transport, resend_s=0.3, infer_timeout_s=30)
    device.connect(toy_model.HASH)
    return device


def texts(device: DeviceClient) -> list[str]:
    """Return the entries of the log as text, without those about damaged frames."""
    return [entry.text for entry in device.log() if entry.code != health.BAD_FRAME]


def symbol(elf: Path, name: str) -> tuple[int, int]:
    """Return address and size of a symbol."""
    with elf.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        symbols = table.get_symbol_by_name(name)
        assert symbols is not None
        (symbol,) = symbols
    return symbol["st_value"] & ~1, symbol["st_size"]


def run_fault(device: DeviceClient, sample: bytes) -> DeviceRestartedError:
    """Run an inference that restarts the device, open a new session, and return the error of the inference."""
    device.write_input(0, sample)
    with pytest.raises(DeviceRestartedError) as caught:
        device.infer()
    device.connect(toy_model.HASH)
    return caught.value


@pytest.mark.slow
@pytest.mark.parametrize("name", BOARDS)
def test_a_healthy_device_reports_its_inferences_and_uptime(healthy: Firmware, name: str) -> None:
    with start(load_board(name), healthy(name)) as machine:
        device = connected(machine)
        for _ in range(3):
            device.write_input(0, OK)
            device.infer()
        earlier_report = device.health()
        time.sleep(0.2)
        report = device.health()
        assert (report.inferences, report.cause, report.starts) == (3, health.POWER_ON, 1)
        assert (report.guards_damaged, report.remarks, report.fault) == (0, [], None)
        memory = device.memory()
        assert 0 < report.stack_margin <= memory.stack_bytes - memory.stack_used
        assert memory.started_by == report.started_by == "power-on"
        assert report.uptime_ms > earlier_report.uptime_ms
        assert report.watchdog_ms == (8000 if name in WATCHED else 0)
        assert texts(device) == ["started because of power-on"]
        assert json.dumps(report.to_json())


@pytest.mark.slow
@pytest.mark.parametrize("name", BOARDS)
def test_the_log_survives_a_request_a_fault_and_the_reset_button(healthy: Firmware, name: str) -> None:
    elf = healthy(name)
    with start(load_board(name), elf) as machine:
        device = connected(machine)
        device.restart()
        device.connect(toy_model.HASH)
        assert device.health().started_by == "a request"
        error = run_fault(device, TRAP)
        assert error.by_fault and "because of a fault: " in error.problem
        report = device.health()
        assert (report.cause, report.inferences, report.starts) == (health.FAULT, 0, 3)
        address, size = symbol(elf, "reverse")
        assert address <= report.pc < address + size  # the layer that trapped
        assert report.fault is not None
        assert f"{report.pc:#010x}" in report.started_by
        if load_board(name).core != "cortex-m0":  # it has no register that names the fault
            assert "undefined" in report.fault or "breakpoint" in report.fault
        reset(machine)
        device.connect(toy_model.HASH)
        assert device.health().cause == len(health.CAUSES) - 2  # a reset without a recorded cause
        assert device.memory().started_by == "a reset without a recorded cause"
        entries = texts(device)
        assert [t.split(" at ")[0] for t in entries] == [
            "started because of power-on",
            "started because of a request",
            report.fault,
            "started because of a fault",
            "started because of a reset without a recorded cause",
        ]
        assert f"{report.pc:#010x}" in entries[2]
        starts = [entry.start for entry in device.log() if entry.code != health.BAD_FRAME]
        assert starts == [1, 2, 2, 3, 4]


@pytest.mark.parametrize("name", [b for b in BOARDS if b != "qemu_xtensa_lx106"])
@pytest.mark.slow
def test_the_report_of_a_fault_has_the_address_that_was_accessed(healthy: Firmware, name: str) -> None:
    with start(load_board(name), healthy(name)) as machine:
        device = connected(machine)
        error = run_fault(device, NOWHERE)
        report = device.health()
        assert report.cause == health.FAULT
        if load_board(name).core != "cortex-m0":  # it has no register for it
            assert report.address == 0xE8000000
            assert "without memory" in (report.fault or "")
            assert "address 0xe8000000" in error.problem and "address 0xe8000000" in error.hint


@pytest.mark.slow
@pytest.mark.parametrize("name", BOARDS)
def test_damaged_guards_are_reported_after_the_inference(healthy: Firmware, name: str) -> None:
    with start(load_board(name), healthy(name)) as machine:
        device = connected(machine)
        for sample in (OK, GUARD, OK):
            device.write_input(0, sample)
            device.infer()
        report = device.health()
        assert report.guards_damaged == 2
        assert report.remarks == ["2 guard words around the arena are overwritten."]
        assert texts(device)[1:] == ["2 guard words overwritten, seen after inference 2"]  # logged once


@pytest.mark.slow
@pytest.mark.parametrize("name", ["qemu_mps2_m0", "qemu_mps3_an547"])  # all have the same watchdog
def test_the_watchdog_resets_a_hung_device(healthy: Firmware, name: str) -> None:
    elf = healthy(name)
    with start(load_board(name), elf) as machine:
        device = connected(machine)
        error = run_fault(device, HANG)
        assert error.by_fault and "because of the watchdog" in error.problem
        report = device.health()
        address, size = symbol(elf, "reverse")
        assert report.cause == health.WATCHDOG and address <= report.pc < address + size
        assert texts(device) == [
            "started because of power-on",
            f"hung: reset by the watchdog at {report.pc:#010x}",
            "started because of the watchdog",
        ]
        # The device works again. If it waits for the host for longer than the watchdog's time, it is not reset.
        device.write_input(0, OK)
        device.infer()
        while device.health().uptime_ms < 2 * report.watchdog_ms:
            time.sleep(0.2)
        assert device.health().starts == 2
        assert device.read_output(0, 8) == toy_model.expected([OK])[0]


def test_a_cleared_log_is_empty(healthy: Firmware) -> None:
    with start(load_board(BOARD), healthy(BOARD)) as machine:
        device = connected(machine)
        device.restart()
        device.connect(toy_model.HASH)
        assert len(device.log(clear=True)) >= 2
        assert device.log() == [] and device.health().log_entries == 0
        reset(machine)
        device.connect(toy_model.HASH)
        # The numbers continue, because the last entry before the reset is kept.
        assert texts(device)[-1] == "started because of a reset without a recorded cause"
        assert device.health().starts == 3


@pytest.mark.slow
def test_random_contents_of_memory_are_not_read_as_log_entries(healthy: Firmware, tmp_path: Path) -> None:
    """After power-on, RAM can contain noise, or old entries with a flipped bit."""
    elf = healthy(BOARD)
    address, size = symbol(elf, "log_entries")
    words, entry = size // 4, size // 16
    with start(load_board(BOARD), elf) as machine:
        device = connected(machine)

        def put(content: bytes) -> None:
            """Fill the memory of the log with ``content``, and reset the device, as if this content was there after
            power-on."""
            for k, word in enumerate(struct.unpack(f"<{words}I", content)):
                offset = (address - 0x20000000) // 4 + k
                device.write_input(0, struct.pack("<BHBI", 5, offset, 0, word))
                device.infer()
            reset(machine)
            device.connect(toy_model.HASH)

        for _ in range(5):
            device.restart()
            device.connect(toy_model.HASH)
        log_memory = saved(machine, address, size, tmp_path / "ram")
        numbers = [e.number for e in device.log()]
        put(log_memory)
        assert [e.number for e in device.log()] == [*numbers, numbers[-1] + 1]  # the test can restore a log
        # If the second newest entry was damaged, only this entry is lost.
        damaged = bytearray(log_memory)
        damaged[numbers[-2] % 16 * entry + 8] ^= 4
        put(bytes(damaged))
        assert [e.number for e in device.log()] == [*numbers[:-2], numbers[-1], numbers[-1] + 1]
        put(random.Random(1).randbytes(size))
        assert texts(device) == ["started because of power-on"]
        assert device.health().started_by == "power-on" and device.health().starts == 1


def saved(machine: RunningEmulator, address: int, size: int, file: Path) -> bytes:
    """Return ``size`` bytes of the board's memory from ``address`` on. QEMU writes them to ``file``."""
    save = {"execute": "pmemsave", "arguments": {"val": address, "size": size, "filename": str(file)}}
    assert machine.process.stdin is not None
    machine.process.stdin.write(json.dumps(save).encode() + b"\n")
    machine.process.stdin.flush()
    end = time.monotonic() + 60
    while not file.exists() or file.stat().st_size < size:
        assert time.monotonic() < end
        time.sleep(0.05)
    return file.read_bytes()


def test_noise_is_counted_in_one_log_entry(healthy: Firmware) -> None:
    with start(load_board(BOARD), healthy(BOARD)) as machine:
        device = connected(machine)
        # Send 100 damaged frames, and then an invalid request. The device answers each.
        damaged = bytearray(encode_frame(bytes([77, 1, 0, 1])))
        damaged[3] ^= 0x55
        decoder = FrameDecoder()
        for _ in range(100):
            machine.transport.write(bytes(damaged))
            while not list(decoder.feed(machine.transport.read(10.0))):
                pass
        report = device.health()
        assert report.bad_frames >= 100
        with pytest.raises(DeviceError, match="refused command 99"):
            device._exchange(99, bytes(2))
        assert [e.text for e in device.log()] == [
            "started because of power-on",
            f"damaged frames, {report.bad_frames} times",
            "invalid requests, 1 time",
        ]


def test_the_log_keeps_the_newest_entries(healthy: Firmware) -> None:
    with start(load_board(BOARD), healthy(BOARD)) as machine:
        device = connected(machine)
        for _ in range(20):
            device.restart()
            device.connect(toy_model.HASH)
        entries = device.log()
        numbers = [e.number for e in entries]
        # The log holds 16 entries.
        assert len(numbers) == 16 and numbers == list(range(numbers[0], numbers[0] + 16))
        assert entries[-1].start == device.health().starts == 21


@pytest.mark.slow
def test_a_restart_whose_reply_is_lost_is_no_error(healthy: Firmware) -> None:
    lost_replies: list[bytes] = []

    def drop_first(data: bytes) -> bytes:
        if restarting and not lost_replies:
            lost_replies.append(data)
            return b""
        return data

    restarting = False
    with start(load_board(BOARD), healthy(BOARD)) as machine:
        line = FaultyLine(machine.transport, to_host=drop_first)
        with line, SerialTransport(line.port) as host:
            device = DeviceClient(host, resend_s=0.3, attempts=40)
            device.connect(toy_model.HASH)
            restarting = True
            device.restart()
            device.connect(toy_model.HASH)
            assert device.health().cause == health.REQUEST
    assert len(lost_replies) == 1


@pytest.mark.slow
def test_health_and_log_are_right_over_a_faulty_line(healthy: Firmware) -> None:
    faults = RandomFaults(0.01, 9), RandomFaults(0.01, 109)
    with start(load_board(BOARD), healthy(BOARD)) as machine:
        line = FaultyLine(machine.transport, to_device=faults[0], to_host=faults[1])
        with line, SerialTransport(line.port) as host:
            device = DeviceClient(host, resend_s=0.1, attempts=40)
            device.connect(toy_model.HASH)
            for _ in range(6):
                device.restart()
                device.connect(toy_model.HASH)
            for _ in range(10):
                assert device.health().cause == health.REQUEST
                log = [e for e in device.log() if e.code == health.START]
                assert [e.start for e in log] == list(range(log[0].start, log[-1].start + 1))
    assert faults[0].count > 5 and faults[1].count > 5


@pytest.mark.slow
@pytest.mark.parametrize("name", [BOARD, "qemu_microbit", "qemu_riscv32"])
def test_no_request_hangs_the_device(healthy: Firmware, name: str) -> None:
    """The device answers every valid frame with random content, and no such frame restarts it."""
    rng = random.Random(4)
    with start(load_board(name), healthy(name)) as machine:
        device = connected(machine)
        for _ in range(300):
            command = rng.choice([1, 2, 3, 4, 6, 8, 9, rng.randrange(8, 256)])
            arguments = bytes([rng.randrange(4), rng.randrange(4)])
            size = rng.choice([0, 1, 4, 7, 8, 8, 12, rng.randrange(240)])
            words = struct.pack("<II", *(rng.choice([0, 1, 5, 2**31, 2**32 - 1]) for _ in range(2)))
            machine.transport.write(
                encode_frame(bytes([rng.randrange(256), command]) + arguments + words[:size])
            )
            assert machine.transport.read(2.0)
        time.sleep(0.1)
        machine.transport.discard_input()
        device.connect(toy_model.HASH)
        assert device.health().starts == 1
        device.write_input(0, OK)
        device.infer()
        assert device.read_output(0, 8) == toy_model.expected([OK])[0]


def test_firmware_without_health_raises_an_error(firmware: Callable[..., Path]) -> None:
    with start(load_board(BOARD), firmware(BOARD)) as machine:
        device = DeviceClient(machine.transport)
        device.connect(toy_model.HASH)
        for request in (device.health, device.log):
            with pytest.raises(HealthUnavailableError, match="does not report its health"):
                request()


def test_writing_a_project_with_mlperf_monitor_and_health_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="MLPerf monitor cannot report"):
        write_project(
            tmp_path / "p",
            toy_model.sources(),
            [],
            load_board(BOARD),
            protocol="mlperf",
            input_bytes=8,
            features=Features(health=True),
        )


def test_generating_a_project_with_mlperf_monitor_and_health_raises_an_error(tmp_path: Path) -> None:
    prepared = prepare(save(classifier(), tmp_path / "m.tflite"))
    with pytest.raises(UsageError, match="MLPerf monitor cannot report"):
        generate_project(
            prepared, load_board(BOARD), tmp_path / "p", BuildOptions(protocol="mlperf", health=True)
        )
    assert not (tmp_path / "p").exists()
