"""Convert the options of ``arenite duty`` to events, service times and powers. Times and powers have their source as
text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import UsageError
from arenite.host.build.fit_verdict import ASSUMED_W_PER_HZ
from arenite.host.duty.events import Events, PeriodicEvents, PoissonEvents, RecordedEvents
from arenite.host.duty.files import (
    Latency,
    MeasuredPower,
    latency_of_bench,
    latency_of_energy,
    power_of_energy,
    read_times,
    trace_times,
)
from arenite.host.duty.service import ServiceTimes
from arenite.profiles.boards import Board


def exactly_one(noun: str, hint: str, **options: object) -> str:
    """Return the name of the only option that is not None. Raises ``UsageError`` if none or several options are set."""
    names = [name.replace("_", "-") for name, value in options.items() if value is not None]
    if len(names) != 1:
        problem = f"There is no {noun}." if not names else f"--{' and --'.join(names)} exclude each other."
        raise UsageError(problem, hint)
    return names[0]


def events_of(
    period_s: float | None, rate_hz: float | None, trace: Path | None, duration_s: float | None
) -> Events:
    """Return the events that the options describe. Raises ``UsageError`` unless exactly one kind of events is set."""
    hint = "Give --period SECONDS, --rate PER_SECOND, or --trace FILE.csv."
    exactly_one("source of event times", hint, period=period_s, rate=rate_hz, trace=trace)
    if duration_s is not None and trace is None:
        raise UsageError("--duration applies only to a trace.", "Give --trace FILE.csv, or leave it out.")
    if period_s is not None:
        return PeriodicEvents(period_s)
    if rate_hz is not None:
        return PoissonEvents(rate_hz)
    assert trace is not None
    return RecordedEvents.recorded(trace_times(trace), duration_s)


def service_of(
    service_ms: float | None,
    times: Path | None,
    bench: Path | None,
    board: str | None,
    measure: Callable[[], Latency] | None,
    energy: Path | None = None,
) -> Latency:
    """Return the service times. ``measure`` runs the model on an emulated board. ``energy`` is used only if there is
    no other source.

    Raises ``UsageError`` unless exactly one source is set.
    """
    if energy is not None and (service_ms, times, bench, measure) == (None, None, None, None):
        return latency_of_energy(energy)
    exactly_one(
        "service time",
        "Give --service MILLISECONDS, --service-times FILE.csv, --bench FILE.json, or --emulate IMAGE.",
        service=service_ms,
        service_times=times,
        bench=bench,
        emulate=measure,
    )
    if service_ms is not None:
        return Latency(ServiceTimes.of(service_ms * 1e-3), "as given", "assumed", board or "")
    if times is not None:
        return Latency(
            ServiceTimes.of(read_times(times, "service times", "ms").tolist()), times.name, "measured", ""
        )
    if bench is not None:
        return latency_of_bench(bench, board)
    assert measure is not None
    return measure()


@dataclass(frozen=True)
class PowerInputs:
    """The power of the active and of the sleeping device, its peak power, and the source of each power as text."""

    active_w: float
    sleep_w: float
    peak_w: float | None
    sources: dict[str, str]


def powers_of(
    active_mw: float | None, sleep_uw: float | None, energy: Path | None, board: Board | None
) -> PowerInputs:
    """Return the powers. The options ``active_mw`` and ``sleep_uw`` have priority over ``energy``, the file of a result
    ``arenite.energy/1``, and the file has priority over the board's profile.

    Raises ``UsageError`` if a power is in none of these sources.
    """
    measured_power: MeasuredPower | None = power_of_energy(energy) if energy is not None else None
    sources: dict[str, str] = {}
    profile = board.power if board is not None else None

    if active_mw is not None:
        active, sources["active"] = active_mw * 1e-3, "as given"
    elif measured_power is not None:
        active, sources["active"] = measured_power.active_w, measured_power.source
    elif profile is not None:
        active, sources["active"] = (
            profile.active_ma * 1e-3 * profile.supply_v,
            f"estimated: {profile.source}",
        )
    elif board is not None:
        active, sources["active"] = ASSUMED_W_PER_HZ * board.clock_hz, "assumed: 100 uA/MHz at 3.3 V"
    else:
        raise UsageError(
            "The power of the working device is not known.",
            "Give --active-mw, --energy FILE.json, or --board NAME.",
        )
    if sleep_uw is not None:
        sleep, sources["sleep"] = sleep_uw * 1e-6, "as given"
    elif measured_power is not None and measured_power.sleep_w is not None:
        sleep, sources["sleep"] = measured_power.sleep_w, measured_power.source
    elif profile is not None and profile.sleep_ua is not None:
        sleep = profile.sleep_ua * 1e-6 * profile.supply_v
        sources["sleep"] = f"estimated: {profile.sleep_source}"
    else:
        raise UsageError(
            "The power of the sleeping device is not known.",
            "Give --sleep-uw, in microwatts: the current asleep times the supply voltage.",
        )
    peak = measured_power.peak_w if measured_power is not None and active_mw is None else None
    return PowerInputs(active, sleep, None if peak is None else max(peak, active), sources)


def queue_of(text: str) -> int | None:
    """Return the number of waiting places in ``text``, or None for "none", which means no limit. Raises ``UsageError``
    for other text."""
    if text.lower() in ("none", "endless", "inf"):
        return None
    if not text.isdigit():
        raise UsageError(
            f"--queue {text} is not a number of places.", "Give a whole number, or none for no limit."
        )
    return int(text)
