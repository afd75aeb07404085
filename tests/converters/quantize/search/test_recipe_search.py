"""The recipe search on a trained model meets budgets, is repeatable, and resumes after an interruption."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arenite.converters.quantize.scoring.model_runner import run_dataset
from arenite.converters.quantize.scoring.score import score_outputs
from arenite.converters.quantize.search.budget import Budget
from arenite.converters.quantize.search.recipe_search import RecipeSearchOptions
from arenite.errors import UsageError
from tests.converters.quantize.search.search_runs import plain_flash, run
from tests.converters.quantize.search.weighted_costs import FileSizeCosts
from tests.converters.quantize.trained_models import dataset, samples

pytest.importorskip("optuna", reason="needs optuna")


@pytest.mark.slow
def test_a_budget_that_int8_misses_is_met_and_confirmed() -> None:
    limit = plain_flash() - 3500  # bytes, which int4 weights can save
    result = run(Budget(flash=limit, drop=0.02), RecipeSearchOptions(trials=10))
    assert (
        not result.trials[0].meets(result.budget)
        and "flash too much" in result.trials[0].misses(result.budget)[0]
    )
    assert result.chosen is not None and result.chosen.build.flash <= limit and result.chosen.drop <= 0.02
    # The chosen recipe gives exactly this image, and the score is that of the reference kernels.
    data = dataset(*samples(150, 5))
    outputs = run_dataset(result.chosen.quantized.flatbuffer, data, reference=True)
    assert score_outputs(outputs, data, "accuracy").value == result.chosen.score.value
    assert len(result.chosen.quantized.flatbuffer) <= limit
    assert (
        result.chosen.place in result.front
        or result.chosen.drop <= min(result.trials[k].drop for k in result.front) + 0.02
    )
    table = json.loads(json.dumps(result.to_json()))
    assert table["schema"] == "arenite.search/1" and table["chosen"]["build"]["flash"] <= limit
    # The deviation times the number of samples (150) is the square root of the number of changed decisions. This number
    # is at least the number of decisions that became wrong.
    changed = [round((o.deviation * 150) ** 2, 6) for o in result.trials]
    assert all(c == int(c) for c in changed) and all(
        c / 150 >= abs(o.drop) - 1e-9 for c, o in zip(changed, result.trials, strict=True)
    )
    assert any(layer["weights"] == "int4" for layer in table["chosen"]["recipe"]["layers"])
    assert table["trials"][0]["label"] == "int8, minmax" and not table["trials"][0]["meets"]


def test_the_result_names_the_nearest_trial_if_none_meets_the_budget() -> None:
    result = run(Budget(flash=1000), RecipeSearchOptions(trials=6))
    assert result.chosen is None
    nearest = result.trials[result.nearest]
    assert nearest.builds[0].flash == min(o.builds[0].flash for o in result.trials)


def test_one_worker_gives_the_same_search_every_time() -> None:
    budget, options = Budget(flash=9000, drop=0.05), RecipeSearchOptions(trials=12)
    first, second = run(budget, options), run(budget, options)
    assert first.trials == second.trials and first.to_json() == second.to_json()
    assert len(first.trials) > 5


@pytest.mark.slow
def test_an_interrupted_search_gives_the_same_trials(tmp_path: Path) -> None:
    budget = Budget(flash=9000, drop=0.05)
    uninterrupted = run(budget, RecipeSearchOptions(trials=12))
    store = tmp_path / "folder" / "search.db"
    first = run(budget, RecipeSearchOptions(trials=5, study_file=store))
    assert first.resumed == 0
    second = run(budget, RecipeSearchOptions(trials=12, study_file=store))
    assert second.resumed == 5 and second.trials == uninterrupted.trials
    third = run(budget, RecipeSearchOptions(trials=12, study_file=store))
    assert third.resumed == 12 and third.trials == uninterrupted.trials


@pytest.mark.slow
def test_a_killed_search_resumes(tmp_path: Path) -> None:
    """The process is killed during a trial. Finished trials are kept, and the unfinished trial runs again."""
    study_file, log = tmp_path / "search.db", tmp_path / "log"
    log.mkdir()
    script = (
        "from pathlib import Path\n"
        "from arenite.converters.quantize.search.budget import Budget\n"
        "from arenite.converters.quantize.search.recipe_search import RecipeSearchOptions\n"
        "from tests.converters.quantize.search.search_runs import run\n"
        "from tests.converters.quantize.search.weighted_costs import FileSizeCosts\n"
        f"run(Budget(flash=9000, drop=0.05), RecipeSearchOptions(trials=9, study_file=Path({str(study_file)!r})),"
        f" FileSizeCosts(Path({str(log)!r}), 0.3))\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parents[4])
    try:
        # The first call evaluates plain int8 before the trials; the fifth call is during the fourth trial.
        deadline = time.monotonic() + 120
        while len(os.listdir(log)) < 5:
            assert child.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        child.send_signal(signal.SIGKILL)
    finally:
        child.kill()
        child.wait()
    result = run(Budget(flash=9000, drop=0.05), RecipeSearchOptions(trials=9, study_file=study_file))
    assert result.resumed == 3
    assert result.trials == run(Budget(flash=9000, drop=0.05), RecipeSearchOptions(trials=9)).trials


@pytest.mark.slow
def test_a_file_of_another_search_is_refused(tmp_path: Path) -> None:
    study_file = tmp_path / "search.db"
    run(Budget(flash=9000), RecipeSearchOptions(trials=1, study_file=study_file))
    for budget, seed in ((Budget(flash=8000), 5), (Budget(flash=9000), 6)):
        with pytest.raises(UsageError, match="another search"):
            run(budget, RecipeSearchOptions(trials=2, study_file=study_file), seed=seed)
    study_file.write_bytes(b"something else entirely")
    with pytest.raises(UsageError, match="not a file that --study wrote"):
        run(Budget(flash=9000), RecipeSearchOptions(trials=1, study_file=study_file))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (RecipeSearchOptions(trials=0), "at least one trial, not 0"),
        (RecipeSearchOptions(workers=0), "at least one worker, not 0"),
        (RecipeSearchOptions(kinds=("int3",)), "'int3'"),
        (RecipeSearchOptions(metric="f1"), "no metric"),
    ],
)
def test_invalid_options_are_an_error(options: RecipeSearchOptions, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(Budget(), options)


@pytest.mark.slow
def test_several_processes_meet_the_budget_too(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    limit = plain_flash() - 3500
    result = run(Budget(flash=limit, drop=0.03), RecipeSearchOptions(trials=8, workers=2), FileSizeCosts(log))
    assert result.chosen is not None and result.chosen.build.flash <= limit
    alone = run(Budget(flash=limit, drop=0.03), RecipeSearchOptions(trials=8))
    # The first six trials are the same as with one worker, in any order.
    first = {o.sha256: o for o in alone.trials[:6]}
    assert all(first[o.sha256] == o for o in result.trials if o.sha256 in first)
    assert len({o.sha256 for o in result.trials} & set(first)) >= 5


def test_int16_is_tried_if_int8_is_not_accurate_enough() -> None:
    lenient = run(Budget(drop=1.0), RecipeSearchOptions(trials=2))
    assert all("int16" not in c.kinds for c in lenient.space.layers)
    strict = run(Budget(accuracy=1.0), RecipeSearchOptions(trials=2), noise=1.5)
    assert all("int16" in c.kinds for c in strict.space.layers)
