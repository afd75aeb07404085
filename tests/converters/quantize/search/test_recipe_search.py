"""The search on a trained model: meets budgets, is the same every time, and goes on after an interruption."""

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
from tests.converters.quantize.search.weighted_costs import Weighing
from tests.converters.quantize.trained_models import dataset, samples

pytest.importorskip("optuna", reason="needs optuna")


@pytest.mark.slow
def test_a_budget_that_int8_misses_is_met_and_confirmed() -> None:
    limit = plain_flash() - 3500
    made = run(Budget(flash=limit, drop=0.02), RecipeSearchOptions(trials=10))
    assert not made.trials[0].meets(made.budget) and "flash too much" in made.trials[0].misses(made.budget)[0]
    assert made.chosen is not None and made.chosen.build.flash <= limit and made.chosen.drop <= 0.02
    # The recipe that is handed over makes this very image, and the score is that of the reference kernels.
    data = dataset(*samples(150, 5))
    outputs = run_dataset(made.chosen.quantized.flatbuffer, data, reference=True)
    assert score_outputs(outputs, data, "accuracy").value == made.chosen.score.value
    assert len(made.chosen.quantized.flatbuffer) <= limit
    assert (
        made.chosen.place in made.front
        or made.chosen.drop <= min(made.trials[k].drop for k in made.front) + 0.02
    )
    table = json.loads(json.dumps(made.to_json()))
    assert table["schema"] == "arenite.search/1" and table["chosen"]["build"]["flash"] <= limit
    # The square of the deviation counts changed decisions, of which there are at least as many as were lost.
    changed = [round((o.deviation * 150) ** 2, 6) for o in made.trials]
    assert all(c == int(c) for c in changed) and all(
        c / 150 >= abs(o.drop) - 1e-9 for c, o in zip(changed, made.trials, strict=True)
    )
    assert any(layer["weights"] == "int4" for layer in table["chosen"]["recipe"]["layers"])
    assert table["trials"][0]["label"] == "int8, minmax" and not table["trials"][0]["meets"]


def test_what_cannot_be_met_names_the_nearest() -> None:
    made = run(Budget(flash=1000), RecipeSearchOptions(trials=6))
    assert made.chosen is None
    nearest = made.trials[made.nearest]
    assert nearest.builds[0].flash == min(o.builds[0].flash for o in made.trials)


def test_one_worker_gives_the_same_search_every_time() -> None:
    budget, options = Budget(flash=9000, drop=0.05), RecipeSearchOptions(trials=12)
    first, second = run(budget, options), run(budget, options)
    assert first.trials == second.trials and first.to_json() == second.to_json()
    assert len(first.trials) > 5


@pytest.mark.slow
def test_an_interrupted_search_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    budget = Budget(flash=9000, drop=0.05)
    whole = run(budget, RecipeSearchOptions(trials=12))
    keep = tmp_path / "folder" / "search.db"
    half = run(budget, RecipeSearchOptions(trials=5, keep=keep))
    assert half.resumed == 0
    rest = run(budget, RecipeSearchOptions(trials=12, keep=keep))
    assert rest.resumed == 5 and rest.trials == whole.trials
    again = run(budget, RecipeSearchOptions(trials=12, keep=keep))
    assert again.resumed == 12 and again.trials == whole.trials


@pytest.mark.slow
def test_a_killed_search_goes_on(tmp_path: Path) -> None:
    """Killed without warning in the middle of a trial: finished ones are kept, the one that ran is tried again."""
    keep, log = tmp_path / "search.db", tmp_path / "log"
    log.mkdir()
    script = (
        "from pathlib import Path\n"
        "from arenite.converters.quantize.search.budget import Budget\n"
        "from arenite.converters.quantize.search.recipe_search import RecipeSearchOptions\n"
        "from tests.converters.quantize.search.search_runs import run\n"
        "from tests.converters.quantize.search.weighted_costs import Weighing\n"
        f"run(Budget(flash=9000, drop=0.05), RecipeSearchOptions(trials=9, keep=Path({str(keep)!r})),"
        f" Weighing(Path({str(log)!r}), 0.3))\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parents[4])
    try:
        # One call is of the first look at plain int8; the fifth is in the middle of the fourth trial.
        deadline = time.monotonic() + 120
        while len(os.listdir(log)) < 5:
            assert child.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        child.send_signal(signal.SIGKILL)
    finally:
        child.kill()
        child.wait()
    made = run(Budget(flash=9000, drop=0.05), RecipeSearchOptions(trials=9, keep=keep))
    assert made.resumed == 3
    assert made.trials == run(Budget(flash=9000, drop=0.05), RecipeSearchOptions(trials=9)).trials


def test_a_file_of_another_search_is_refused(tmp_path: Path) -> None:
    keep = tmp_path / "search.db"
    run(Budget(flash=9000), RecipeSearchOptions(trials=1, keep=keep))
    for budget, seed in ((Budget(flash=8000), 5), (Budget(flash=9000), 6)):
        with pytest.raises(UsageError, match="another search"):
            run(budget, RecipeSearchOptions(trials=2, keep=keep), seed=seed)
    keep.write_bytes(b"something else entirely")
    with pytest.raises(UsageError, match="not a file of a search"):
        run(Budget(flash=9000), RecipeSearchOptions(trials=1, keep=keep))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (RecipeSearchOptions(trials=0), "at least one trial, not 0"),
        (RecipeSearchOptions(workers=0), "at least one worker, not 0"),
        (RecipeSearchOptions(kinds=("int3",)), "'int3'"),
        (RecipeSearchOptions(metric="f1"), "no metric"),
    ],
)
def test_mistakes(options: RecipeSearchOptions, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        run(Budget(), options)


@pytest.mark.slow
def test_several_processes_find_it_too(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    limit = plain_flash() - 3500
    made = run(Budget(flash=limit, drop=0.03), RecipeSearchOptions(trials=8, workers=2), Weighing(log))
    assert made.chosen is not None and made.chosen.build.flash <= limit
    alone = run(Budget(flash=limit, drop=0.03), RecipeSearchOptions(trials=8))
    # The first tries are the same, in whatever order they were done.
    first = {o.sha256: o for o in alone.trials[:6]}
    assert all(first[o.sha256] == o for o in made.trials if o.sha256 in first)
    assert len({o.sha256 for o in made.trials} & set(first)) >= 5


def test_int16_is_tried_where_int8_is_not_good_enough() -> None:
    few = run(Budget(drop=1.0), RecipeSearchOptions(trials=2))
    assert all("int16" not in c.kinds for c in few.space.layers)
    strict = run(Budget(accuracy=1.0), RecipeSearchOptions(trials=2), noise=1.5)
    assert all("int16" in c.kinds for c in strict.space.layers)
