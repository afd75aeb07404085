"""Tests of the metrics (figures, names, units), which are read with Prometheus' own parser."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.host.camera.frames.served_frame import STAGES, ServedFrame
from arenite.host.camera.observe.metrics import BUCKETS, Metrics
from arenite.host.camera.observe.prometheus_text import MetricFamily, render
from tests.host.camera.dashboard.simulated_run import MS, face, served_of, state_at

parser = pytest.importorskip("prometheus_client.parser", reason="no prometheus_client to read metrics with")


def read(text: str) -> dict[str, Any]:
    """Return the families of metrics in ``text`` by name."""
    families = list(parser.text_string_to_metric_families(text))
    assert len({f.name for f in families}) == len(families)
    return {f.name: f for f in families}


def samples(family: Any) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return the values of a family by (name, labels)."""
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for s in family.samples}


def spans(*ms: float) -> dict[str, tuple[int, int]]:
    """Return the begin and the end of the first stages, in nanoseconds. They take ``ms`` milliseconds each, one after
    the other."""
    stage_spans, begin_ns = {}, 10 * MS
    for stage, stage_ms in zip(STAGES, ms, strict=False):
        stage_spans[stage] = (begin_ns, begin_ns + round(stage_ms * MS))
        begin_ns = stage_spans[stage][1]
    return stage_spans


def test_frames_are_counted_in_counters_and_histograms() -> None:
    metrics = Metrics()
    metrics.take(ServedFrame(0, 0, 0, 4 * MS, spans(0.02, 0.3, 1.0, 0.05), None))
    metrics.take(ServedFrame(1, 0, 1, 4 * MS, spans(0.02, 0.3, 3000.0, 0.05), None, late=True, missed=2))
    metrics.take(ServedFrame(2, 0, 2, 4 * MS, spans(0.02), None, by="cache"))
    metrics.take(ServedFrame(3, 0, 3, 4 * MS, {}, None, by="stand-in"))
    metrics.take(ServedFrame(4, 0, 4, 4 * MS, {"gate": (MS, 2 * MS)}, None, by="motion"))
    families = read(metrics.text())
    served = samples(families["arenite_camera_frames_served"])
    name = "arenite_camera_frames_served_total"
    assert {labels[0][1]: v for (n, labels), v in served.items() if n == name} == {
        "model": 2, "cache": 1, "motion": 1, "stand-in": 1,
    }  # fmt: skip
    assert families["arenite_camera_frames_late"].samples[0].value == 1
    assert families["arenite_camera_frames_dropped"].samples[0].value == 2
    invoke = {
        key: v
        for key, v in samples(families["arenite_camera_stage_seconds"]).items()
        if ("stage", "invoke") in key[1]
    }
    bounds = {dict(labels)["le"]: v for (n, labels), v in invoke.items() if n.endswith("_bucket")}
    # A bucket includes its upper bound: 1 ms is in the bucket of 0.001 s.
    assert bounds["0.0005"] == 0 and bounds["0.001"] == 1 and bounds["1.0"] == 1 and bounds["+Inf"] == 2
    totals = {n: v for (n, _), v in invoke.items() if not n.endswith("_bucket")}
    assert totals["arenite_camera_stage_seconds_count"] == 2
    assert totals["arenite_camera_stage_seconds_sum"] == pytest.approx(3.001)
    frame = {n: v for (n, _), v in samples(families["arenite_camera_frame_seconds"]).items()}
    # The four frames with stages took 1.37, 3000.37, 0.02 and 1 ms.
    assert frame["arenite_camera_frame_seconds_sum"] == pytest.approx((1.37 + 3000.37 + 0.02 + 1) / 1e3)
    age = {n: v for (n, _), v in samples(families["arenite_camera_age_seconds"]).items()}
    assert age["arenite_camera_age_seconds_count"] == 4
    gates = [key for key in samples(families["arenite_camera_stage_seconds"]) if ("stage", "gate") in key[1]]
    assert len(gates) == len(BUCKETS) + 3  # also the bucket without a bound, the sum and the count


@given(st.lists(st.integers(0, 5_000_000_000), max_size=40))
def test_buckets_count_the_frames(times_ns: list[int]) -> None:
    metrics = Metrics()
    for k, ns in enumerate(times_ns):
        metrics.take(ServedFrame(k, 0, k, 0, {"invoke": (1, 1 + ns)}, None))
    buckets = samples(read(metrics.text())["arenite_camera_stage_seconds"])
    for bound in BUCKETS:
        actual = buckets[("arenite_camera_stage_seconds_bucket", (("le", repr(bound)), ("stage", "invoke")))]
        assert actual == sum(ns <= round(bound * 1e9) for ns in times_ns)
    assert buckets[("arenite_camera_stage_seconds_count", (("stage", "invoke"),))] == len(times_ns)


def test_figures_of_the_state_are_in_base_units() -> None:
    metrics = Metrics()
    metrics.update(state_at(100))
    families = read(metrics.text())

    def sample_of(name: str) -> tuple[dict[str, str], float]:
        (sample,) = families[f"arenite_camera_{name}"].samples
        return sample.labels, sample.value

    state = state_at(100)
    assert sample_of("power_watts") == (
        {"kind": "measured", "source": "INA3221 VDD_IN"},
        state["power"]["value"],
    )
    assert sample_of("energy_joules") == ({"kind": "measured"}, state["energy_j"])
    assert sample_of("temperature_celsius") == ({"source": "CPU-therm"}, state["temperature"]["value"])
    assert sample_of("trip_celsius")[1] == 97 and sample_of("ready")[1] == 1
    assert sample_of("rail_power_watts") == ({"rail": "VDD_CPU"}, 1.2)
    assert sample_of("budget_power_watts")[1] == 5 and sample_of("budget_temperature_celsius")[1] == 70
    assert sample_of("budget_latency_seconds")[1] == 0.05
    assert sample_of("throttling_forecast_seconds")[1] == pytest.approx(18.4 * 60)
    assert sample_of("frames_captured")[1] == 1500 and sample_of("frames_dropped")[1] == 12
    assert sample_of("governor_actions") == ({"lever": "fps"}, 2)
    assert sample_of("governor_target_watts")[1] == 4.9
    assert sample_of("written_bytes")[1] == 20_000_000
    levels = {s.labels["lever"]: s.value for s in families["arenite_camera_governor_level"].samples}
    assert levels == {"fps": 2, "resolution": 0, "model": 0}
    labels, value = sample_of("info")
    assert value == 1 and labels == {
        "model": "blazeface", "sha256": "00ff", "runtime": "litert-cpu", "source": "/dev/video0",
    }  # fmt: skip
    build = families["arenite_build_info"].samples[0]
    assert build.value == 1 and set(build.labels) == {"version", "python", "machine"}
    assert families["process_resident_memory_bytes"].samples[0].value > 1_000_000


def test_unknown_figures_have_no_sample() -> None:
    metrics = Metrics()
    metrics.update(
        {"ready": False, "power": None, "temperature": None, "budget": {"power_w": None}, "governor": {}}
    )
    families = read(metrics.text())
    assert families["arenite_camera_ready"].samples[0].value == 0
    for name in (
        "power_watts",
        "temperature_celsius",
        "budget_power_watts",
        "energy_joules",
        "governor_level",
        "info",
    ):
        assert f"arenite_camera_{name}" not in families


def test_every_metric_has_help_a_type_and_a_name_without_prefixed_units() -> None:
    metrics = Metrics()
    metrics.take(served_of(0, face()))
    metrics.update(state_at(100))
    text = metrics.text()
    assert text.endswith("\n")
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    assert set(kinds) == set(re.findall(r"^# HELP (\S+) \S.*$", text, re.M))
    for name, kind in kinds.items():
        assert re.fullmatch("[a-z_]+", name) and (kind == "counter") == name.endswith("_total")
        assert not re.search("_(ms|milli|kilo|mw|mj|minutes|percent)", name)


@given(st.text(), st.text(), st.floats(allow_nan=True))
@pytest.mark.slow
def test_any_label_and_value_is_read_back(label: str, about: str, value: float) -> None:
    # The parser strips and splits the HELP line, so only labels have to be returned unchanged.
    text = render([MetricFamily("a_b", "gauge", about, [({"x": label}, value)])])
    body = text.split("\n", 1)[1] if "\r" in about or not about.isprintable() else text
    (family,) = list(parser.text_string_to_metric_families(body))
    (sample,) = family.samples
    assert sample.labels == {"x": label}
    assert sample.value == value or (math.isnan(sample.value) and math.isnan(value))


def test_the_documentation_has_every_metric() -> None:
    metrics = Metrics()
    metrics.take(served_of(0, face()))
    metrics.update(state_at(100))
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", metrics.text(), re.M))
    page = Path(__file__).parents[4] / "docs/camera-dashboard.md"
    rows = re.findall(r"^\| `([a-z_]+)` \| (counter|gauge|histogram)([^|]*) \|", page.read_text(), re.M)
    assert {name: kind for name, kind, _ in rows} == kinds
    for name, kind, labels in rows:
        label_sets = set(re.findall(rf"^{name}(?:_bucket)?{{(.*)}}", metrics.text(), re.M))
        used = {label for label_set in label_sets for label in re.findall(r'(\w+)="', label_set)} - {"le"}
        assert used == set(re.findall(r"`(\w+)`", labels)), (name, kind)
