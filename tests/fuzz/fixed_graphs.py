"""Compare a fixed set of random graphs per operator with LiteRT, in one compiler run."""

from __future__ import annotations

from arenite.converters.graph.model import Model
from tests.fuzz.campaign import random_model
from tests.fuzz.comparison import compare


def assert_bit_exact(*ops: str, graphs: int = 20, length: int = 2, seed: int = 100) -> None:
    """Check that ``graphs`` random graphs per operator, with up to ``length`` operators, give LiteRT's bytes."""
    models: list[Model] = [random_model(seed, k, list(ops), length) for k in range(graphs * len(ops))]
    mismatches = compare(models, seed=seed, runs=2)
    assert not mismatches, "\n".join(map(str, mismatches))
