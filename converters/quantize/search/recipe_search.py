"""Search for a recipe that meets a budget, and compute the Pareto front of all recipes that were tried."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.quantize.calibration.observations import Observations
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.quantize import QuantizedModel
from arenite.converters.quantize.recipes.recipe import Recipe
from arenite.converters.quantize.scoring.metrics import Score
from arenite.converters.quantize.scoring.output_scores import score_source
from arenite.converters.quantize.search.budget import Budget
from arenite.converters.quantize.search.outcome import (
    FORMAT,
    BuildCost,
    TrialOutcome,
    objectives,
    pareto_front,
    rank_outcomes,
)
from arenite.converters.quantize.search.search_space import (
    LAYER_KINDS,
    SearchSpace,
    initial_trials,
    space_for,
)
from arenite.converters.quantize.search.study import Study
from arenite.converters.quantize.search.trial import CostFunction, SearchTask, evaluate_recipe
from arenite.converters.quantize.search.workers import Workers, start_workers
from arenite.converters.quantize.sensitivity.sensitivity import Sensitivity, sensitivity
from arenite.converters.tflite.reader import parse
from arenite.errors import UsageError

#: Called with (the recipe that was tried, finished trials, total number of trials).
Progress = Callable[[str, int, int], None]

#: The number of samples on which recipes are compared.
SAMPLES = 500

#: If the budget has no limit for the loss, int16 is tried if the loss of plain int8 is larger than this fraction.
_INT16_DROP = 0.01

#: The search ends after this number of repeated recipes in a row, because probably all recipes of a small space have
#: been tried.
_MAX_CONSECUTIVE_REPEATS = 30


@dataclass(frozen=True)
class RecipeSearchOptions:
    """The options of a search.

    ``trials`` is the number of recipes to try, including those of an earlier run. ``seconds`` is the time limit.
    ``workers`` is the number of processes on this machine; ``dask`` is the address of a Dask scheduler whose workers
    are used instead. ``samples`` is the largest number of samples for scoring. ``kinds`` are the types of
    ``LAYER_KINDS`` that layers may have; None means int8 and int4, and int16 if int8 loses too much. ``study_file``
    is the file that stores the search, so that it can continue after an interruption. With one worker, the same seed
    gives the same search.
    """

    trials: int = 40
    seconds: float | None = None
    workers: int = 1
    dask: str | None = None
    samples: int | None = SAMPLES
    kinds: tuple[str, ...] | None = None
    metric: str | None = None
    study_file: Path | None = None
    seed: int = 0


@dataclass(frozen=True)
class ChosenRecipe:
    """The chosen recipe. ``score`` and ``drop`` are measured with the reference kernels on all samples of the
    search."""

    place: int  # index in ``SearchResult.trials``
    outcome: TrialOutcome
    build: BuildCost
    recipe: Recipe
    quantized: QuantizedModel
    score: Score
    drop: float


@dataclass(frozen=True)
class SearchResult:
    """The result of a search. ``trials`` are in the order in which they were tried, the plain int8 recipe first.
    ``front`` has the indices of the trials on the Pareto front of the objectives ``objective_names``.

    ``chosen`` is the best recipe that meets ``budget``, or None. ``nearest`` is the index of the trial with the
    smallest violations of the budget. ``resumed`` is the number of trials of an earlier run.
    """

    budget: Budget
    base: Score  # score of the float model
    space: SearchSpace
    sensitivity: Sensitivity
    trials: tuple[TrialOutcome, ...]
    front: tuple[int, ...]
    objective_names: tuple[str, ...]
    chosen: ChosenRecipe | None
    nearest: int
    resumed: int

    def to_json(self) -> dict[str, Any]:
        """Return the ``arenite.search/1`` object."""

        def entry(index: int, outcome: TrialOutcome) -> dict[str, Any]:
            build = outcome.build(self.budget).to_json() if outcome.builds else None
            return {
                **outcome.to_json(),
                "trial": index,
                "label": label(self.space, outcome),
                "build": build,
                "meets": outcome.meets(self.budget),
                "misses": outcome.misses(self.budget),
                "front": index in self.front,
            }

        chosen = None
        if self.chosen is not None:
            c = self.chosen
            chosen = {
                "trial": c.place,
                "recipe": c.recipe.to_json(),
                "build": c.build.to_json(),
                "score": c.score.to_json(),
                "drop": c.drop,
                "bytes": len(c.quantized.flatbuffer),
            }
        return {
            "schema": "arenite.search/1",
            "budget": self.budget.to_json(),
            "objectives": list(self.objective_names),
            "float": self.base.to_json(),
            "sensitivity": self.sensitivity.to_json(),
            "trials": [entry(k, o) for k, o in enumerate(self.trials)],
            "front": list(self.front),
            "chosen": chosen,
            "nearest": self.nearest,
            "resumed": self.resumed,
        }


def label(space: SearchSpace, outcome: TrialOutcome) -> str:
    """Return a short description of a recipe: "int4 in 3 of 5 layers, mse"."""
    kinds = [outcome.params.get(f"layer {c.layer}", c.kinds[0]) for c in space.layers]
    parts = [
        f"{kind} in {kinds.count(kind)} of {len(kinds)} layers" for kind in ("int4", "int16") if kind in kinds
    ] or ["int8"]
    parts.append(str(outcome.params["calibrator"]))
    parts += [n.replace("_", " ") for n in ("bias_correction", "equalisation") if outcome.params[n]]
    return ", ".join(parts)


def search(
    flatbuffer: bytes,
    recipe: Recipe,
    observations: Observations,
    dataset: Dataset,
    costs: CostFunction,
    budget: Budget,
    options: RecipeSearchOptions = RecipeSearchOptions(),
    *,
    identity: Sequence[str] = (),
    progress: Progress = lambda *_: None,
) -> SearchResult:
    """Search for the recipe that meets ``budget`` with the smallest loss.

    Args:
        flatbuffer: the float model.
        recipe: the settings that are not searched (the types of inputs and outputs).
        observations: the observations of the float model.
        dataset: samples for scoring, preferably not the calibration samples.
        costs: predicts the size and the instructions of a model image, such as ``BoardCosts`` of ``host.build``. If it
            has an attribute ``identity``, the attribute changes whenever the predictions could change.
        budget: the limits, including those of the board (``Budget.within``).
        options: the number of trials, the time limit, the workers and so on.
        identity: names of everything that ``costs`` depends on. A stored search continues only if these names are the
            same.
        progress: called after each trial.

    After an interruption, the file ``options.study_file`` has the outcomes of the finished trials.

    Raises:
        UsageError: the search is not possible. Errors of the workers are raised as well.
    """
    _check_options(options)
    data = dataset.limited(options.samples)
    source = score_source(flatbuffer, data, options.metric)
    base = source.base
    if base.metric == "mse" and budget.accuracy is not None:
        raise UsageError("The budget names an accuracy and the metric is mse.", "Limit the drop instead.")
    progress("sensitivity of the layers", 0, options.trials)
    layer_sensitivity = sensitivity(
        flatbuffer, recipe, observations, data, kinds=("int8", "int4"), metric=base.metric
    )
    model = parse(flatbuffer)
    task = SearchTask(flatbuffer, space_for(model, recipe, ("int8",)), observations, costs, source)
    plain = evaluate_recipe(task, task.space.plain())
    kinds = options.kinds or _kinds_to_try(plain, budget)
    space = space_for(model, recipe, kinds)
    task = replace(task, space=space)
    objective_names = objectives(budget)
    study = Study(
        options.study_file,
        space.choices(),
        objective_names,
        budget,
        _identity(task, budget, options, identity),
        options.seed,
        initial_trials(space, layer_sensitivity, _bytes_to_save(plain, budget)),
    )
    if len(study.outcomes()) < options.trials:
        workers = start_workers(task, options.workers, options.dask)
        try:
            _run(study, workers, space, options, progress)
        finally:
            workers.close()
    return _result(task, budget, space, layer_sensitivity, study, objective_names)


def _check_options(options: RecipeSearchOptions) -> None:
    if options.trials < 1:
        raise UsageError(
            f"A search needs at least one trial, not {options.trials}.", "Give a positive number of trials."
        )
    unknown = [k for k in options.kinds or () if k not in LAYER_KINDS]
    if unknown:
        raise UsageError(f"Layers cannot be '{unknown[0]}'.", f"Give some of {', '.join(LAYER_KINDS)}.")


def _identity(
    task: SearchTask, budget: Budget, options: RecipeSearchOptions, more: Sequence[str]
) -> dict[str, Any]:
    """Return everything that must be the same for a stored search to continue."""
    return {
        "format": FORMAT,
        "model": hashlib.sha256(task.flatbuffer).hexdigest(),
        "calibration": task.observations.data_sha256,
        "data": _data_hash(task.dataset),
        "metric": task.base.metric,
        "space": json.loads(json.dumps(task.space.to_json())),
        "budget": budget.to_json(),
        "seed": options.seed,
        "costs": getattr(task.costs, "identity", ""),
        "more": list(more),
    }


def _data_hash(data: Dataset) -> str:
    digest = hashlib.sha256()
    for sample in data.inputs:
        for array in sample:
            digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(str(None if data.labels is None else data.labels.tolist()).encode())
    for index, labels in sorted(data.more_labels.items()):
        digest.update(f"{index} {labels.tolist()}".encode())
    return digest.hexdigest()


def _kinds_to_try(plain: TrialOutcome, budget: Budget) -> tuple[str, ...]:
    """Return the types to try. int16 is included only if int8 loses too much, because int16 activations take twice the
    RAM and more instructions."""
    short = budget.accuracy is not None and plain.score < budget.accuracy
    lost = plain.drop > (_INT16_DROP if budget.drop is None else budget.drop)
    return tuple(LAYER_KINDS) if short or lost or not plain.builds else ("int8", "int4")


def _bytes_to_save(plain: TrialOutcome, budget: Budget) -> int | None:
    """Return the bytes of flash by which plain int8 exceeds the budget (negative if it fits), or None if unknown."""
    if budget.flash is None or not plain.builds:
        return None
    return min(b.flash for b in plain.builds) - budget.flash


def _run(
    study: Study, workers: Workers, space: SearchSpace, options: RecipeSearchOptions, progress: Progress
) -> None:
    """Ask the study for recipes, try them and report the outcomes until there are enough trials."""
    deadline = None if options.seconds is None else time.monotonic() + options.seconds
    outcome_of = {_key(o.params): o for o in study.outcomes()}
    done, running, repeats = len(study.outcomes()), 0, 0
    waiting: dict[int, str] = {}
    progress("", done, options.trials)

    def may_start_trial() -> bool:
        late = deadline is not None and time.monotonic() > deadline
        return done + running < options.trials and not late and repeats < _MAX_CONSECUTIVE_REPEATS

    while running or may_start_trial():
        while running < workers.slots and may_start_trial():
            number, params = study.ask()
            key = _key(params)
            # Report the outcome again, so that the sampler does not propose this recipe again.
            if key in outcome_of:
                study.tell(number, outcome_of[key])
                done, repeats = done + 1, repeats + 1
                continue
            repeats = 0
            workers.submit(number, params)
            waiting[number] = key
            running += 1
        if not running:
            break
        number, outcome = workers.wait()
        running -= 1
        study.tell(number, outcome)
        outcome_of[waiting.pop(number)] = outcome
        done += 1
        progress(label(space, outcome), done, options.trials)


def _key(params: Any) -> str:
    return json.dumps(params, sort_keys=True)


def _result(
    task: SearchTask,
    budget: Budget,
    space: SearchSpace,
    layer_sensitivity: Sensitivity,
    study: Study,
    objective_names: tuple[str, ...],
) -> SearchResult:
    """Return the result of a search from the outcomes in ``study``. Raises ``UsageError`` if no recipe gives an
    image."""
    trials = _unique(study.outcomes())
    if not any(o.builds for o in trials):
        raise UsageError(
            f"No recipe gives an image: {trials[0].error if trials else 'no recipe was tried'}",
            "Convert with a recipe of your choice to see the reason.",
        )
    order = sorted(range(len(trials)), key=lambda k: (sum(trials[k].violations(budget)), k))
    chosen = _choose(task, budget, trials)
    best = tuple(pareto_front(trials, budget, objective_names))
    return SearchResult(
        budget,
        task.base,
        space,
        layer_sensitivity,
        tuple(trials),
        best,
        objective_names,
        chosen,
        order[0],
        study.resumed,
    )


def _unique(outcomes: Sequence[TrialOutcome]) -> list[TrialOutcome]:
    """Return the outcomes whose parameters and quantized model did not occur in an earlier outcome."""
    earlier: set[str] = set()
    unique = []
    for o in outcomes:
        keys = {_key(o.params), o.sha256 or _key(o.params)}
        if not keys & earlier:
            unique.append(o)
        earlier |= keys
    return unique


def _choose(task: SearchTask, budget: Budget, trials: Sequence[TrialOutcome]) -> ChosenRecipe | None:
    """Return the first trial in the order of ``rank_outcomes`` that also meets the budget with the reference
    kernels."""
    for k in rank_outcomes(trials, budget):
        quantized = task.quantize(trials[k].params)
        score, lost = task.score(quantized.flatbuffer, exact=True)
        confirmed = TrialOutcome(trials[k].params, trials[k].sha256, trials[k].builds, score.value, lost)
        if confirmed.meets(budget):
            recipe = task.space.recipe(trials[k].params)
            return ChosenRecipe(k, trials[k], trials[k].build(budget), recipe, quantized, score, lost)
    return None
