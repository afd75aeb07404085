"""Tests that ``benchmarks.estimates.timing_sources`` reads the published times and the pages, and computes ratios and
errors."""

from __future__ import annotations

import pytest

from arenite.errors import UsageError
from arenite.host.bench.compare import BaselineRecord
from arenite.host.emulator.timing import load_timing
from benchmarks.estimates.published_latency import PublishedSystem, published_systems
from benchmarks.estimates.timing_sources import (
    BASELINE_ENGINE,
    CORES,
    NEAREST,
    PAGE,
    PERFORMANCE,
    error_table,
    estimated_cycles,
    kinds_table,
    published_table,
)


def system(core: str, **cycles: float) -> PublishedSystem:
    return PublishedSystem(core, "BOARD", 100, "Engine", "v1.0", "https://example.org", "cmsis-nn", cycles)


def test_each_published_time_has_an_estimate_beside_it() -> None:
    estimates = estimated_cycles(PERFORMANCE.read_text("utf-8"))
    systems = published_systems()
    assert {s.core for s in systems} == set(CORES)
    for published in systems:
        for network, cycles in published.cycles.items():
            estimate = estimates[NEAREST.get(published.core, published.core), network]
            assert 0.5 < cycles / estimate < 12, f"{published.board}, {published.engine}, {network}"


def test_each_system_is_listed_once_with_its_source() -> None:
    systems = published_systems()
    assert len({s.source for s in systems if "mlcommons" in s.source}) == sum(bool(s.round) for s in systems)
    assert all(f"/tiny_results_{s.round}/" in s.source for s in systems if s.round)


def test_rates_and_times_become_cycles() -> None:
    reference = next(s for s in published_systems() if s.round == "v0.5")
    assert reference.cycles["vww01"] == pytest.approx(120e6 / 1.665)
    assert reference.ms("vww01") == pytest.approx(600.6, abs=0.1)
    esp32 = next(s for s in published_systems() if s.board == "ESP32")
    assert (esp32.cycles["person_detect"], esp32.ms("person_detect")) == (380 * 240e3, 380)


def test_the_ratio_is_that_of_published_to_estimated_cycles() -> None:
    table = published_table(
        [system("cortex-m7", kws01=3e6)], {("cortex-m7", "kws01"): 2_000_000}, "cortex-m7"
    )
    assert "| 2 M |" in table and "| 30 ms = 3 M (1.50) |" in table


def test_an_estimate_below_the_published_cycles_has_a_negative_error() -> None:
    records = [
        BaselineRecord(BASELINE_ENGINE, "cortex-m55", "kws01_int8", {"instructions": 1_000_000}),
        BaselineRecord("other", "cortex-m55", "kws01_int8", {"instructions": 1}),
    ]
    cpi = load_timing("cortex-m55").other_cpi
    table = error_table([system("cortex-m85", kws01=2e6 * cpi)], records)
    assert table.splitlines()[-1].endswith(
        f"| 1,000,000 | {2e6 * cpi:,.0f} | {2 * cpi:.2f} | {cpi:.2f} | -50 % |"
    )


def test_a_baseline_without_a_network_raises_an_error() -> None:
    with pytest.raises(UsageError, match=r"no record of tflite-micro\+cmsis-nn for kws01_int8 on cortex-m33"):
        error_table([system("cortex-m33", kws01=1e6)], [])


def test_the_page_lists_the_assumed_numbers_of_the_tables() -> None:
    assert kinds_table() in PAGE.read_text("utf-8"), "run python -m benchmarks.estimates.timing_sources"
