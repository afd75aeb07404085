"""The kernels of tree ensembles give the integers of the NumPy reference, and damaged tables are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.graph.model import Model
from arenite.converters.graph.trees import TreeEnsemble, ensemble_of
from arenite.converters.tflite.image import to_flatbuffer
from arenite.converters.tflite.reader import parse
from arenite.errors import UnsupportedModelError
from arenite.firmware.generator.lower.trees.leaf_pairs import leaf_pairs
from arenite.firmware.generator.lower.trees.node_words import LEAF, feature_shift, node_words
from arenite.firmware.generator.operator_needs import check_supported
from arenite.host.bench.reference import Reference
from tests.example_count import example_count
from tests.firmware.engine.litert_exact import run_natively
from tests.firmware.engine.trees.tree_models import (
    ensemble_with_shared_nodes,
    model_of,
    random_ensemble,
    samples,
)

CASES: tuple[dict[str, Any], ...] = (
    {"dtype": "float32"},
    {"dtype": "float32", "targets": True},
    {"dtype": "float32", "missing": True},
    {"dtype": "float32", "missing": True, "nodes": 300, "width": 1},
    {"dtype": "int16"},
    {"dtype": "int16", "targets": True, "leaves": 300, "nodes": 200},
    {"dtype": "int8", "width": 1},
    {"dtype": "int16", "width": 1, "leaves": 500, "nodes": 300, "outputs": 1},
    {"dtype": "int8", "nodes": 400, "trees": 3, "outputs": 40, "leaves": 50},
    {"dtype": "int16", "nodes": 1, "trees": 1, "leaves": 1, "bias": False},
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_kernels_equal_the_reference(case: dict[str, Any]) -> None:
    rng = np.random.default_rng(len(str(case)))
    ensemble = random_ensemble(rng, **case)
    model = model_of(ensemble)
    reference = Reference(to_flatbuffer(model))
    cases = [(model, [x]) for x in samples(rng, ensemble, 12)]
    actual = run_natively(cases)
    for (_, inputs), result in zip(cases, actual, strict=True):
        np.testing.assert_array_equal(result[0], reference.run(inputs)[0])


@settings(max_examples=example_count(100), deadline=None)
@given(
    seed=st.integers(0, 1 << 30),
    dtype=st.sampled_from(["float32", "int16", "int8"]),
    nodes=st.integers(1, 300),
    outputs=st.integers(1, 6),
    targets=st.booleans(),
    missing=st.booleans(),
)
def test_the_words_and_pairs_have_the_leaves_of_the_tables(
    seed: int, dtype: str, nodes: int, outputs: int, targets: bool, missing: bool
) -> None:
    """Decoding the words and pairs as the kernel does gives the outputs of the tables."""
    rng = np.random.default_rng(seed)
    ensemble = random_ensemble(
        rng,
        dtype=dtype,
        nodes=nodes,
        outputs=outputs,
        targets=targets,
        leaves=nodes,
        missing=missing and dtype == "float32",
    )
    lists = leaf_pairs(ensemble)
    words = node_words(ensemble, None if lists is None else lists.positions)
    assert words is not None
    for x in samples(rng, ensemble, 5):
        np.testing.assert_array_equal(_walk(ensemble, words.tolist(), lists, x), ensemble.evaluate(x))


def _walk(ensemble: TreeEnsemble, words: list[int], lists: Any, x: np.ndarray) -> list[int]:
    """Return the outputs for the input ``x``. ``words`` has the nodes, and ``lists`` the (output, value) pairs of the
    leaves, or None if leaves are rows of ``ensemble.leaves``."""
    shift = feature_shift(ensemble)
    far = (1 << shift) - 1
    out = ensemble.bias.tolist()
    start = 0
    for _ in ensemble.roots:
        at, start = start + 1, start + 1 + words[start]
        while not words[at] & LEAF:
            word, at = words[at], at + 1
            skip = word & far
            if skip == far:
                skip, at = words[at], at + 1
            feature = word >> shift
            missing_left = ensemble.routes_missing and feature & 1
            value = x[0, feature >> 1 if ensemble.routes_missing else feature]
            if ensemble.threshold.dtype == np.float32:
                key, at = words[at] | words[at + 1] << 16, at + 2
                bits = int(np.float32(value).view(np.uint32))
                key_of_x = bits ^ 0x7FFFFFFF if bits >> 31 else bits
                goes_right = _signed(key_of_x, 32) > _signed(key, 32)
                if ensemble.routes_missing and np.isnan(value):
                    goes_right = not missing_left
            else:
                goes_right = int(value) > _signed(words[at], 16)
                at += 1
            at += skip if goes_right else 0
        leaf = words[at] & ~LEAF
        if lists is None:
            for k, value in enumerate(ensemble.leaves[leaf].tolist()):
                out[ensemble.first_output + k] += value
            continue
        while True:
            pair = int(lists.pairs[leaf])
            out[(pair & 0x7FFF) >> lists.value_bits] += int(
                lists.values[pair & ((1 << lists.value_bits) - 1)]
            )
            leaf += 1
            if pair & 0x8000:
                break
    return out


def _signed(value: int, bits: int) -> int:
    """Return an unsigned number of ``bits`` bits, read as two's complement."""
    return value - (1 << bits) if value >> (bits - 1) else value


def refused(model: Model, words: str) -> None:
    """Check that a file with ``model`` is refused when it is lowered and when its outputs are computed."""
    model = parse(to_flatbuffer(model))
    with pytest.raises(UnsupportedModelError, match=words):
        check_supported(model)
    with pytest.raises(UnsupportedModelError, match=words):
        Reference(to_flatbuffer(model))


def edited(name: str, where: Sequence[int] | int, value: float) -> TreeEnsemble:
    """Return a random ensemble in which one element of the table ``name`` is replaced by ``value``."""
    ensemble = random_ensemble(np.random.default_rng(0))
    table = getattr(ensemble, name).copy()
    table[where] = value
    return replace(ensemble, **{name: table})


@pytest.mark.parametrize(
    ("ensemble", "words"),
    [
        (edited("left", 5, 5), "no later node"),  # a node that leads to itself
        (edited("right", 7, 2), "no later node"),  # a cycle
        (edited("left", 0, 80), "no later node"),  # outside of the nodes
        (edited("right", 3, ~9), "no leaf"),
        (edited("left", 3, -(1 << 31)), "no leaf"),
        (edited("roots", 1, 1 << 20), "roots"),
        (edited("feature", 4, 5), "feature"),
        (edited("feature", 4, -1), "feature"),
        (edited("bias", 0, (1 << 31) - 1), "32 bits"),
    ],
)
def test_damaged_tables_are_refused(ensemble: TreeEnsemble, words: str) -> None:
    refused(model_of(ensemble), words)


def test_tables_of_wrong_sizes_and_types_are_refused() -> None:
    good = random_ensemble(np.random.default_rng(0))
    refused(model_of(replace(good, left=good.left[:-1])), "different lengths")
    refused(model_of(replace(good, feature=good.feature.astype(np.int32))), "feature")
    refused(model_of(replace(good, leaves=good.leaves.astype(np.int32))), "leaves")
    refused(model_of(replace(good, leaves=np.ones((9, 4), np.int16))), "4 values")
    refused(model_of(replace(good, targets=np.zeros(9, np.int16))), "targets")
    refused(model_of(good, features=2000), "1024")
    refused(model_of(random_ensemble(np.random.default_rng(0), nodes=0)), "empty")
    tall = random_ensemble(np.random.default_rng(0), targets=True)
    refused(model_of(replace(tall, targets=np.full(9, 3, np.int16))), "targets")


def test_shared_nodes_cannot_make_the_tables_grow_without_limit() -> None:
    shared = ensemble_with_shared_nodes()
    with pytest.raises(UnsupportedModelError, match="words"):
        check_supported(model_of(shared))
    assert ensemble_of(model_of(shared).main, model_of(shared).main.ops[0]).depth() == 60
