"""``arenite duty``: does a device keep up with its events, what does it draw, how long does the battery last."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from click.core import ParameterSource

from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.host.build.prepare import prepare
from arenite.host.cli.progress import Steps
from arenite.host.duty.battery import REGULATORS, Regulator
from arenite.host.duty.comparison import board_row, life_row, simulation_row
from arenite.host.duty.events import RecordedEvents
from arenite.host.duty.files import Latency
from arenite.host.duty.inputs import events_of, powers_of, queue_of, service_of
from arenite.host.duty.model import PowerStates, Prediction, predict, queueing
from arenite.host.duty.on_board import DutyBoard
from arenite.host.duty.queue_figures import PERCENTILES, Sleep
from arenite.host.duty.service import ServiceTimes
from arenite.host.duty.simulate import simulate as run_simulation
from arenite.host.duty.sweep import sweep
from arenite.host.report.console import note, print_json, show, table
from arenite.host.report.duty_svg import duty_svg, span, watts
from arenite.profiles.batteries import load_battery
from arenite.profiles.boards import Board, load_board

#: Virtual time that is emulated: asleep the board's program polls, which takes the emulator as long as work.
_LONGEST_S = 60.0
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option("--period", type=float, help="Events at a fixed period, in seconds.")
@click.option("--rate", type=float, help="Random events (Poisson) at this mean rate per second.")
@click.option("--trace", type=_FILE, help="Events from a CSV file of recorded times, in seconds.")
@click.option(
    "--duration",
    type=float,
    help="Length of the recording in seconds. Default: until one mean gap after its last event.",
)
@click.option("--service", type=float, help="Service time of an event, in milliseconds.")
@click.option("--service-times", type=_FILE, help="CSV file of measured service times, in milliseconds.")
@click.option("--bench", type=_FILE, help="Read the service time from a result of `arenite bench --json`.")
@click.option(
    "--emulate",
    type=click.Path(path_type=Path),
    help="Run this model with the events on the emulated --board, and compare.",
)
@click.option(
    "--queue",
    default="none",
    show_default=True,
    help="Number of events that can wait besides the one in service.",
)
@click.option("--board", help="Board whose profile gives clock and power.")
@click.option(
    "--energy", type=_FILE, help="Read power and service time from a result of `arenite energy --json`."
)
@click.option("--active-mw", type=float, help="Power while an event is served, in milliwatts.")
@click.option("--sleep-uw", type=float, help="Power during sleep, in microwatts.")
@click.option("--wake-ms", type=float, default=0.0, help="Time to wake up, in milliseconds.")
@click.option(
    "--wake-uj",
    type=float,
    help="Energy of one wake-up, in microjoules. Default: active power during the wake-up time.",
)
@click.option("--enter-uj", type=float, default=0.0, help="Energy of entering sleep, in microjoules.")
@click.option(
    "--linger-ms",
    type=float,
    default=0.0,
    help="Time that the device stays awake after an event, in milliseconds.",
)
@click.option("--linger-mw", type=float, help="Power during that time, in milliwatts. Default: active power.")
@click.option("--peak-mw", type=float, help="Short power peak that the supply must deliver, in milliwatts.")
@click.option("--battery", help="Battery profile, such as cr2032.")
@click.option(
    "--celsius",
    type=float,
    default=20.0,
    show_default=True,
    help="Temperature of the battery, in degrees Celsius.",
)
@click.option("--regulator", type=click.Choice(REGULATORS), default="none", show_default=True)
@click.option(
    "--regulator-v", type=float, default=3.0, show_default=True, help="Supply voltage of the device."
)
@click.option(
    "--efficiency", type=float, default=0.9, show_default=True, help="Efficiency of the switching regulator."
)
@click.option(
    "--quiescent-ua", type=float, default=0.0, help="Quiescent current of the regulator, in microamperes."
)
@click.option("--minimum-v", type=float, help="Lowest input voltage of the regulator or the device.")
@click.option("--simulate", is_flag=True, help="Also run a discrete-event simulation, and compare.")
@click.option(
    "--events",
    "count",
    type=click.IntRange(200),
    default=20_000,
    show_default=True,
    help="Number of events to simulate.",
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--svg", type=_FILE, help="Draw battery life over the time between events, as SVG.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def duty(**o: Any) -> int:
    """Predict queueing, average power and battery life of a device that sleeps between events.

    Needs to know when events come (--period, --rate or --trace), how long one takes (--service, --service-times,
    --bench or --emulate) and what the device draws (--board, --energy, or --active-mw and --sleep-uw).
    """
    _refuse_unused(o)
    events = events_of(o["period"], o["rate"], o["trace"], o["duration"])
    queue = queue_of(o["queue"])
    board = load_board(o["board"]) if o["board"] else None
    powers = powers_of(o["active_mw"], o["sleep_uw"], o["energy"], board)
    battery = load_battery(o["battery"]) if o["battery"] else None
    regulator = Regulator(
        o["regulator"], o["regulator_v"], o["efficiency"], o["quiescent_ua"] * 1e-6, o["minimum_v"]
    )
    peak_w = o["peak_mw"] * 1e-3 if o["peak_mw"] is not None else powers.peak_w
    power = PowerStates(
        sleep_w=powers.sleep_w,
        active_w=powers.active_w,
        wake_s=o["wake_ms"] * 1e-3,
        wake_j=None if o["wake_uj"] is None else o["wake_uj"] * 1e-6,
        enter_j=o["enter_uj"] * 1e-6,
        linger_s=o["linger_ms"] * 1e-3,
        linger_w=None if o["linger_mw"] is None else o["linger_mw"] * 1e-3,
        peak_w=peak_w,
    )
    with ExitStack() as stack:
        device = _device(stack, o["emulate"], board) if o["emulate"] is not None else None
        measured = None if device is None else lambda: _latency(device, board)
        latency = service_of(o["service"], o["service_times"], o["bench"], o["board"], measured, o["energy"])
        found = predict(
            events, latency.service, queue, power, battery, regulator=regulator, celsius=o["celsius"]
        )
        report = found.as_json()
        report["service"] = {
            "mean_ms": latency.service.mean_s * 1e3,
            "fixed": latency.service.fixed,
            "kind": latency.kind,
            "source": latency.source,
        }
        report["power_sources"] = powers.sources
        report["events"] = {"kind": type(events).__name__.lower(), "rate_hz": events.rate_hz}
        if o["simulate"]:
            done = run_simulation(events, latency.service, power.sleep, queue, o["count"], o["seed"])
            report["simulation"] = simulation_row(found.queueing, done, power, found.power_w, latency.service)
            if battery is not None and found.life is not None:
                report["simulation"]["life_days"] = life_row(
                    found.life, report["simulation"], events.rate_hz, battery, power, regulator, o["celsius"]
                )
        if device is not None:
            report["on_board"] = _on_board(device, events, queue, power.sleep, o["count"], o["seed"])
    if o["svg"] is not None:
        points = sweep(events, latency.service, queue, power, battery, regulator, o["celsius"])
        if len(points) < 2:
            raise UsageError(
                "There is nothing to draw: the device is too slow for every rate near the given one."
            )
        title = f"{battery.title if battery else 'Device'}, {latency.service.mean_s * 1e3:.4g} ms per event"
        write_atomic(o["svg"], duty_svg(points, 1 / events.rate_hz, title).encode("utf-8"))
    if o["as_json"]:
        print_json(report)
    else:
        _show(found, report)
    return 0


def _refuse_unused(o: dict[str, Any]) -> None:
    """Raise UsageError for options that would have no effect."""
    context = click.get_current_context()
    given = {name for name in o if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    of_battery = ("celsius", "regulator", "regulator_v", "efficiency", "quiescent_ua", "minimum_v")
    of_run = ("count", "seed")
    for names, useful, needed in (
        (of_battery, o["battery"] is not None, "--battery NAME"),
        (of_run, o["simulate"] or o["emulate"] is not None, "--simulate, or --emulate IMAGE"),
    ):
        for name in names:
            if name in given and not useful:
                option = "events" if name == "count" else name.replace("_", "-")
                raise UsageError(f"--{option} has no effect without {needed}.", "Give both, or neither.")


def _device(stack: ExitStack, image: Path, board: Board | None) -> DutyBoard:
    if board is None or not board.emulated:
        raise UsageError(
            "--emulate needs an emulated board.", "Add --board qemu_mps2_an386, or another qemu_* board."
        )
    steps = stack.enter_context(Steps(board.name))
    steps("build", 0, 1)
    return stack.enter_context(DutyBoard(prepare(image), board))


def _latency(device: DutyBoard, board: Board | None) -> Latency:
    assert board is not None
    assert board.emulator is not None
    source = (
        f"one inference on {board.name}, in virtual time: {2**board.emulator.icount_shift} ns an instruction"
    )
    return Latency(ServiceTimes.of(device.service_s()), source, "estimated", board.name)


def _on_board(
    device: DutyBoard, events: Any, queue: int | None, sleep: Sleep, count: int, seed: int
) -> dict[str, Any]:
    """Run the same events on the board, and predict them with the service times that the board took."""
    count = min(count, 4000, device.max_events, int(_LONGEST_S * events.rate_hz))
    if count < 20:
        raise UsageError(
            f"Events every {span(1 / events.rate_hz)} are too far apart to emulate the sleep between them.",
            "Give more events per second: queueing depends on their number per service time.",
        )
    arrivals = events.arrivals(count, np.random.default_rng(seed))
    observed = device.run(arrivals, 1, queue, sleep)
    service = ServiceTimes.of(float(np.mean(observed.services_s)))
    same = RecordedEvents.recorded(arrivals, max(observed.seconds, float(arrivals[-1])))
    q = queueing(same, service, queue, replace(sleep, wake_s=observed.wake_s), PERCENTILES)
    return board_row(q, observed, service)


def _show(found: Prediction, report: dict[str, Any]) -> None:
    q = found.queueing
    rows = [
        (
            "service",
            f"{report['service']['mean_ms']:.4g} ms ({report['service']['kind']}: {report['service']['source']})",
        ),
        ("utilisation", f"{100 * q.utilisation:.3g} %"),
        ("asleep", f"{100 * q.sleeping:.4g} %"),
        ("mean wait", span(q.wait_mean_s) if q.wait_mean_s else "0"),
        *((f"wait p{p:g}", span(v) if v else "0") for p, v in q.wait_percentiles_s.items()),
        ("dropped events", f"{100 * q.dropped:.3g} %"),
        ("average power", watts(found.power_w)),
        ("energy per event", f"{found.energy_per_event_j * 1e6:,.4g} µJ"),
    ]
    if found.life is not None:
        rows.append(("battery life", f"{found.life.days:,.4g} days, ends by {found.life.ends_by}"))
    show(table(f"Duty cycle, {q.method}", ("", "estimated"), rows))
    for key, title in (("simulation", "Discrete-event simulation"), ("on_board", "The emulated board")):
        if key in report:
            show(
                table(
                    f"{title}, {report[key]['events']:,} events",
                    ("", "value", "95 % ±", "prediction off by"),
                    _compared(report[key]),
                )
            )
    for text in (*q.notes, *found.warnings, *(f"{k} power {v}" for k, v in report["power_sources"].items())):
        note(text)


def _compared(row: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    cells = []
    for name, value in row.items():
        if isinstance(value, dict) and "difference" in value:
            half, off = value.get("half_width_95"), value["difference"]
            cells.append(
                (
                    name,
                    f"{value['value']:.5g}",
                    "-" if half is None else f"{half:.2g}",
                    "-" if off is None else f"{off:+.2%}",
                )
            )
    return cells
