"""``arenite energy``: energy per inference, measured with a meter, computed from a recording, or estimated."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.converters.graph.index_limits import index_limits
from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.host.bench.samples import Samples, load_samples, random_samples
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.cli.energy.energy_tables import show_energy
from arenite.host.cli.energy.meter_options import POSITIVE, make_meter, meter_options
from arenite.host.cli.option_types import Number
from arenite.host.cli.options import build_options
from arenite.host.cli.progress import Steps
from arenite.host.energy.battery_life import battery_life
from arenite.host.energy.energy_record import board_record, recording_record, save_trace
from arenite.host.energy.estimate import estimate_energy
from arenite.host.energy.measure import MeasurementConfig, measure_board
from arenite.host.energy.meters.csv_file import read_csv
from arenite.host.energy.windows.find import find_windows
from arenite.host.energy.windows.result import EnergyResult, measure
from arenite.host.report.console import note, print_json
from arenite.host.report.current_svg import current_page, current_svg
from arenite.profiles.boards import load_board


@click.command()
@click.argument("image", required=False, type=click.Path(path_type=Path))
@click.option(
    "--board",
    required=True,
    metavar="NAME",
    help="Name of a board; `arenite boards` lists the names. Boards called qemu_* are emulated.",
)
@click.option(
    "--port",
    metavar="PORT",
    help=(
        "Serial port of a real board: a path such as /dev/ttyACM0, or auto to find it by its USB id. Required "
        "for a real board with --meter."
    ),
)
@meter_options
@click.option(
    "--inferences",
    type=click.IntRange(min=1),
    help="With --meter: record until the board has run at least this number of inferences. Default: 5.",
)
@click.option(
    "--duration",
    type=POSITIVE,
    metavar="SECONDS",
    help=(
        "With --meter: record at least this number of seconds. With --inferences too, the recording ends when "
        "both are reached. Default: 10, or no minimum with --inferences."
    ),
)
@build_options("optimise", "stream_input", "passes", "mark")
@click.option(
    "--csv",
    "csv_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help=(
        "Evaluate a recording that another program wrote as a CSV file: Otii, nRF Connect Power Profiler, "
        "Joulescope, STM32CubeMonitor-Power, or a table with columns for time and current. Nothing is built "
        "or run."
    ),
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw the current over time to this file, which ends with .svg or .html. Needs --meter or --csv.",
)
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the recording to this CSV file. Needs --meter or --csv.",
)
@click.option(
    "--battery",
    metavar="NAME",
    help=(
        "Predict the life of this battery, such as cr2032 (`arenite duty --help` lists the names). Needs "
        "--every."
    ),
)
@click.option(
    "--every", type=POSITIVE, metavar="SECONDS", help="With --battery: seconds between two inferences."
)
@click.option(
    "--sleep-current",
    type=Number(min=0),
    metavar="MICROAMPERES",
    help=(
        "With --battery: sleep current of the board in microamperes. Default: the current measured between "
        "inferences, else the sleep current in the board's profile."
    ),
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, dir_okay=False),
    help=(
        "Samples: an .npz file with the array x, or x0, x1, ... for a model with several inputs. Default: 5 "
        "random inputs."
    ),
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def energy(
    image: Path | None,
    board: str,
    port: str | None,
    meter: str | None,
    meter_port: str,
    supply: float | None,
    own_supply: bool,
    rate: float | None,
    inferences: int | None,
    duration: float | None,
    mark_input: int | None,
    csv_file: Path | None,
    plot: Path | None,
    save: Path | None,
    battery: str | None,
    every: float | None,
    sleep_current: float | None,
    data: Path | None,
    build: BuildOptions,
    as_json: bool,
) -> int:
    """Measure the energy of one inference of IMAGE on a board.

    IMAGE is a quantized .tflite file, such as one that `arenite convert` wrote.

    With --meter, build and flash the firmware (or start the emulator), then record the current during inferences.
    A meter that can supply power also powers the board. With --csv, evaluate an existing recording; IMAGE is then not
    needed. Without --meter and --csv, estimate the energy; the result is then marked as estimated.

    The exit code is 1 if an output differs from that of LiteRT's reference kernels.
    """
    _check(image, meter, csv_file, plot, save, battery, every)
    profile = load_board(board)
    prepared = None if image is None else prepare(image, passes=build.passes)
    result: EnergyResult | None = None
    if csv_file is not None:
        trace = read_csv(csv_file, supply_v=supply or profile.supply_v, rate_hz=rate)
        result = measure(trace, find_windows(trace, bit=mark_input))
        record = recording_record(result, profile, prepared)
    else:
        assert prepared is not None
        samples = _samples(prepared, data)
        with Steps(profile.name) as steps:
            if meter is None:
                record = estimate_energy(prepared, profile, build, samples=samples, progress=steps)
            else:
                config = MeasurementConfig(
                    samples,
                    build,
                    port,
                    inferences,
                    duration,
                    mark_input,
                )
                instrument, port_name = make_meter(meter, meter_port, profile, supply, own_supply, rate)
                measured = measure_board(prepared, profile, instrument, config, steps)
                result = measured.result
                record = board_record(measured, profile, prepared, port_name)
    if battery is not None and every is not None:
        sleep_a = None if sleep_current is None else sleep_current * 1e-6
        record["battery"] = battery_life(record, profile, battery, every, sleep_a=sleep_a)
    if as_json:
        print_json(record)
    else:
        show_energy(record)
    # The files are written after the figures are printed, so that an error while writing does not lose them.
    if result is not None and plot is not None:
        title = "recording" if image is None else image.name
        plot_text = current_page(record, result, title) if plot.suffix == ".html" else current_svg(result)
        write_atomic(plot, plot_text)
        note(f"Plot: {plot}")
    if result is not None and save is not None:
        save_trace(save, result.trace)
        note(f"Recording: {save}")
    counts = record.get("inferences")
    return 1 if isinstance(counts, dict) and counts["bit_exact"] != counts["count"] else 0


def _check(
    image: Path | None,
    meter: str | None,
    csv_file: Path | None,
    plot: Path | None,
    save: Path | None,
    battery: str | None,
    every: float | None,
) -> None:
    """Raise UsageError for options that exclude each other."""
    if csv_file is None and image is None:
        raise UsageError("There is no model to measure.", "Give an image, or a recording with --csv.")
    if csv_file is not None and meter is not None:
        raise UsageError("A recording cannot be combined with a meter.", "Leave out --csv or --meter.")
    if (plot or save) and meter is None and csv_file is None:
        raise UsageError("An estimate has no recording.", "Leave out --plot and --save, or give a --meter.")
    if plot is not None and plot.suffix not in (".svg", ".html"):
        raise UsageError(
            f"{plot} is neither .svg nor .html.", "Give --plot a name that ends with .svg or .html."
        )
    if (battery is None) != (every is None):
        raise UsageError(
            "The battery life needs --battery and --every.",
            "Give both, as --battery cr2032 --every 60.",
        )


def _samples(prepared: Prepared, data: Path | None) -> Samples:
    graph = prepared.model.main
    tensors = [graph.tensors[i] for i in graph.inputs]
    return random_samples(tensors, 5, index_limits(graph)) if data is None else load_samples(data, tensors)
