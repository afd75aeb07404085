"""Tests of choosing a runtime by measuring, with real child processes, real runtimes, and delegates that have
faults."""

from __future__ import annotations

import itertools
import os
import subprocess
from pathlib import Path

import pytest

from arenite.errors import ModelError, ToolError
from arenite.host.camera.runtimes.factory import open_runtime
from arenite.host.camera.runtimes.probe_client import joules_reader
from arenite.host.camera.runtimes.runtime_selection import choose_runtime
from arenite.host.camera.runtimes.selection_cache import load_choice
from arenite.host.energy.base import ESTIMATED, MEASURED, Power
from tests.host.camera.runtimes.small_models import custom_operator, picture_net, saved

SOURCE = Path(__file__).with_name("delegate.c")


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use an empty cache, in which no choice of a runtime is stored."""
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def faulty_delegate(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Return a function that builds delegate.c with a fault, such as "CRASH", and returns the name of the runtime with
    this delegate."""

    def build(fault: str) -> str:
        library = tmp_path / f"lib{fault.lower()}.so"
        flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-D_GNU_SOURCE", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, f"-DWHAT={fault}", "-o", str(library), str(SOURCE)], check=True)
        return f"delegate:{library}"

    return build


def test_a_crashing_or_wrong_delegate_is_not_chosen(faulty_delegate, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    delegates = [faulty_delegate("CRASH"), faulty_delegate("IDLE")]
    path = saved(picture_net(32), tmp_path)
    choice = choose_runtime(path, names=["litert-cpu"], threads=[1], delegates=delegates, seconds=0.05)
    assert (choice.name, choice.threads) == ("litert-cpu", 1)
    working, crashed, wrong = choice.measured
    assert working.median_ms is not None
    assert working.median_ms > 0
    assert working.difference == 0
    assert crashed.problem.startswith("crashed (SIGABRT)")
    # The idle delegate computes nothing. So it is the fastest candidate, but it is not chosen.
    assert wrong.median_ms is not None
    assert wrong.median_ms < working.median_ms
    assert wrong.problem.startswith("gives wrong answers")
    assert [row[3].split(":")[0].split("(")[0].strip() for row in choice.rows()] == [
        "chosen", "crashed", "gives wrong answers"
    ]  # fmt: skip


@pytest.mark.slow
def test_a_hanging_delegate_raises_an_error(faulty_delegate, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = saved(picture_net(), tmp_path)
    hung = faulty_delegate("HANG")
    with pytest.raises(ModelError, match=r"hung: no answer within 2 s"):
        choose_runtime(path, names=[], delegates=[hung], threads=[1], seconds=0.05, timeout_s=2)
    assert load_choice(path) is None


def test_a_graph_that_is_not_split_has_no_note(faulty_delegate, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = saved(picture_net(), tmp_path)
    runtime = open_runtime(path, faulty_delegate("HALF"))
    runtime.invoke()
    assert runtime.name.startswith("delegate:")
    assert runtime.notes == ()  # the model has one operator, so it is not split
    runtime.close()


def test_the_choice_is_stored_per_file_and_options(tmp_path: Path) -> None:
    path = saved(picture_net(), tmp_path)
    assert load_choice(path) is None
    assert open_runtime(path).name == "litert-cpu"
    choice = choose_runtime(path, names=["litert-interpreter"], threads=[1], seconds=0.02)
    stored_choice = load_choice(path)
    assert stored_choice is not None
    assert stored_choice.remembered
    assert stored_choice.measured == choice.measured
    assert open_runtime(path).name == "litert-interpreter"
    assert load_choice(path, options={"input": "1x8x8x3"}) is None
    other_model = saved(picture_net(9), tmp_path, "other.tflite")
    assert load_choice(other_model) is None
    (cache_file,) = (tmp_path / "cache" / "runtimes").iterdir()
    cache_file.write_text("{broken")
    assert load_choice(path) is None
    assert open_runtime(path).name == "litert-cpu"


def test_an_unavailable_choice_falls_back_to_the_cpu(tmp_path: Path) -> None:
    path = saved(picture_net(), tmp_path)
    choose_runtime(path, names=["litert-interpreter"], threads=[1], seconds=0.02)
    (cache_file,) = (tmp_path / "cache" / "runtimes").iterdir()
    cache_file.write_text(cache_file.read_text().replace("litert-interpreter", "delegate:libunplugged.so"))
    runtime = open_runtime(path)
    runtime.invoke()
    assert runtime.name == "litert-cpu"
    assert "libunplugged.so" in runtime.notes[-1]
    runtime.close()
    with pytest.raises(ToolError, match=r"libunplugged"):  # opening it by name raises an error
        open_runtime(path, "delegate:libunplugged.so")


@pytest.mark.slow
def test_a_delegate_is_measured_beside_the_others(
    faulty_delegate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    path = saved(picture_net(32), tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    idle = faulty_delegate("IDLE")
    runtime = open_runtime(path, idle, measure=True)
    assert not runtime.name.startswith("delegate:")
    choice = load_choice(path)
    assert choice is not None
    assert idle in {
        candidate.name for candidate in choice.measured if candidate.problem.startswith("gives wrong answers")
    }
    runtime.close()


@pytest.mark.slow
def test_opening_a_model_can_measure_and_choose_its_runtime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(picture_net(), tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})  # one thread count is enough
    runtime = open_runtime(path, "auto", measure=True)
    choice = load_choice(path)
    assert choice is not None
    assert runtime.name == choice.name
    tried = {candidate.name for candidate in choice.measured}
    assert {"litert-cpu", "litert-interpreter"} <= tried
    # All candidates without a problem agree with the CPU's outputs.
    assert all((candidate.difference or 0) <= 0.05 for candidate in choice.measured if not candidate.problem)


def test_energy_is_metered_over_the_measured_runs(tmp_path: Path) -> None:
    joules = itertools.count(0.0, 2.0)  # 2 J between the two readings of each candidate
    path = saved(picture_net(), tmp_path)
    choice = choose_runtime(
        path, names=["litert-cpu"], threads=[1], seconds=0.05, meter=lambda: next(joules), by="energy"
    )
    (row,) = choice.measured
    assert row.energy_mj is not None
    assert 0 < row.energy_mj <= 2000 / 20  # at least 20 invocations were measured
    assert next(joules) == 4.0  # the meter was read twice


@pytest.mark.parametrize("kind", [MEASURED, ESTIMATED])
def test_only_measured_power_is_summed_to_joules(kind: str) -> None:
    class Fixed:
        name = "fixed"
        watts = 0.0

        def read(self, busy: float) -> Power:
            return Power(self.watts, kind, "a test")

    power, now = Fixed(), [10.0]
    meter = joules_reader(power, lambda: now[0])
    if kind == ESTIMATED:
        assert meter is None
        return
    assert meter is not None
    power.watts, now[0] = 4.0, 12.5
    assert meter() == 10.0
    power.watts, now[0] = 2.0, 13.5
    assert meter() == 12.0


def test_a_model_that_no_runtime_runs_raises_an_error(tmp_path: Path) -> None:
    path = saved(custom_operator(), tmp_path)
    with pytest.raises(ModelError) as error:
        choose_runtime(path, names=["litert-cpu", "litert-interpreter"], threads=[1], seconds=0.02)
    assert error.value.problem.count("Frobnicate") >= 2
    assert "litert-interpreter:" in error.value.problem
