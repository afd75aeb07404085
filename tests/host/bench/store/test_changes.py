"""The rules that decide for each figure whether a change is a regression."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arenite.host.bench.store.changes import RegressionRules, changes, layer_changes
from arenite.host.bench.store.history import BEST, named_run, series_of
from arenite.host.bench.store.run_rows import BuildMode, StoredRun
from arenite.host.bench.store.store import Store
from tests.host.bench.sample_results import result, timed


def runs(folder: Path, *results: dict[str, Any], data: str = "random") -> list[StoredRun]:
    """Store the results in a new store and return its runs."""
    with Store(folder / "s.sqlite") as store:
        for bench_result in results:
            store.add(bench_result, BuildMode(), data, None)
        return store.runs()


def energy(median: float, p25: float, p75: float, kind: str = "measured") -> dict[str, Any]:
    """Return the energy of a bench result, in microjoules per inference."""
    return {"energy_uj_per_inference": {"median": median, "p25": p25, "p75": p75, "kind": kind}}


@pytest.mark.parametrize(
    ("old", "new", "flagged"),
    [
        (result(), result(), set()),
        (result(), result(memory__arena=4001, memory__ram_total=4801), {"arena", "ram_total"}),
        (result(), result(memory__arena=3999, memory__ram_total=4799), set()),
        (result(), result(flash__code=5001), {"code"}),
        # 0.5 % of 20 000 is 100.
        (result(), result(inference__instructions={"p50": 20100}), set()),
        (result(), result(inference__instructions={"p50": 20101}), {"instructions"}),
        (result(), result(init__instructions=82), set()),  # differs by less than a tick of the timer
        (result(), result(init__instructions=83), {"init_instructions"}),
        (result(), result(inference__cycles={"p50": 90000}), set()),  # cycles are an estimate
        (result(), result(samples__accuracy=0.89), {"accuracy"}),
        (result(), result(samples__accuracy=0.91), set()),
        (result(), result(samples__bit_exact=9), {"bit_exact"}),
        # Not all samples were exact before.
        (
            result(samples__bit_exact=9),
            result(samples__bit_exact=8),
            set(),
        ),
        (result(), result(samples__bit_exact=9, samples__missing=1), set()),  # a missing answer is not wrong
        (timed(1000, 1010), timed(1049, 1060), set()),
        (timed(1000, 1010), timed(1051, 1060), {"latency_us"}),
        (timed(1000, 1100), timed(1060, 1070), set()),  # differs by less than p95 - p50
        (timed(1000, 1010), timed(1060, 1200), set()),
        (result(energy=energy(100, 99, 101)), result(energy=energy(106, 105, 107)), {"energy_uj"}),
        (result(energy=energy(100, 80, 120)), result(energy=energy(106, 90, 130)), set()),
        (
            result(energy=energy(100, 99, 101, "estimated")),
            result(energy=energy(120, 119, 121, "estimated")),
            set(),
        ),
    ],
)
def test_a_figure_is_flagged_if_it_became_worse_than_its_limit(
    tmp_path: Path, old: dict[str, Any], new: dict[str, Any], flagged: set[str]
) -> None:
    first, second = runs(tmp_path, old, new)
    all_changes = changes([first], second, RegressionRules())
    assert {c.figure for c in all_changes if c.rule is not None} == flagged
    assert all(c.against == first.id for c in all_changes)


def test_a_measured_energy_is_not_compared_with_an_estimate(tmp_path: Path) -> None:
    first, second = runs(
        tmp_path, result(energy=energy(100, 99, 101, "estimated")), result(energy=energy(200, 199, 201))
    )
    assert "energy_uj" not in {c.figure for c in changes([first], second, RegressionRules())}


def test_figures_that_depend_on_data_are_compared_on_equal_data(tmp_path: Path) -> None:
    other_data = result(
        build__data_sha256="04" * 32,
        samples__count=20,
        samples__bit_exact=19,
        inference__instructions={"p50": 99999},
    )
    first, second, third = runs(tmp_path, result(), other_data, result(memory__stack=501))
    by_figure = {c.figure: c for c in changes([first], second, RegressionRules())}
    assert {"instructions", "accuracy", "bit_exact"}.isdisjoint(by_figure) and "arena" in by_figure
    # Each figure is compared with the latest run that is comparable.
    by_figure = {c.figure: c for c in changes([first, second], third, RegressionRules())}
    assert (by_figure["instructions"].against, by_figure["arena"].against) == (first.id, second.id)
    assert by_figure["stack"].rule is not None


def test_limits_can_be_set(tmp_path: Path) -> None:
    first, second = runs(
        tmp_path, result(), result(memory__arena=4100, inference__instructions={"p50": 20500})
    )
    assert not [c for c in changes([first], second, RegressionRules(bytes=100, instructions=0.03)) if c.rule]
    assert (
        len([c for c in changes([first], second, RegressionRules(bytes=99, instructions=0.02)) if c.rule])
        == 2
    )


def test_slow_growth_is_a_regression_against_the_best_run(tmp_path: Path) -> None:
    steps = [result(inference__instructions={"p50": 20000 + 80 * k}) for k in range(4)]
    stored_runs = runs(tmp_path, *steps)
    (series,) = series_of(stored_runs, RegressionRules())
    assert [len(p.regressions) for p in series.points] == [0, 0, 0, 0]
    (series,) = series_of(stored_runs, RegressionRules(), against=BEST)
    assert [len(p.regressions) for p in series.points] == [0, 0, 1, 1]
    assert series.points[-1].regressions[0].against == 1
    (series,) = series_of(stored_runs, RegressionRules(), last=2)
    assert [p.run.id for p in series.points] == [3, 4]
    assert series.points[0].changes  # compared with the run before the first shown run


def test_series_keep_models_boards_and_modes_apart(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store:
        for board in ("a", "b"):
            for mode in (BuildMode(), BuildMode("ram")):
                store.add(result(board__name=board), mode, "random", None)
        all_series = series_of(store.runs(), RegressionRules())
    assert [(s.board, s.mode) for s in all_series] == [
        ("a", "{}"),
        ("a", '{"optimise": "ram"}'),
        ("b", "{}"),
        ("b", '{"optimise": "ram"}'),
    ]


def test_runs_are_named_by_number_or_last(tmp_path: Path) -> None:
    stored_runs = runs(tmp_path, result(), result(memory__arena=1))
    path = tmp_path / "s.sqlite"
    assert [named_run(w, path).id for w in ("1", "last", "last~1")] == [1, 2, 1]
    assert layer_changes(stored_runs[0], stored_runs[1])[1]["instructions"] == [5000, 5000]
