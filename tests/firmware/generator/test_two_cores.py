"""Layers split into halves for two cores give LiteRT's bytes, whichever half runs first."""

from __future__ import annotations

from itertools import islice

import pytest

from arenite.firmware.generator.target import Target
from tests.fuzz.campaign import random_model
from tests.fuzz.comparison import compare, lower

pytestmark = pytest.mark.slow

OPS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "AVERAGE_POOL_2D", "MAX_POOL_2D", "ADD", "LOGISTIC")
#: Targets without cost for a barrier, so that every layer that can be split is split, even a small one.
TARGETS = (
    Target.for_core("rv32imc", "speed", cores=2),
    Target.for_core("rv32imafc", "ram", cores=2),
    Target.for_core("xtensa-lx7", "balanced", cores=2),
    Target.for_core("cortex-m0plus", "flash", cores=2),
    Target.for_core("cortex-m33", "speed", cores=2),
    Target.for_core("cortex-m33", "balanced", cores=2),
)
#: Number of graphs that are tested per operator, and number of random graphs from which they are chosen. In a chosen
#: graph, the operator is split.
GRAPHS, CANDIDATES = 8, 1600


def is_split(model: object, op: str, target: Target) -> bool:
    """Return whether the model has a layer of the operator ``op`` that is split into halves."""
    layers = lower(model, target=target).layers  # type: ignore[arg-type]
    return any(layer.second is not None and layer.op.name == op for layer in layers)


@pytest.mark.parametrize("op", OPS)
def test_both_orders_of_the_halves_are_exact(op: str) -> None:
    """Each graph runs twice: with the first core's halves before the second core's, and after them."""
    candidates = (random_model(7, k, [op], 2) for k in range(CANDIDATES))
    models = list(islice((m for m in candidates if is_split(m, op, TARGETS[0])), GRAPHS))
    assert len(models) >= GRAPHS // 2, f"only {len(models)} of {CANDIDATES} random graphs were split"
    mismatches = compare(models, seed=7, runs=2, targets=TARGETS)
    assert not mismatches, "\n".join(map(str, mismatches))
