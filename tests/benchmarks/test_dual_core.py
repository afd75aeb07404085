"""Tests that ``benchmarks.dual_core`` reads the results of ``arenite bench`` with two cores."""

from __future__ import annotations

from typing import Any

import pytest

from arenite.errors import ToolError
from arenite.host.bench.two_cores import predicted_split, report
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import prepare
from arenite.host.build.project import Project, generate_project
from arenite.host.emulator.profile import Profile
from arenite.host.emulator.timing import CycleCount, CycleTally, load_timing
from arenite.profiles.boards import load_board
from benchmarks.dual_core import BOARD, figures, layers, table
from tests.development_models import shared_model


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    model = prepare(shared_model("ad01_int8"))
    return generate_project(
        model, load_board(BOARD), tmp_path_factory.mktemp("p"), BuildOptions("speed", cores=2)
    )


def _count(instructions: int) -> CycleCount:
    """Return a count of instructions that take one cycle each."""
    return CycleCount({"alu": CycleTally(instructions, instructions)})


def _result(split: dict[str, Any] | None) -> dict[str, Any]:
    """Return a result of ``arenite bench`` whose part about two cores is ``split``."""
    return {
        "inference": {"instructions": {"p50": 2000}, "cycles": {"p50": 2000}},
        "memory": {"arena": 1, "static": 2, "stack": 3},
        "flash": {"total": 4},
        "two_cores": split,
    }


@pytest.mark.slow
def test_counted_and_predicted_figures_are_in_one_table(project: Project) -> None:
    layer_count = len(project.generated.calls)
    halves = {k: _count(60) for k, layer in enumerate(project.generated.calls) if layer.second is not None}
    profiled = Profile(load_timing(load_board(BOARD).core), (_count(100),) * layer_count, halves)
    row = figures(_result(None), _result(report(project, profiled)))
    assert row["cut"] == len(halves) > 0 and len(row["layers"]) == layer_count
    model = {"model": "ad01_int8", "optimise": "speed"} | row
    assert f"| {len(halves)} of {layer_count} |" in table([model])
    lines = layers(model).splitlines()[2:]
    assert sum(line.endswith("|  |") for line in lines) == len(halves)
    assert all("| 60 |" in line or "| – |" in line for line in lines)


def test_a_result_without_counted_figures_is_an_error(project: Project) -> None:
    split = predicted_split(project)
    assert split is not None and "critical_path" not in split
    with pytest.raises(ToolError, match="only predicted figures"):
        figures(_result(None), _result(split))


def test_a_model_that_is_not_split_has_a_row() -> None:
    row = {"model": "toy", "optimise": "speed"} | figures(_result(None), _result(None))
    assert "| 0 of 0 | 2,000 | 2,000 | 1.00 |" in table([row])
