"""Operators that only move elements give LiteRT's bytes, and unsupported operators are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.graph.model import Model, Quantization
from arenite.errors import UnsupportedModelError
from arenite.firmware.generator.lower import LOWERINGS
from arenite.firmware.generator.lower.movement.movement import Movement, view_copy
from arenite.firmware.generator.operator_needs import check_op
from tests.example_count import example_count
from tests.fuzz.comparison import compare, lower
from tests.fuzz.fixed_graphs import assert_bit_exact
from tests.fuzz.graph_builder import GraphBuilder

MOVES = sorted(name for name, lowering in LOWERINGS.items() if isinstance(lowering, Movement))
SHAPES = ["RESHAPE", "SQUEEZE", "EXPAND_DIMS"]


@pytest.mark.slow
def test_random_graphs_are_exact() -> None:
    assert len(MOVES) == 19
    assert_bit_exact(*MOVES, *SHAPES, graphs=10)


def test_random_chains_are_exact() -> None:
    assert_bit_exact(*MOVES, *SHAPES, graphs=2, length=6, seed=7)


def single_op(
    name: str,
    inputs: list[Any],
    out: list[tuple[int, ...]],
    options: str = "",
    dtype: str = "int8",
    quant: Quantization | None = None,
    **values: Any,
) -> Model:
    """Return a model of one operator. An input is a shape (tuple) or a constant (list or int)."""
    b = GraphBuilder()
    quant = quant or (Quantization((0.1,), (3,)) if dtype == "int8" else None)
    indices = [b.input(i, dtype, quant) if isinstance(i, tuple) else b.const(i, "int32") for i in inputs]
    outs = [b.tensor(shape, dtype, quant) for shape in out]
    b.op(name, indices, outs, options or f"{name.title().replace('_', '')}Options", **values)
    return b.build()


#: Operators at the limits of what is supported. Each name states the case that it covers.
CORNERS = {
    "pad_nothing": single_op("PAD", [(2, 3), [[0, 0], [0, 0]]], [(2, 3)]),
    "pad_five_dimensions": single_op(
        "PAD", [(1, 2, 1, 2, 3), [[1, 0], [0, 1], [1, 1], [0, 0], [2, 1]]], [(2, 3, 3, 2, 6)]
    ),
    "mirror_whole_dimension": single_op("MIRROR_PAD", [(2, 3), [[2, 2], [3, 3]]], [(6, 9)], mode=1),
    "reflect_all_but_one": single_op("MIRROR_PAD", [(2, 3), [[1, 1], [2, 2]]], [(4, 7)], mode=0),
    "transpose_six_dimensions": single_op(
        "TRANSPOSE", [(2, 3, 1, 2, 2, 3), [5, 3, 1, 0, 2, 4]], [(3, 2, 3, 2, 1, 2)]
    ),
    "transpose_of_ones": single_op("TRANSPOSE", [(1, 4, 1, 3), [2, 1, 0, 3]], [(1, 4, 1, 3)]),
    "concatenate_one": single_op("CONCATENATION", [(2, 3)], [(2, 3)], axis=1),
    "slice_from_a_middle": single_op("SLICE", [(4, 4), [1, 2], [2, -1]], [(2, 2)]),
    "slice_nothing": single_op("SLICE", [(4, 4), [1, 4], [2, 0]], [(2, 0)]),
    "stride_backwards_over_all": single_op(
        "STRIDED_SLICE", [(5, 3), [0, 0], [0, 0], [-1, -2]], [(5, 2)], begin_mask=3, end_mask=3
    ),
    "stride_one_element": single_op(
        "STRIDED_SLICE", [(5, 3), [-2, 1], [0, 0], [1, 1]], [()], shrink_axis_mask=3
    ),
    "stride_ellipsis_wins": single_op(
        "STRIDED_SLICE",
        [(2, 3, 4), [0, 1], [0, 3], [1, 2]],
        [(2, 3, 1)],
        ellipsis_mask=1,
        new_axis_mask=1,
    ),
    "stride_new_axis_wins": single_op(
        "STRIDED_SLICE", [(2, 3), [1, 0], [2, 2], [1, 1]], [(1, 2, 3)], new_axis_mask=1, shrink_axis_mask=1
    ),
    "stride_offset": single_op("STRIDED_SLICE", [(6,), [2], [3], [1]], [(3,)], offset=True),
    "tile_four_dimensions": single_op("TILE", [(2, 3, 2, 3), [2, 3, 2, 2]], [(4, 9, 4, 6)]),
    "broadcast_scalar": single_op("BROADCAST_TO", [(), [3, 4]], [(3, 4)], version=3),
    "reverse_all": single_op("REVERSE_V2", [(2, 3, 2), [0, 1, 2]], [(2, 3, 2)], "ReverseV2Options"),
    "batch_padded_phases": single_op(
        "SPACE_TO_BATCH_ND",
        [(2, 4, 5, 1), [3, 2], [[1, 1], [2, 1]]],
        [(12, 2, 4, 1)],
        "SpaceToBatchNDOptions",
    ),
    "space_cropped_phases": single_op(
        "BATCH_TO_SPACE_ND",
        [(12, 2, 4, 1), [3, 2], [[1, 2], [3, 1]]],
        [(2, 3, 4, 1)],
        "BatchToSpaceNDOptions",
    ),
}


def test_unusual_operators_are_exact() -> None:
    mismatches = compare(list(CORNERS.values()))
    names = list(CORNERS)
    assert not mismatches, [f"{names[m.case]}: {m}" for m in mismatches]


def calls(model: Model) -> list[str]:
    """Return the kernels that the generated code of the model calls."""
    return [layer.call.kernel for layer in lower(model).calls if layer.call is not None]


def test_an_operator_that_moves_nothing_shares_its_input() -> None:
    """Its input and output can have one address, so it needs no code."""
    for name in ("pad_nothing", "transpose_of_ones", "concatenate_one"):
        graph = CORNERS[name].main
        assert LOWERINGS[graph.ops[0].name].alias(graph, graph.ops[0]) == ((0, 0),), name
    sliced = CORNERS["slice_from_a_middle"].main
    assert LOWERINGS["SLICE"].alias(sliced, sliced.ops[0]) == ()


def test_a_slice_may_overwrite_its_input_but_a_reverse_may_not() -> None:
    for name, safe in {
        "slice_from_a_middle": True,
        "stride_backwards_over_all": False,
        "transpose_six_dimensions": False,
        "tile_four_dimensions": False,
        "stride_offset": True,
    }.items():
        graph = CORNERS[name].main
        pairs = LOWERINGS[graph.ops[0].name].in_place(graph, graph.ops[0])
        assert pairs == (((0, 0),) if safe else ()), name


def test_contiguous_moves_are_plain_copies() -> None:
    b = GraphBuilder()
    x = b.input((4, 6), "int8", b.quant())
    outs = [b.tensor((2, 6), "int8", b[x].quant) for _ in range(2)]
    b.op("SPLIT", [b.const(0, "int32"), x], outs, "SplitOptions", num_splits=2)
    (layer,) = lower(b.build()).calls
    assert layer.call is not None
    rows = layer.call.fields["pieces"].items
    assert [r["run"] for r in rows] == [12, 12]


@settings(max_examples=example_count(200), deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_moves_marked_in_order_never_overwrite_bytes_before_reading_them(
    shape: list[int], random: Any
) -> None:
    """If ``in_order`` is true, copying byte by byte within one buffer gives the same result as between two buffers."""
    image = np.empty(shape, "V1")
    cut = tuple(slice(random.randint(0, d - 1), None, random.choice([1, 1, 2, 3])) for d in shape)
    axes = list(range(len(shape)))
    if random.random() < 0.3:
        random.shuffle(axes)
    source = image[cut].transpose(axes)
    p = view_copy(source, np.empty(source.shape, "V1"))
    assert p is not None
    before = np.arange(image.size)
    shared, separate = before.copy(), np.zeros(source.size, int)
    for index in np.ndindex(*(n for n, _, _ in reversed(p.dims))):
        steps = list(zip(index, reversed(p.dims), strict=True))
        at_in = p.in_offset + sum(i * d[1] for i, d in steps)
        at_out = p.out_offset + sum(i * d[2] for i, d in steps)
        for k in range(p.run):
            separate[at_out + k] = before[at_in + k]
            shared[at_out + k] = shared[at_in + k]
    assert np.array_equal(separate, np.arange(image.size).reshape(shape)[cut].transpose(axes).reshape(-1))
    if p.in_order:
        assert np.array_equal(shared[: source.size], separate)


def test_rows_moved_to_lower_addresses_are_in_order() -> None:
    image = np.empty((4, 3), "V1")
    down, up = view_copy(image[1:], np.empty((3, 3), "V1")), view_copy(image[::-1], np.empty((4, 3), "V1"))
    assert down is not None and down.in_order and up is not None and not up.in_order


def break_quant(model: Model, tensor: int) -> Model:
    """Return the model with a tensor whose quantization differs from that of the others."""
    tensors = list(model.main.tensors)
    tensors[tensor] = replace(tensors[tensor], quant=Quantization((0.2,), (3,)))
    return replace(model, subgraphs=(replace(model.main, tensors=tuple(tensors)),))


def with_input(model: Model, position: int) -> Model:
    """Return the model with the constant at ``position`` replaced by a graph input."""
    index = model.main.ops[0].inputs[position]
    tensors = list(model.main.tensors)
    tensors[index] = replace(tensors[index], data=None)
    main = replace(model.main, tensors=tuple(tensors), inputs=(*model.main.inputs, index))
    return replace(model, subgraphs=(main,))


#: Maps the name of a case to (model, a part of the error message).
REFUSED = {
    "type": (single_op("SPLIT", [0, (4,)], [(2,), (2,)], dtype="bool", num_splits=2), "bool"),
    "computed paddings": (with_input(CORNERS["pad_nothing"], 1), "must be constant"),
    "computed permutation": (with_input(CORNERS["transpose_of_ones"], 1), "must be constant"),
    "computed begin": (with_input(CORNERS["slice_from_a_middle"], 1), "must be constant"),
    "computed strides": (with_input(CORNERS["stride_offset"], 3), "must be constant"),
    "computed multiples": (with_input(CORNERS["tile_four_dimensions"], 1), "must be constant"),
    "computed block": (with_input(CORNERS["batch_padded_phases"], 1), "must be constant"),
    "wrong output": (single_op("TRANSPOSE", [(2, 3), [1, 0]], [(2, 3)]), "shapes do not fit"),
    "wrong permutation": (single_op("TRANSPOSE", [(2, 3), [0, 0]], [(2, 2)]), "shapes do not fit"),
    "negative padding": (single_op("PAD", [(2, 3), [[0, 0], [-1, 0]]], [(2, 2)]), "paddings"),
    "too much mirror": (single_op("MIRROR_PAD", [(2, 3), [[0, 0], [3, 0]]], [(2, 6)], mode=0), "mirror more"),
    "slice outside": (single_op("SLICE", [(4,), [3], [2]], [(2,)]), "reach beyond a dimension"),
    "stride 0": (single_op("STRIDED_SLICE", [(4,), [0], [4], [0]], [(4,)]), "stride is 0"),
    "index outside": (
        single_op("STRIDED_SLICE", [(4,), [4], [5], [1]], [()], shrink_axis_mask=1),
        "is outside of a dimension",
    ),
    "two ellipses": (
        single_op("STRIDED_SLICE", [(4, 4), [0, 0], [4, 4], [1, 1]], [(4, 4)], ellipsis_mask=3),
        "two",
    ),
    "split sizes": (
        single_op("SPLIT_V", [(4,), [1, 2], 0], [(1,), (2,)], "SplitVOptions", num_splits=2),
        "do not add up to",
    ),
    "split axis": (single_op("SPLIT", [1, (4,)], [(2,), (2,)], num_splits=2), "axis 1"),
    "huge block": (
        single_op(
            "BATCH_TO_SPACE_ND",
            [(8192, 1, 1, 1), [8192, 1], [[0, 0], [0, 0]]],
            [(1, 8192, 1, 1)],
            "BatchToSpaceNDOptions",
        ),
        "out of range",
    ),
    "uneven blocks": (
        single_op("SPACE_TO_DEPTH", [(1, 3, 2, 1)], [(1, 1, 1, 4)], block_size=2),
        "shapes do not fit",
    ),
    "concatenated scales": (
        break_quant(single_op("CONCATENATION", [(2,), (2,)], [(4,)], axis=0), 1),
        "differ",
    ),
    "packed scales": (break_quant(single_op("PACK", [(2,), (2,)], [(2, 2)], values_count=2), 2), "differ"),
    "fused activation": (
        single_op("CONCATENATION", [(2,), (2,)], [(4,)], axis=0, fused_activation_function=1),
        "fused",
    ),
    "reshape to another size": (single_op("RESHAPE", [(2, 3), [2, 2]], [(2, 2)]), "does not hold"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_error_of_an_unsupported_operator_gives_the_reason(name: str) -> None:
    model, message = REFUSED[name]
    with pytest.raises(UnsupportedModelError, match=message) as caught:
        check_op(model.main, model.main.ops[0])
    assert caught.value.problem.startswith(f"operator 0 {model.main.ops[0].name}") and caught.value.hint


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("op", ["PAD", "SPACE_TO_BATCH_ND"])
def test_padding_of_quantized_tensors_of_every_type_is_exact(op: str, dtype: str) -> None:
    """LiteRT pads int32 and int64 with 0 even if the file gives them a zero point."""
    quant = Quantization((0.5,), (0 if dtype == "int16" else 17,))
    b = GraphBuilder()
    x = b.input((1, 3, 3, 2), dtype, quant)
    if op == "PAD":
        y = b.tensor((2, 4, 3, 2), dtype, quant)
        b.op("PAD", [x, b.const([[1, 0], [0, 1], [0, 0], [0, 0]], "int32")], [y], "PadOptions")
    else:
        y = b.tensor((4, 2, 2, 2), dtype, quant)
        pads = b.const([[0, 1], [1, 0]], "int32")
        b.op("SPACE_TO_BATCH_ND", [x, b.const([2, 2], "int32"), pads], [y], "SpaceToBatchNDOptions")
    assert not compare([b.build()])


def test_more_outputs_than_the_firmware_supports_are_refused() -> None:
    b = GraphBuilder()
    x = b.input((256,), "int8", b.quant())
    outputs = [b.tensor((), "int8", b[x].quant) for _ in range(256)]
    b.op("UNPACK", [x], outputs, "UnpackOptions", num=256, axis=0)
    with pytest.raises(UnsupportedModelError, match="256 outputs, but the limit is 255"):
        lower(b.build())
