"""Compare duty-cycle predictions with an emulated board: python -m benchmarks.estimates.duty_cycle MODEL [--check].

MODEL is any model; the table of docs/duty-cycle.md, which this program writes, is for MLPerf Tiny's ad01_int8.tflite.
Times are virtual, so the figures are the same on every computer.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from arenite.host.build.prepare import prepare
from arenite.host.duty.comparison import difference
from arenite.host.duty.events import Events, PeriodicEvents, PoissonEvents, RecordedEvents
from arenite.host.duty.model import queueing
from arenite.host.duty.on_board import DutyBoard
from arenite.host.duty.queue_figures import Sleep
from arenite.host.duty.service import ServiceTimes
from arenite.host.report.generated_tables import DOCS, markdown_table, run
from arenite.profiles.boards import load_board

PAGE = DOCS / "duty-cycle.md"
EVENTS = 1000
#: For each case: the kind of the events, the number of events per service time (the time that one event takes), the
#: number of places in the queue (None: no limit), and two times as multiples of the service time: the time to wake up,
#: and the time that the board stays awake after its work.
CASES: list[tuple[str, float, int | None, float, float]] = [
    ("Poisson", 0.3, None, 0.0, 0.0),
    ("Poisson", 0.7, None, 0.0, 0.0),
    ("Poisson", 0.6, None, 0.5, 0.0),
    ("Poisson", 1.2, 2, 0.0, 0.0),
    ("Poisson", 0.8, 0, 0.2, 0.0),
    ("periodic", 0.8, None, 0.1, 0.0),
    ("periodic", 1.4, 3, 0.0, 0.0),
    ("recorded, in bursts", 0.5, 4, 0.3, 1.0),
]


def table_rows(device: DutyBoard, service_s: float) -> list[list[str]]:
    """Return the cells of one row per case: the figures of the emulated board, and the relative errors of the
    prediction for the same events. ``service_s`` is the service time in seconds."""
    cells_by_case = []
    for kind, offered, queue, wake, linger in CASES:
        rng = np.random.default_rng(11)
        gap = service_s / offered
        events: Events
        if kind == "Poisson":
            events = PoissonEvents(1 / gap)
        elif kind == "periodic":
            events = PeriodicEvents(gap)
        else:
            events = RecordedEvents.recorded(np.cumsum(rng.gamma(0.5, gap / 0.5, 600)))
        arrivals = events.arrivals(EVENTS, rng)
        observed = device.run(arrivals, 1, queue, Sleep(wake * service_s, linger * service_s))
        service = ServiceTimes.of(float(np.mean(observed.services_s)))
        sleep = Sleep(observed.wake_s, linger * service_s)
        q = queueing(
            RecordedEvents.recorded(arrivals, max(observed.seconds, float(arrivals[-1]))),
            service,
            queue,
            sleep,
        )
        # (figure of the board, relative error of the prediction, unit of the figure in the table)
        pairs = [
            (observed.utilization, difference(q.utilization, observed.utilization), 1.0),
            (
                observed.wait_mean_s,
                difference(q.wait_mean_s, observed.wait_mean_s, 0.02 * service_s),
                service_s,
            ),
            (observed.dropped, difference(q.dropped, observed.dropped, 0.01), 1.0),
        ]
        cells = [
            kind,
            f"{offered:g}",
            "no limit" if queue is None else str(queue),
            f"{wake:g}",
            f"{linger:g}",
        ]
        for value, off, unit in pairs:
            cells += [f"{value / unit:.3f}", f"{off or 0.0:+.1%}"]
        cells_by_case.append(cells)
        print(" ".join(cells), file=sys.stderr, flush=True)
    return cells_by_case


def main(arguments: list[str] | None = None) -> int:
    """Write the table to the page, or check it, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    options, rest = parser.parse_known_args(arguments)
    with DutyBoard(prepare(options.model), load_board("qemu_mps2_an386")) as device:
        body = table_rows(device, device.service_s())
    head = ["events", "per service", "places", "wake", "linger", "utilization", "error", "mean wait", "error"]
    return run(PAGE, {"board": markdown_table([*head, "dropped", "error"], body, range(1, 11))}, rest)


if __name__ == "__main__":
    sys.exit(main())
