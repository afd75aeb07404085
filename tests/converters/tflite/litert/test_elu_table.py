"""LiteRT has no reference kernel for ELU. In a model with an int8 ELU, a table replaces the ELU, and all other
operators run with reference kernels."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Op, Quantization, Subgraph, Tensor
from arenite.converters.tflite.litert.elu_table import replace_elu_by_table
from arenite.converters.tflite.litert.interpreter import LiteRtModel
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.host.bench.reference import Reference

SHAPE = (1, 4, 8, 8)
QUANTS = (Quantization((0.02,), (11,)), Quantization((0.011,), (-37,)), Quantization((1 / 128,), (0,)))


def model(*names: str, first: int = 0) -> bytes:
    """Return a chain of operators whose tensors have the quantizations ``QUANTS[first:]``."""
    tensors = tuple(Tensor(k, f"t{k}", SHAPE, "int8", QUANTS[first + k]) for k in range(len(names) + 1))
    ops = tuple(Op(k, name, (k,), (k + 1,), {}, "", 1 + (name == "TANH")) for k, name in enumerate(names))
    return to_flatbuffer(Model((Subgraph("main", tensors, ops, (0,), (len(names),)),)))


def test_other_operators_keep_their_reference_kernels() -> None:
    x = np.arange(-128, 128).astype(np.int8).reshape(SHAPE)
    elu = LiteRtModel(model("ELU"))  # runs LiteRT's only kernel for ELU
    elu.run([x])
    (between,) = elu.results()
    (expected,) = Reference(model("TANH", first=1)).run([between])
    both = model("ELU", "TANH")
    assert np.array_equal(Reference(both).run([x])[0], expected)
    exact = LiteRtModel(both, exact=True, keep=True)
    exact.run([x])
    assert np.array_equal(exact.results()[0], expected) and np.array_equal(exact.value(1), between)


def test_a_model_without_elu_is_not_changed() -> None:
    flatbuffer = model("TANH", first=1)
    assert replace_elu_by_table(flatbuffer) == flatbuffer


@pytest.mark.parametrize("exact", [False, True])
def test_float32_elu_runs_with_the_builtin_kernel(exact: bool) -> None:
    tensors = (Tensor(0, "x", SHAPE, "float32"), Tensor(1, "y", SHAPE, "float32"))
    graph = Subgraph("main", tensors, (Op(0, "ELU", (0,), (1,), {}, ""),), (0,), (1,))
    host = LiteRtModel(to_flatbuffer(Model((graph,))), exact=exact)
    host.run([np.full(SHAPE, -1, np.float32)])
    assert np.allclose(host.results()[0], np.expm1(-1))
