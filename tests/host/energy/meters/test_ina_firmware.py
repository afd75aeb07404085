"""The real driver reads the logger's firmware, which is compiled as a program for this computer with simulated chips.
The firmware also compiles for microcontrollers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.logger_project import SENSORS, LoggerWiring, logger_files, write_logger
from arenite.host.energy.meters.ina_logger import InaLogger
from arenite.host.energy.windows.find import find_windows
from arenite.host.energy.windows.result import measure
from arenite.profiles.boards import all_boards, load_board

DEVICE = Path(__file__).parent / "ina_device"
FLAGS = ("-std=gnu++14", "-Wall", "-Wextra", "-Werror")
#: Idle and active current (A), length of a period and of its active part (s), supply (V), shunt (ohm).
IDLE, ACTIVE, PERIOD, LENGTH, VOLTS, OHM = 0.002, 0.045, 0.25, 0.1, 3.3, 0.1
#: The energy of the active part.
JOULES = VOLTS * ACTIVE * LENGTH


@pytest.fixture(scope="module")
def loggers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Compile one logger program per chip. Return the paths of the programs by chip. "other" is an INA226 logger with a
    wrong address."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    programs = {}
    for name in (*SENSORS, "other"):
        folder = tmp_path_factory.mktemp(name)
        wiring = LoggerWiring(shunt_ohm=OHM, mark_pins=("3", "7"), address=0x41 if name == "other" else 0x40)
        write_logger(folder, "ina226" if name == "other" else name, load_board("nucleo_f411re"), wiring)
        programs[name] = folder / "logger"
        sources = (folder / "src" / "main.cpp", DEVICE / "core.cpp")
        command = ["g++", "-O1", *FLAGS, f"-I{DEVICE}", f"-I{folder / 'src'}", *map(str, sources)]
        subprocess.run([*command, "-lutil", "-o", str(programs[name])], check=True)
    return programs


@contextmanager
def running(
    program: Path, chip: str, baud: int = 921_600, idle: float = IDLE, active: float = ACTIVE, ppm: float = 0
) -> Iterator[str]:
    """Start a logger that runs ten times as fast as real time; yield its port."""
    values = (chip.removeprefix("ina"), baud, idle, active, PERIOD, LENGTH, VOLTS, OHM, 10, ppm)
    process = subprocess.Popen([str(program), *map(str, values)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def complete_periods(seconds: float) -> int:
    """Return the number of periods in a recording, without 0.05 s at its edges."""
    return int((seconds - 0.05) / PERIOD)


@pytest.mark.slow
@pytest.mark.parametrize("chip", SENSORS)
def test_the_driver_reads_the_energy_of_the_chips_registers(loggers: dict[str, Path], chip: str) -> None:
    with running(loggers[chip], chip, ppm=300) as port, InaLogger(port) as meter:
        trace = meter.record(0.4)  # about 4 s of the simulated time
    rounds = complete_periods(trace.seconds)
    assert rounds >= 4 and trace.lost_samples == 0
    start = trace.time_s[0] + 0.01
    truth = rounds * VOLTS * (IDLE * (PERIOD - LENGTH) + ACTIVE * LENGTH)
    assert trace.energy_j(start, start + rounds * PERIOD) == pytest.approx(truth, rel=0.002)
    # Every conversion was read exactly once.
    assert np.ptp(np.diff(trace.time_s)) < 1.0 / trace.rate_hz
    assert len(trace) / trace.seconds == pytest.approx(trace.rate_hz, rel=0.002)
    result = measure(trace, find_windows(trace, bit=1))
    assert result.windows.method == "gpio mark"
    assert result.median_uj == pytest.approx(JOULES * 1e6, rel=0.01)
    assert trace.supply_v == pytest.approx(VOLTS, abs=0.004)


@pytest.mark.slow
@pytest.mark.parametrize("chip", ["ina226", "ina228"])
def test_samples_that_are_lost_on_a_slow_line_are_counted(loggers: dict[str, Path], chip: str) -> None:
    """At 230,400 baud, less than half of the lines can be sent. The numbers have gaps, but the energy is right."""
    with running(loggers[chip], chip, baud=230_400) as port, InaLogger(port) as meter:
        trace = meter.record(0.5)
    rounds = complete_periods(trace.seconds)
    assert trace.lost_samples > 0.3 * len(trace)
    # The number of received and lost samples together is the number of the chip's conversions.
    assert len(trace) + trace.lost_samples == pytest.approx(trace.seconds * trace.rate_hz, rel=0.005)
    start = trace.time_s[0] + 0.01
    truth = rounds * VOLTS * (IDLE * (PERIOD - LENGTH) + ACTIVE * LENGTH)
    assert trace.energy_j(start, start + rounds * PERIOD) == pytest.approx(truth, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("chip", SENSORS)
def test_a_reversed_current_is_negative(loggers: dict[str, Path], chip: str) -> None:
    with running(loggers[chip], chip, idle=-0.010, active=-0.010) as port, InaLogger(port) as meter:
        trace = meter.record(0.1)
    assert np.median(trace.current_a) == pytest.approx(-0.010, rel=0.01)


@pytest.mark.slow
def test_a_current_above_the_range_reads_as_the_limit(loggers: dict[str, Path]) -> None:
    """The limit of an INA226 is 81.92 mV across the shunt of 0.1 ohm, which is 0.8192 A."""
    with running(loggers["ina226"], "ina226", idle=2.0, active=2.0) as port, InaLogger(port) as meter:
        trace = meter.record(0.1)
    assert np.median(trace.current_a) == pytest.approx(0.81918, rel=1e-3)


@pytest.mark.slow
def test_the_command_zero_removes_the_offset(loggers: dict[str, Path]) -> None:
    with running(loggers["ina228"], "ina228", idle=50e-6, active=50e-6) as port, InaLogger(port) as meter:
        with_offset = meter.record(0.1)
        meter.transport.write(b"zero\n")
        without_offset = meter.record(0.3)
    assert np.median(with_offset.current_a) == pytest.approx(50e-6, abs=2e-6)
    assert np.abs(without_offset.current_a).max() < 4e-6


def test_two_recordings_are_complete_although_the_timer_wraps(loggers: dict[str, Path]) -> None:
    """The 32-bit clock wraps one second after the start."""
    with running(loggers["ina226"], "ina226") as port, InaLogger(port) as meter:
        traces = [meter.record(0.15) for _ in range(2)]
    for trace in traces:
        assert trace.lost_samples == 0 and np.diff(trace.time_s).min() > 0
        assert trace.seconds > 0.5


def test_a_chip_that_does_not_answer_raises_an_error(loggers: dict[str, Path]) -> None:
    with (
        running(loggers["other"], "ina226") as port,
        pytest.raises(DeviceError, match="does not reach its INA226"),
        InaLogger(port),
    ):
        pass


def test_another_chip_at_the_address_raises_an_error(loggers: dict[str, Path]) -> None:
    with (
        running(loggers["ina228"], "ina226") as port,
        pytest.raises(DeviceError, match="does not reach its INA228"),
        InaLogger(port),
    ):
        pass


@pytest.mark.parametrize("chip", SENSORS)
@pytest.mark.parametrize("cpu", ["cortex-m0", "cortex-m4"])
def test_the_firmware_compiles_for_its_target(tmp_path: Path, chip: str, cpu: str) -> None:
    """The test compiles with declarations of Arduino's functions, without an Arduino core."""
    if shutil.which("arm-none-eabi-g++") is None:
        pytest.skip("arm-none-eabi-g++ is not installed")
    write_logger(tmp_path, chip, load_board("pico"), LoggerWiring(mark_pins=("2",)))
    command = ["arm-none-eabi-g++", *FLAGS, f"-mcpu={cpu}", "-mthumb", "-Os", "-fno-exceptions", "-fno-rtti"]
    includes = [f"-I{DEVICE}", f"-I{DEVICE / 'bare'}", f"-I{tmp_path / 'src'}"]
    out = tmp_path / "logger.o"
    subprocess.run(
        [*command, *includes, "-c", str(tmp_path / "src" / "main.cpp"), "-o", str(out)], check=True
    )
    size = subprocess.run(["arm-none-eabi-size", str(out)], check=True, capture_output=True, text=True).stdout
    text, data, bss = map(int, size.splitlines()[1].split()[:3])
    # An Arduino Uno has 32 KB of flash and 2 KB of RAM for the logger and its core.
    assert text + data < 8192 and data + bss < 512


def test_every_board_with_an_arduino_core_gets_a_project(tmp_path: Path) -> None:
    for board in all_boards():
        if board.platformio is None or board.platformio.framework != "arduino":
            with pytest.raises(UsageError, match=r"is emulated|does not have an Arduino core"):
                logger_files("ina226", board, LoggerWiring())
            continue
        files = logger_files("ina226", board, LoggerWiring(mark_pins=("D2", "PA_1"), shunt_ohm=0.01))
        assert f"board = {board.platformio.board}\n" in files["platformio.ini"]
        assert "#define METER_SHUNT_UOHM 10000\n" in files["src/config.h"]
        assert "#define METER_MARK_PINS D2, PA_1 " in files["src/config.h"]


def test_platformio_accepts_the_project(tmp_path: Path) -> None:
    """PlatformIO parses and lints the project. A build would need the vendor's platform."""
    write_logger(tmp_path, "ina226", load_board("nucleo_f411re"), LoggerWiring())
    pio = Path(sys.executable).with_name("pio")
    command = [str(pio), "project", "config", "-d", str(tmp_path), "--json-output"]
    config = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    environment = dict(dict(config)["env:nucleo_f411re"])
    assert environment["framework"] == ["arduino"] and environment["board"] == "nucleo_f411re"
    lint = subprocess.run([*command[:-1], "--lint"], check=True, capture_output=True, text=True)
    assert "free from linting errors" in lint.stdout


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"address": 0x20}, "not an address of an INA"),
        ({"shunt_ohm": 0.0}, "is out of range"),
        ({"mark_pins": tuple("123456789")}, "more than 8"),
        ({"mark_pins": ("2; evil",)}, "not the name of a pin"),
        ({"gain_ppm": 200_000}, "more than a tenth"),
        ({"baud": 300}, "out of range"),
    ],
)
def test_impossible_wiring_raises_an_error(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        LoggerWiring(**wrong)  # type: ignore[arg-type]


def test_a_folder_with_other_files_raises_an_error(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="thesis"):
        write_logger(tmp_path, "ina226", load_board("pico"), LoggerWiring())
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]
