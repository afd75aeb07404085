"""``arenite duty``: predict queueing, average power and battery life of a duty-cycled device."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from click.core import ParameterSource

from arenite.counts import count_of
from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.host.build.prepare import prepare
from arenite.host.cli.energy.duty_options import duty_options
from arenite.host.cli.progress import Steps
from arenite.host.duty.battery import Regulator
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

#: The longest virtual time that is emulated, in seconds. The emulated program polls a counter during sleep, so a second
#: of sleep takes the emulator as long as a second of work.
_MAX_EMULATED_S = 60.0
#: The smallest and the largest number of events that are emulated.
_MIN_EMULATED_EVENTS, _MAX_EMULATED_EVENTS = 20, 4000


@click.command()
@duty_options
def duty(**options: Any) -> int:
    """Predict waiting times, average power and battery life of a device that sleeps between events.

    Give the events (--period, --rate or --trace), the service time of one event (--service,
    --service-times, --bench or --emulate) and the power of the device (--board, --energy, or --active-mw and
    --sleep-uw).
    """
    _reject_unused(options)
    events = events_of(options["period"], options["rate"], options["trace"], options["duration"])
    queue = queue_of(options["queue"])
    board = load_board(options["board"]) if options["board"] else None
    powers = powers_of(options["active_mw"], options["sleep_uw"], options["energy"], board)
    battery = load_battery(options["battery"]) if options["battery"] else None
    regulator = Regulator(
        options["regulator"],
        options["regulator_v"],
        options["efficiency"],
        options["quiescent_ua"] * 1e-6,
        options["minimum_v"],
    )
    peak_w = options["peak_mw"] * 1e-3 if options["peak_mw"] is not None else powers.peak_w
    power = PowerStates(
        sleep_w=powers.sleep_w,
        active_w=powers.active_w,
        wake_s=options["wake_ms"] * 1e-3,
        wake_j=None if options["wake_uj"] is None else options["wake_uj"] * 1e-6,
        enter_j=options["enter_uj"] * 1e-6,
        linger_s=options["linger_ms"] * 1e-3,
        linger_w=None if options["linger_mw"] is None else options["linger_mw"] * 1e-3,
        peak_w=peak_w,
    )
    with ExitStack() as stack:
        device = _start_device(stack, options["emulate"], board) if options["emulate"] is not None else None
        measured = None if device is None else lambda: _measure_latency(device, board)
        latency = service_of(
            options["service"],
            options["service_times"],
            options["bench"],
            options["board"],
            measured,
            options["energy"],
        )
        prediction = predict(
            events, latency.service, queue, power, battery, regulator=regulator, celsius=options["celsius"]
        )
        report = prediction.as_json()
        report["service"] = {
            "mean_ms": latency.service.mean_s * 1e3,
            "fixed": latency.service.fixed,
            "kind": latency.kind,
            "source": latency.source,
        }
        report["power_sources"] = powers.sources
        report["events"] = {"kind": type(events).__name__.lower(), "rate_hz": events.rate_hz}
        if options["simulate"]:
            simulation = run_simulation(
                events, latency.service, power.sleep, queue, options["count"], options["seed"]
            )
            report["simulation"] = simulation_row(
                prediction.queueing, simulation, power, prediction.power_w, latency.service
            )
            if battery is not None and prediction.life is not None:
                report["simulation"]["life_days"] = life_row(
                    prediction.life,
                    report["simulation"],
                    events.rate_hz,
                    battery,
                    power,
                    regulator,
                    options["celsius"],
                )
        if device is not None:
            report["on_board"] = _run_on_board(
                device, events, queue, power.sleep, options["count"], options["seed"]
            )
    if options["svg"] is not None:
        points = sweep(events, latency.service, queue, power, battery, regulator, options["celsius"])
        if len(points) < 2:
            raise UsageError(
                "Cannot draw --svg: the device is too slow for every event rate near the given one.",
                "Give a lower event rate, or leave out --svg.",
            )
        title = f"{battery.title if battery else 'Device'}, {latency.service.mean_s * 1e3:.4g} ms per event"
        write_atomic(options["svg"], duty_svg(points, 1 / events.rate_hz, title).encode("utf-8"))
    if options["as_json"]:
        print_json(report)
    else:
        _show(prediction, report)
    return 0


def _reject_unused(options: dict[str, Any]) -> None:
    """Raise UsageError for options that would have no effect."""
    context = click.get_current_context()
    given_options = {
        name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    battery_options = ("celsius", "regulator", "regulator_v", "efficiency", "quiescent_ua", "minimum_v")
    run_options = ("count", "seed")
    for names, has_effect, needed in (
        (battery_options, options["battery"] is not None, "--battery NAME"),
        (
            run_options,
            options["simulate"] or options["emulate"] is not None,
            "--simulate, or --emulate IMAGE",
        ),
    ):
        for name in names:
            if name in given_options and not has_effect:
                option = "events" if name == "count" else name.replace("_", "-")
                raise UsageError(
                    f"--{option} has no effect without {needed}.", f"Add {needed}, or remove --{option}."
                )


def _start_device(stack: ExitStack, image: Path, board: Board | None) -> DutyBoard:
    if board is None or not board.emulated:
        raise UsageError(
            "--emulate needs an emulated board.", "Give --board qemu_mps2_an386 or another qemu_* board."
        )
    steps = stack.enter_context(Steps(board.name))
    steps("build", 0, 1)
    return stack.enter_context(DutyBoard(prepare(image), board))


def _measure_latency(device: DutyBoard, board: Board | None) -> Latency:
    assert board is not None
    assert board.emulator is not None
    source = (
        f"one inference on {board.name}, in virtual time: {2**board.emulator.icount_shift} ns per instruction"
    )
    return Latency(ServiceTimes.of(device.service_s()), source, "estimated", board.name)


def _run_on_board(
    device: DutyBoard, events: Any, queue: int | None, sleep: Sleep, count: int, seed: int
) -> dict[str, Any]:
    """Run ``count`` random events on the emulated board, predict the figures of the same events from the service and
    wake times measured on it, and return both."""
    count = min(count, _MAX_EMULATED_EVENTS, device.max_events, int(_MAX_EMULATED_S * events.rate_hz))
    if count < _MIN_EMULATED_EVENTS:
        raise UsageError(
            f"Events every {span(1 / events.rate_hz)} are too far apart to emulate the sleep between them.",
            "Give a higher event rate. Queueing depends only on the events per service time.",
        )
    arrivals = events.arrivals(count, np.random.default_rng(seed))
    observed = device.run(arrivals, inferences=1, queue=queue, sleep=sleep)
    service = ServiceTimes.of(float(np.mean(observed.services_s)))
    recorded = RecordedEvents.recorded(arrivals, max(observed.seconds, float(arrivals[-1])))
    q = queueing(recorded, service, queue, replace(sleep, wake_s=observed.wake_s), PERCENTILES)
    return board_row(q, observed, service)


def _show(prediction: Prediction, report: dict[str, Any]) -> None:
    q = prediction.queueing
    rows = [
        (
            "service",
            f"{report['service']['mean_ms']:.4g} ms ({report['service']['kind']}: {report['service']['source']})",
        ),
        ("utilization", f"{100 * q.utilization:.3g} %"),
        ("asleep", f"{100 * q.sleeping:.4g} %"),
        ("mean wait", span(q.wait_mean_s) if q.wait_mean_s else "0"),
        *((f"wait p{p:g}", span(v) if v else "0") for p, v in q.wait_percentiles_s.items()),
        ("dropped events", f"{100 * q.dropped:.3g} %"),
        ("average power", watts(prediction.power_w)),
        ("energy per event", f"{prediction.energy_per_event_j * 1e6:,.4g} µJ"),
    ]
    if prediction.life is not None:
        rows.append(("battery life", f"{prediction.life.days:,.4g} days; limit: {prediction.life.ends_by}"))
    show(table(f"Duty cycle, {q.method}", ("", "estimated"), rows))
    for key, title in (("simulation", "Discrete-event simulation"), ("on_board", "The emulated board")):
        if key in report:
            show(
                table(
                    f"{title}, {count_of(report[key]['events'], 'event')}",
                    ("", "result", "95 % ±", "error of prediction"),
                    _comparison_rows(report[key]),
                )
            )
    for text in (
        *q.notes,
        *prediction.warnings,
        *(f"{k} power {v}" for k, v in report["power_sources"].items()),
    ):
        note(text)


def _comparison_rows(row: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    cells = []
    for name, value in row.items():
        if isinstance(value, dict) and "difference" in value:
            half, difference = value.get("half_width_95"), value["difference"]
            cells.append(
                (
                    name,
                    f"{value['value']:.5g}",
                    "-" if half is None else f"{half:.2g}",
                    "-" if difference is None else f"{difference:+.2%}",
                )
            )
    return cells
