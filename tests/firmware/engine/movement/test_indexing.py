"""Operators that select elements give LiteRT's bytes, and unsupported operators are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.converters.tflite.image import to_flatbuffer
from arenite.errors import UnsupportedModelError
from arenite.firmware.generator.lower.movement.resize import bilinear_axis, nearest
from arenite.firmware.generator.operator_needs import check_op
from arenite.host.bench.native_model import NativeModel, build
from arenite.host.bench.reference import Reference
from tests.fuzz.comparison import CACHE, compare, lower
from tests.fuzz.fixed_graphs import assert_bit_exact
from tests.fuzz.graph_builder import GraphBuilder

OPS = [
    "GATHER",
    "GATHER_ND",
    "ONE_HOT",
    "RESIZE_BILINEAR",
    "RESIZE_NEAREST_NEIGHBOR",
    "ARG_MAX",
    "ARG_MIN",
    "TOPK_V2",
    "CUMSUM",
]


@pytest.mark.slow
def test_random_graphs_are_exact() -> None:
    assert_bit_exact(*OPS, graphs=20)


def test_random_chains_are_exact() -> None:
    assert_bit_exact(*OPS, graphs=3, length=6, seed=9)


def single_op(
    name: str,
    inputs: list[Any],
    outs: list[tuple[tuple[int, ...], str]],
    options: str,
    version: int = 1,
    **values: Any,
) -> Model:
    """Return a model of one operator. An input is (shape, type) or a constant array. All int8 tensors have one
    quantization, and so have all int16 tensors."""
    b = GraphBuilder()
    quant = {"int8": Quantization((0.1,), (3,)), "int16": Quantization((0.1,), (0,))}
    indices = [
        b.input(i[0], i[1], quant.get(i[1])) if isinstance(i, tuple) else b.const(i, i.dtype.name)
        for i in inputs
    ]
    outputs = [b.tensor(shape, dtype, quant.get(dtype)) for shape, dtype in outs]
    b.op(name, indices, outputs, options, version=version, **values)
    return b.build()


def i32(values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def native(model: Model) -> NativeModel:
    """Compile the model for this computer."""
    (model_native,) = build([lower(model)], Path(CACHE))
    return model_native


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
def test_computed_indices_of_every_type_are_exact(dtype: str) -> None:
    gather = single_op("GATHER", [((5, 3), "int8"), ((4,), dtype)], [((4, 3), "int8")], "GatherOptions", 4)
    nd = single_op("GATHER_ND", [((5, 3), "int8"), ((4, 2), dtype)], [((4,), "int8")], "GatherNdOptions", 5)
    rng = np.random.default_rng(1)
    for model, shape in ((gather, (4,)), (nd, (4, 2))):
        inputs = [rng.integers(-128, 128, (5, 3)).astype(np.int8), rng.integers(0, 3, shape).astype(dtype)]
        expected = Reference(to_flatbuffer(model)).run(inputs)
        assert np.array_equal(expected[0], native(model).run(inputs)[0])


def test_a_computed_index_outside_reads_the_nearest_element() -> None:
    """LiteRT stops with an error. A device must continue and must not read other memory."""
    x = np.arange(15, dtype=np.int8).reshape(5, 3)
    gather = single_op("GATHER", [((5, 3), "int8"), ((3,), "int32")], [((3, 3), "int8")], "GatherOptions")
    actual = native(gather).run([x, i32([-1, 2, 2**31 - 1])])[0]
    assert actual.tolist() == x[[0, 2, 4]].tolist()
    nd = single_op("GATHER_ND", [((5, 3), "int8"), ((2, 2), "int64")], [((2,), "int8")], "GatherNdOptions")
    actual = native(nd).run([x, np.array([[-(2**62), 7], [9, -9]])])[0]
    assert actual.tolist() == [x[0, 2], x[4, 0]]


def test_cumulative_sums_wrap_as_in_litert() -> None:
    options = {"exclusive": False, "reverse": False}
    for dtype in ("int32", "int64"):
        model = single_op("CUMSUM", [((4,), dtype), i32(0)], [((4,), dtype)], "CumsumOptions", **options)
        big = np.iinfo(dtype).max
        inputs = [np.array([big, big, 5, -big], dtype)]
        expected = Reference(to_flatbuffer(model)).run(inputs)
        assert np.array_equal(expected[0], native(model).run(inputs)[0])


def test_large_resizes_are_exact() -> None:
    """Some ratios are not powers of two, so the step is rounded. Some positions are before the first pixel."""
    models = []
    for (h, w), (out_h, out_w) in (
        ((7, 3), (61, 50)),
        ((64, 33), (5, 7)),
        ((1, 1), (9, 4)),
        ((2, 2), (2, 2)),
    ):
        for align, half in ((False, False), (True, False), (False, True), (True, True)):
            flags = {"align_corners": align, "half_pixel_centers": half}
            size, out = i32([out_h, out_w]), (1, out_h, out_w, 2)
            for dtype in ("int8", "int16"):
                x = ((1, h, w, 2), dtype)
                if not (align and half):
                    models.append(
                        single_op(
                            "RESIZE_BILINEAR", [x, size], [(out, dtype)], "ResizeBilinearOptions", 3, **flags
                        )
                    )
                options = "ResizeNearestNeighborOptions"
                models.append(
                    single_op("RESIZE_NEAREST_NEIGHBOR", [x, size], [(out, dtype)], options, 4, **flags)
                )
    assert compare(models, runs=3) == []


def test_nearest_positions_are_inside_the_image() -> None:
    for align in (False, True):
        for half in (False, True):
            for sizes in ((1, 300), (300, 1), (17, 29), (96, 224)):
                assert nearest(*sizes, align, half).max() < sizes[0]


def test_bilinear_axis_returns_step_and_start() -> None:
    assert bilinear_axis(4, 8, False, False) == (512, 0)
    assert bilinear_axis(4, 8, False, True) == (512, -256)
    assert bilinear_axis(4, 7, True, False) == (512, 0)


def changed(model: Model, index: int, **fields: Any) -> Model:
    """Return the model with one changed tensor."""
    tensors = list(model.main.tensors)
    tensors[index] = replace(tensors[index], **fields)
    return replace(model, subgraphs=(replace(model.main, tensors=tuple(tensors)),))


GATHER = single_op("GATHER", [((5, 3), "int8"), i32([1, 0])], [((2, 3), "int8")], "GatherOptions")
ND = single_op("GATHER_ND", [((5, 3), "int8"), i32([[1, 0]])], [((1,), "int8")], "GatherNdOptions")
ARG = single_op("ARG_MAX", [((5, 3), "int8"), i32(1)], [((5,), "int32")], "ArgMaxOptions")
TOPK = single_op(
    "TOPK_V2", [((5, 3), "int8"), i32(2)], [((5, 2), "int8"), ((5, 2), "int32")], "TopKV2Options"
)
SUMS = single_op("CUMSUM", [((5, 3), "int32"), i32(1)], [((5, 3), "int32")], "CumsumOptions")
HOT = single_op(
    "ONE_HOT",
    [((5,), "int32"), i32(3), np.array(1, np.int64), np.array(0, np.int64)],
    [((5, 3), "int64")],
    "OneHotOptions",
    axis=-1,
)
BILINEAR = single_op(
    "RESIZE_BILINEAR",
    [((1, 4, 4, 1), "int8"), i32([8, 8])],
    [((1, 8, 8, 1), "int8")],
    "ResizeBilinearOptions",
)
#: A resize whose rounding error adds up to a position beyond the last pixel.
FAR = single_op(
    "RESIZE_BILINEAR",
    [((1, 2, 2, 1), "int8"), i32([4095, 1])],
    [((1, 4095, 1, 1), "int8")],
    "ResizeBilinearOptions",
)

#: Maps the name of a case to (model, a part of the error message).
REFUSED = {
    "gather type": (changed(GATHER, 0, dtype="float16"), "float16"),
    "gather index type": (changed(GATHER, 1, dtype="uint8"), "uint8"),
    "gather index": (changed(GATHER, 1, data=i32([1, 5])), "outside"),
    "gather negative index": (changed(GATHER, 1, data=i32([1, -1])), "outside"),
    "gather shape": (changed(GATHER, 2, shape=(3, 3)), "expected"),
    "gather_nd index": (changed(ND, 1, data=i32([[1, 3]])), "outside"),
    "gather_nd depth": (changed(ND, 1, shape=(1, 3)), "indexes 3 dimensions"),
    "gather_nd shape": (changed(ND, 2, shape=(1, 3)), "expected"),
    "arg type": (changed(ARG, 0, dtype="int16"), "int16"),
    "arg axis": (changed(ARG, 1, data=i32(2)), "axis 2"),
    "arg computed axis": (changed(ARG, 1, data=None), "must be constant"),
    "arg shape": (changed(ARG, 2, shape=(3,)), "expected"),
    "topk type": (changed(TOPK, 0, dtype="int64"), "int64"),
    "topk k": (changed(TOPK, 1, data=i32(4)), "largest"),
    "topk computed k": (changed(TOPK, 1, data=None), "must be constant"),
    "topk shape": (changed(TOPK, 3, shape=(5, 3)), "expected"),
    "cumsum type": (changed(SUMS, 0, dtype="float32"), "float32"),
    "cumsum shape": (changed(SUMS, 2, shape=(3, 5)), "expected"),
    "one_hot depth": (changed(HOT, 1, data=None), "must be constant"),
    "one_hot value": (changed(HOT, 2, shape=(2,)), "single value"),
    "one_hot shape": (changed(HOT, 4, shape=(5, 4)), "expected"),
    "resize type": (changed(BILINEAR, 0, dtype="float32"), "float32"),
    "resize computed size": (changed(BILINEAR, 1, data=None), "must be constant"),
    "resize shape": (changed(BILINEAR, 2, shape=(1, 8, 4, 1)), "size"),
    "resize past the edge": (FAR, "is too coarse"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_error_of_an_unsupported_operator_gives_the_reason(name: str) -> None:
    model, message = REFUSED[name]
    with pytest.raises(UnsupportedModelError, match=message) as caught:
        check_op(model.main, model.main.ops[0])
    assert caught.value.problem.startswith(f"operator 0 {model.main.ops[0].name}") and caught.value.hint


def test_both_resize_flags_are_refused() -> None:
    ops = (replace(BILINEAR.main.ops[0], options={"align_corners": True, "half_pixel_centers": True}),)
    main = replace(BILINEAR.main, ops=ops)
    with pytest.raises(UnsupportedModelError, match="both align_corners"):
        check_op(main, main.ops[0])
