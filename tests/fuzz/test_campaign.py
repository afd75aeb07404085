"""The fuzzer finds a wrong kernel, shrinks and saves the graph, and continues after a crash."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arenite.converters.tflite.reader import load
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext
from arenite.firmware.generator.lower.reduce.reduce import Mean
from tests.fuzz.__main__ import main
from tests.fuzz.campaign import Batch, Result, Worker, run_batch


def batch(folder: Path, *ops: str, count: int = 4) -> Batch:
    """Return a batch of ``count`` random graphs of ``ops``, which saves its failures in ``folder``."""
    return Batch(seed=7, first=10, count=count, ops=ops, length=3, save=folder)


def test_equal_graph_numbers_give_equal_graphs(tmp_path: Path) -> None:
    first, second = (batch(tmp_path, "MEAN", "ADD").model(11) for _ in range(2))
    assert [op.name for op in first.main.ops] == [op.name for op in second.main.ops]
    assert [t.shape for t in first.main.tensors] == [t.shape for t in second.main.tensors]


def test_wrong_results_are_found_shrunk_and_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Mean.lower

    def wrong(self: Mean, ctx: LowerContext) -> KernelCall:
        call = original(self, ctx)
        assert call is not None
        fields: Mapping[str, Any] = call.fields
        if "output_offset" in fields:
            # a wrong zero point of the output, so that outputs are wrong by one
            fields = {**fields, "output_offset": fields["output_offset"] ^ 1}
        return replace(call, fields=fields)

    monkeypatch.setattr(Mean, "lower", wrong)
    result = run_batch(batch(tmp_path, "REDUCE_MAX", "MEAN", count=8))
    assert result.graphs == 8
    assert result.failures
    for path in tmp_path.glob("*.tflite"):
        assert [op.name for op in load(path).main.ops] == ["MEAN"]
    assert len(list(tmp_path.glob("*.tflite"))) == len(result.failures)


def crash(_: Batch) -> Result:
    """End the process like a crash of a kernel."""
    os._exit(11)


def count_only(batch: Batch) -> Result:
    """Return the result of a batch without running it."""
    return Result(batch.count)


@pytest.mark.slow
def test_a_worker_runs_the_next_batch_after_a_crash(tmp_path: Path) -> None:
    worker = Worker()
    with pytest.raises(BrokenProcessPool):
        worker.call(crash, batch(tmp_path, "MEAN"))
    assert worker.call(count_only, batch(tmp_path, "MEAN")).graphs == 4
    worker.close()


def test_the_command_runs_graphs_and_prints_totals(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["--cases", "6", "--op", "MEAN", "--op", "SUM", "--batch", "3", "--jobs", "2"]) == 0
    out = capsys.readouterr().out
    assert "seed 0: 6 graphs, operator types: 2, mismatches: 0" in out
    with pytest.raises(SystemExit):
        main(["--op", "NO_SUCH_OP"])
