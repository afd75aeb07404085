"""Write metrics in Prometheus' text format 0.0.4, and compute the metrics that come from the loop's state."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """A metric and its samples, which are pairs (labels, value). ``kind`` is counter, gauge or histogram.

    The value of a histogram is a list: the number of values in each bucket (not cumulative), and at the end the sum of
    all values in nanoseconds. ``buckets`` has the upper bounds of the buckets in seconds.
    """

    name: str
    kind: str
    about: str
    samples: list[tuple[Mapping[str, str], Any]]
    buckets: tuple[float, ...] = ()


def render(families: Iterable[MetricFamily]) -> str:
    """Return the text of the metrics. A metric without samples is left out."""
    lines = []
    for family in families:
        if not family.samples:
            continue
        lines.append(f"# HELP {family.name} {_escaped(family.about, quote=False)}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        for labels, value in family.samples:
            if family.kind == "histogram":
                lines += _histogram_lines(family, labels, value)
            else:
                lines.append(f"{family.name}{_format_labels(labels)} {_format_number(value)}")
    return "\n".join(lines) + "\n"


def state_families(state: Mapping[str, Any]) -> Iterator[MetricFamily]:
    """Yield the metrics that come from the loop's state. The metric of a missing part of the state has no sample."""
    prefix = "arenite_camera_"
    yield _single_family(prefix + "ready", "Whether the warm-up is over.", 1 if state.get("ready") else 0)
    frames = state.get("frames") or {}
    for key, name, about in (
        ("captured", "frames_captured_total", "Frames that the camera captured."),
        ("errors", "frame_errors_total", "Frames that were damaged or could not be decoded."),
        ("reconnects", "reconnects_total", "Number of times that the source had to be opened again."),
    ):
        yield _single_family(prefix + name, about, frames.get(key))
    yield _single_family(
        prefix + "frames_per_second", "Frames served per second in the last minute.", state.get("fps")
    )
    power = state.get("power") or {}
    yield _single_family(
        prefix + "power_watts",
        "Power of the device; the label says whether it is measured or estimated.",
        power.get("value"),
        _label_values(power, "kind", "source"),
    )
    yield _labeled_family(
        prefix + "rail_power_watts", "Power of one supply rail.", "rail", power.get("rails")
    )
    yield _single_family(
        prefix + "energy_joules_total",
        "Energy since the loop began.",
        state.get("energy_j"),
        _label_values(power, "kind"),
    )
    heat = state.get("temperature") or {}
    yield _single_family(
        prefix + "temperature_celsius",
        "Temperature of the hottest zone that makes the device throttle.",
        heat.get("value"),
        _label_values(heat, "source"),
    )
    yield _single_family(
        prefix + "trip_celsius", "Temperature at which the device itself throttles.", heat.get("trip")
    )
    yield _labeled_family(
        prefix + "zone_temperature_celsius", "Temperature of one thermal zone.", "zone", heat.get("zones")
    )
    budget = state.get("budget") or {}
    limit = budget.get("latency_ms")
    yield _single_family(prefix + "budget_power_watts", "Power limit of the budget.", budget.get("power_w"))
    yield _single_family(
        prefix + "budget_temperature_celsius", "Temperature limit of the budget.", budget.get("temperature_c")
    )
    yield _single_family(
        prefix + "budget_latency_seconds",
        "Latency limit of the budget.",
        None if limit is None else limit / 1e3,
    )
    yield from _governor_families(prefix, state.get("governor") or {})
    yield _single_family(
        prefix + "written_bytes_total",
        "Bytes that the loop itself wrote, without those of the runtime.",
        state.get("bytes_written"),
    )
    model, runtime, source = (state.get(k) or {} for k in ("model", "runtime", "source"))
    if model or runtime or source:
        labels = {"model": model.get("name"), "sha256": model.get("sha256"), "runtime": runtime.get("name")}
        labels |= {"source": source.get("name")}
        yield _single_family(
            prefix + "info",
            "The model, its runtime and its source.",
            1,
            {k: str(v) for k, v in labels.items() if v is not None},
        )


def _governor_families(prefix: str, governor: Mapping[str, Any]) -> Iterator[MetricFamily]:
    levers = governor.get("levels") or []
    for key, name, about in (
        ("level", "governor_level", "Level of a lever; 0 is full quality."),
        ("levels", "governor_levels", "Number of levels of a lever."),
    ):
        samples: list[tuple[Mapping[str, str], Any]] = [
            ({"lever": str(x["lever"])}, x[key]) for x in levers if x.get(key) is not None
        ]
        yield MetricFamily(prefix + name, "gauge", about, samples)
    moves = governor.get("moves")
    yield _labeled_family(
        prefix + "governor_actions_total", "Number of times that the governor moved a lever.", "lever", moves
    )
    yield _single_family(
        prefix + "governor_target_watts", "Power that the limits allow.", governor.get("target_w")
    )
    minutes = governor.get("minutes")
    yield _single_family(
        prefix + "throttling_forecast_seconds",
        "Time until the device throttles if nothing changes; absent when it will not.",
        None if minutes is None else minutes * 60,
    )


def build_families() -> Iterator[MetricFamily]:
    """Yield the metrics of this build and of this process."""
    yield _single_family("arenite_build_info", "This build of Arenite.", 1, _build_labels())
    try:
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[1])
        yield _single_family(
            "process_resident_memory_bytes", "Resident memory.", pages * os.sysconf("SC_PAGE_SIZE")
        )
    except (OSError, ValueError, IndexError):
        pass  # this system has no /proc
    yield _single_family("process_cpu_seconds_total", "CPU time, user and system.", time.process_time())


@cache
def _build_labels() -> dict[str, str]:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    try:
        installed = version("arenite")
    except PackageNotFoundError:
        installed = "unknown"
    return {"version": installed, "python": platform.python_version(), "machine": platform.machine()}


def _single_family(
    name: str, about: str, value: Any, labels: Mapping[str, str] | None = None
) -> MetricFamily:
    """Return a metric with one sample, or without samples if ``value`` is None."""
    kind = "counter" if name.endswith("_total") else "gauge"
    return MetricFamily(name, kind, about, [] if value is None else [(labels or {}, value)])


def _labeled_family(name: str, about: str, label: str, values: Mapping[str, Any] | None) -> MetricFamily:
    """Return a metric with a sample for each entry of ``values`` that is not None. The key becomes the value of the
    label ``label``."""
    kind = "counter" if name.endswith("_total") else "gauge"
    return MetricFamily(
        name, kind, about, [({label: str(k)}, v) for k, v in (values or {}).items() if v is not None]
    )


def _label_values(record: Mapping[str, Any], *names: str) -> dict[str, str]:
    """Return the entries ``names`` of ``record`` as labels."""
    return {name: str(record[name]) for name in names if record.get(name) is not None}


def _histogram_lines(family: MetricFamily, labels: Mapping[str, str], counts: list[int]) -> Iterator[str]:
    running = 0
    for bound, count in zip((*family.buckets, math.inf), counts, strict=False):
        running += count
        yield f"{family.name}_bucket{_format_labels({**labels, 'le': _format_number(bound)})} {running}"
    yield f"{family.name}_sum{_format_labels(labels)} {_format_number(counts[-1] / 1e9)}"
    yield f"{family.name}_count{_format_labels(labels)} {running}"


def _format_labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{k}="{_escaped(v)}"' for k, v in labels.items()) + "}" if labels else ""


def _escaped(text: str, quote: bool = True) -> str:
    text = text.replace("\\", r"\\").replace("\n", r"\n")
    return text.replace('"', r"\"") if quote else text


def _format_number(value: Any) -> str:
    if isinstance(value, bool | int):
        return str(int(value))
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return "NaN" if math.isnan(value) else repr(float(value))
