"""``arenite meter``: list the known meters, record a trace, and write the firmware of an INA logger."""

from __future__ import annotations

import time
from pathlib import Path

import click

from arenite.errors import UsageError
from arenite.host.cli.energy.meter_tables import amperes, meter_json, recording_json
from arenite.host.cli.option_types import Number
from arenite.host.cli.progress import Stages
from arenite.host.energy.energy_record import save_trace
from arenite.host.energy.logger_project import BAUD, SENSORS, LoggerWiring, write_logger
from arenite.host.energy.meter_choice import MeterChoice
from arenite.host.energy.meters.base import Meter
from arenite.host.energy.meters.open import METERS
from arenite.host.energy.meters.trace import Trace
from arenite.host.energy.windows.meter_accuracy import profile_of
from arenite.host.report.console import note, print_json, show, table
from arenite.profiles.boards import load_board
from arenite.profiles.meters import load_meter, meter_names


@click.group()
def meter() -> None:
    """List current meters, record the current of a board, or write the firmware of a current logger with an INA2xx
    sensor."""


@meter.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def list_(as_json: bool) -> int:
    """List the supported meters."""
    profiles = [load_meter(name) for name in meter_names()]
    if as_json:
        print_json({"schema": "arenite.meters/1", "meters": [meter_json(m) for m in profiles]})
        return 0
    rows = [
        (
            m.name,
            m.title,
            f"--meter {m.driver}",
            f"{m.samples_per_s:,.0f}",
            "-" if m.supply_v is None else f"{m.supply_v[0]:g} to {m.supply_v[1]:g}",
            m.marks or "-",
            f"{m.limit_a(10e-3) / 10e-3:.2%}",
        )
        for m in profiles
    ]
    columns = ("name", "instrument", "driver", "samples/s", "supplies V", "marks", "error at 10 mA")
    show(table("Meters", columns, rows))
    return 0


@meter.command("show")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def show_(name: str, as_json: bool) -> int:
    """Show the ranges and accuracy of meter NAME.

    Also show how the meter is connected, and the source of each figure. `arenite meter list` shows the names.
    """
    m = load_meter(name)
    if as_json:
        print_json({"schema": "arenite.meter/1", **meter_json(m)})
        return 0
    facts = [
        ("driver", f"--meter {m.driver}"),
        ("connected by", f"{m.connection} {m.address}".strip()),
        ("USB ids", ", ".join(m.usb) or "-"),
        ("baud", f"{m.baud:,}" if m.baud else "-"),
        ("samples per second", f"{m.samples_per_s:,.0f}"),
        ("measures voltage", "yes" if m.measures_voltage else "no; give it with --supply"),
        ("supplies the board", "no" if m.supply_v is None else f"{m.supply_v[0]:g} to {m.supply_v[1]:g} V"),
        ("digital marks", str(m.marks)),
    ]
    rows = [
        (amperes(r.max_a), f"{r.gain:.3%}", amperes(r.offset_a), f"{r.limit_a(r.max_a) / r.max_a:.2%}")
        for r in m.ranges
    ]
    show(table(m.title, ("", ""), facts))
    show(table("Limits of error", ("range", "of reading", "plus", "at full scale"), rows))
    for key, source in m.sources.items():
        note(f"{key}: {source}")
    return 0


@meter.command()
@click.argument("name")
@click.option(
    "--port",
    default="auto",
    show_default=True,
    metavar="PORT",
    help=(
        "Port of the meter: a serial port, tcp:HOST[:PORT], or /dev/i2c-N:ADDRESS. auto: find the meter by "
        "its USB ids."
    ),
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="CSV file to write.",
)
@click.option(
    "--seconds",
    type=Number(min=0.05),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds to record.",
)
@click.option(
    "--supply",
    type=Number(min=0, min_open=True),
    default=3.3,
    show_default=True,
    metavar="VOLTS",
    help="Supply voltage of the board in volts. A PPK2, LPM01A or Otii powers the board with this voltage.",
)
@click.option(
    "--own-supply",
    is_flag=True,
    help=(
        "The board has its own power supply, and a PPK2 only measures the current (ampere meter mode). "
        "Default: the PPK2 powers the board."
    ),
)
@click.option(
    "--rate",
    type=Number(min=0, min_open=True),
    metavar="HZ",
    help=(
        "Sampling rate in samples per second. Only for meters whose driver in `arenite meter list` is "
        "lpm01a, scpi, scpi-polled or joulescope. Default: the rate of the driver."
    ),
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def record(
    name: str,
    port: str,
    output: Path,
    seconds: float,
    supply: float,
    own_supply: bool,
    rate: float | None,
    as_json: bool,
) -> int:
    """Record the current measured by meter NAME to a CSV file. `arenite meter list` shows the names.

    The columns are time, current, voltage and marks (the levels of the meter's digital inputs, one bit each).
    `arenite energy --csv` reads the file.
    """
    profile = load_meter(name) if name in meter_names() else None
    driver = profile.driver if profile is not None else name
    if driver not in METERS:
        raise UsageError(f"There is no meter '{name}'.", f"The known meters are {', '.join(meter_names())}.")
    if profile is not None and profile.supply_v is not None and not own_supply:
        min_v, max_v = profile.supply_v
        if not min_v <= supply <= max_v:
            raise UsageError(
                f"{profile.title} supplies {min_v:g} to {max_v:g} V, not {supply:g} V.",
                "Give --supply a voltage in this range.",
            )
    instrument, port_name = MeterChoice(driver, port, supply, own_supply, rate).make()
    with Stages() as stages, instrument:
        trace = _record_trace(instrument, seconds, stages)
    trace.require(2)
    save_trace(output, trace)
    report = recording_json(trace, profile or profile_of(trace), port_name, output)
    if as_json:
        print_json(report)
        return 0
    rows = [
        ("samples", f"{report['samples']:,} in {report['seconds']:.3f} s"),
        ("lost", f"{report['lost_samples']:,}"),
        ("mean current", amperes(abs(report["current_a"]["mean"]))),
        ("peak current", amperes(abs(report["current_a"]["max"]))),
        ("supply", f"{report['supply_v']:.3f} V"),
        ("energy", f"{report['energy_j']:.6g} J"),
        (
            "limit of error",
            "unknown" if report["limit_a"] is None else f"± {amperes(report['limit_a'])} at the mean",
        ),
        ("file", str(output)),
    ]
    show(table(f"Recorded by {name}", ("", "measured"), rows))
    for text in trace.notes:
        note(text)
    return 0


def _record_trace(instrument: Meter, seconds: float, stages: Stages) -> Trace:
    """Record for ``seconds``, show the progress with ``stages``, and return the trace. Ctrl-C ends the recording early
    and keeps its samples."""
    instrument.start()
    end = time.monotonic() + seconds
    try:
        while (remaining_s := end - time.monotonic()) > 0:
            stages("record", round(1000 * (seconds - remaining_s)), round(1000 * seconds))
            for _ in instrument.samples(min(remaining_s, 0.1)):
                if time.monotonic() >= end:
                    break
                stages("record", round(1000 * (seconds - (end - time.monotonic()))), round(1000 * seconds))
    except KeyboardInterrupt:
        note("Interrupted: the samples recorded so far are saved.")
    return instrument.stop()


@meter.command()
@click.option("--sensor", type=click.Choice(SENSORS), required=True, help="Sensor chip.")
@click.option(
    "--board",
    required=True,
    metavar="NAME",
    help=(
        "Board that reads the sensor. Its profile must have an Arduino core; `arenite boards` lists the "
        "names."
    ),
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder to write the project to.",
)
@click.option(
    "--shunt",
    type=float,
    default=0.1,
    show_default=True,
    metavar="OHMS",
    help="Resistance of the shunt resistor in ohms.",
)
@click.option(
    "--address", default="0x40", show_default=True, metavar="ADDRESS", help="I2C address of the chip."
)
@click.option(
    "--mark-pin",
    "pins",
    multiple=True,
    metavar="PIN",
    help=(
        "Pin of a digital input that is recorded with each sample. The first pin is bit 0 of the column "
        "`marks` that `arenite meter record` writes. May be given up to 8 times."
    ),
)
@click.option(
    "--gain-ppm",
    type=int,
    default=0,
    help=(
        "Correction of the gain, in parts per million: this share of the current is added to each sample. "
        "Default: 0."
    ),
)
@click.option(
    "--baud", type=int, default=BAUD, show_default=True, help="Baud rate of the logger's serial port."
)
@click.option(
    "--i2c-hz", type=int, default=400_000, show_default=True, help="Clock frequency of the I2C bus in hertz."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def firmware(
    sensor: str,
    board: str,
    output: Path,
    shunt: float,
    address: str,
    pins: tuple[str, ...],
    gain_ppm: int,
    baud: int,
    i2c_hz: int,
    as_json: bool,
) -> int:
    """Write the firmware of a current logger.

    The result is a PlatformIO project for an INA219, INA226 or INA228 sensor.
    """
    try:
        number = int(address, 0)
    except ValueError as error:
        raise UsageError(f"{address} is not an I2C address.", "Write it as 0x40.") from error
    files = write_logger(
        output, sensor, load_board(board), LoggerWiring(number, shunt, gain_ppm, pins, baud, i2c_hz)
    )
    if as_json:
        print_json(
            {
                "schema": "arenite.meter-firmware/1",
                "directory": str(output.resolve()),
                "sensor": sensor,
                "board": board,
                "files": files,
            }
        )
        return 0
    show(f"{output}: {', '.join(files)}", f"Next: pio run -d {output} -t upload")
    return 0
