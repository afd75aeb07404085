"""Run recipe searches on a small model."""

from __future__ import annotations

from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.search.budget import Budget
from arenite.converters.quantize.search.recipe_search import RecipeSearchOptions, SearchResult, search
from arenite.converters.quantize.search.trial import CostFunction
from tests.converters.quantize.search.weighted_costs import FileSizeCosts
from tests.converters.quantize.trained_models import classifier, dataset, samples

FILE_SIZE_COSTS = FileSizeCosts()

#: The sizes of the hidden layers, whose int8 weights take 12 KB.
HIDDEN = (96, 64)


def run(
    budget: Budget,
    options: RecipeSearchOptions,
    costs: CostFunction = FILE_SIZE_COSTS,
    seed: int = 5,
    noise: float = 0.3,
) -> SearchResult:
    """Search for a recipe for a trained classifier. ``seed`` and ``noise`` determine the samples for scoring."""
    model = classifier(HIDDEN)
    observations = observe(model, dataset(*samples(100, 3)))
    data = dataset(*samples(150, seed, noise=noise))
    return search(model, load_recipe("int8"), observations, data, costs, budget, options)


def plain_flash() -> int:
    """Return the flash in bytes of the classifier with the recipe int8."""
    return run(Budget(), RecipeSearchOptions(trials=1)).trials[0].builds[0].flash
