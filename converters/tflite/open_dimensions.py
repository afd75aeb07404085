"""Fix the open dimensions of a decoded model. An open dimension has no fixed size; the file marks it with -1.

A file has open dimensions in ``shape_signature``, or, if an old converter wrote the file, in ``shape``. The inputs of
the main graph get the sizes that the user chose, and a batch of 1. The sizes of other tensors follow from the inputs.
``fold_constants`` computes them later; until then, their open dimensions have the size 1, as converters write them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arenite.converters.tflite.diagnostics import Repairs, tensor_at, unsupported
from arenite.counts import count_of
from arenite.errors import UsageError

#: The shapes of inputs by name. "" stands for the only input.
Shapes = Mapping[str, tuple[int, ...]]


def fix_dimensions(
    tables: Sequence[dict[str, Any]],
    inputs: Sequence[int],
    names: Mapping[int, str],
    shapes: Shapes,
    repairs: Repairs,
    *,
    keep_open: bool = False,
) -> list[dict[str, Any]]:
    """Return the tensor tables of the main graph without open dimensions.

    ``tables`` has the decoded table of each tensor, ``inputs`` the indices of the graph's inputs, ``names`` the names
    of inputs in the model's signature by index, and ``shapes`` the shapes that the user chose. With ``keep_open``, a
    dimension without a size becomes 1; such a model can only be used to find out what kind of model the file holds.
    Raises ``UsageError`` for a shape that fits no input, ``UnsupportedModelError`` for a dimension without a size.
    """
    fixed = list(tables)
    inputs = [i for i in dict.fromkeys(inputs) if 0 <= i < len(fixed)]
    sizes = _sizes_by_index(fixed, inputs, names, shapes)
    resized = False
    for index in inputs:
        table = fixed[index]
        open_shape = _open_shape(table)
        shape = sizes.get(index)
        if shape is None:
            if None not in open_shape:
                continue
            shape = _default_shape(index, table, open_shape, several=len(inputs) > 1, keep_open=keep_open)
            repairs.add("batch", tensor_at(0, index, table["name"] or ""), _batch_sentence)
        resized = resized or shape != tuple(table["shape"] or ())
        fixed[index] = {**table, "shape": shape, "shape_signature": None}
    for index, table in enumerate(fixed):
        open_shape = _open_shape(table)
        if index in inputs or None not in open_shape:
            continue
        stated = table["shape"]
        shape = tuple(
            1 if d is None and (resized or size < 0) else size
            for d, size in zip(open_shape, stated, strict=True)
        )
        repairs.add("batch", tensor_at(0, index, table["name"] or ""), _batch_sentence)
        fixed[index] = {**table, "shape": shape, "shape_signature": None}
    return fixed


def _batch_sentence(count: int, first: str) -> str:
    return f"The dynamic batch dimension of {count_of(count, 'tensor')} (first: {first}) is fixed at 1."


def _open_shape(table: dict[str, Any]) -> tuple[int | None, ...]:
    """Return the dimensions of a tensor, with None for each open dimension. A ``shape_signature`` that contradicts the
    shape is ignored here; ``tensors.py`` reports it."""
    shape: tuple[int, ...] = table["shape"] or ()
    signature: tuple[int, ...] = table["shape_signature"] or shape
    if len(signature) != len(shape) or any(
        s not in (-1, d) for s, d in zip(signature, shape, strict=True) if d != -1
    ):
        return shape
    return tuple(None if -1 in (s, d) else d for s, d in zip(signature, shape, strict=True))


def _default_shape(
    index: int, table: dict[str, Any], open_shape: tuple[int | None, ...], *, several: bool, keep_open: bool
) -> tuple[int, ...]:
    """Return the shape of an input for which the user chose no shape: an open batch becomes 1. Raises
    ``UnsupportedModelError`` for other open dimensions, unless ``keep_open``."""
    shape = (1 if open_shape[0] is None else open_shape[0], *open_shape[1:])
    if None in shape and not keep_open:
        field = "shape" if -1 in table["shape"] else "shape_signature"
        name = f"{table['name']}=" if several else ""
        template = ",".join("?" if d is None else str(d) for d in shape)
        raise unsupported(
            tensor_at(0, index, table["name"] or ""),
            field,
            f"{list(table[field])} has a dynamic dimension, but a microcontroller needs a fixed size",
            f"Convert it with a size: arenite convert --input-shape {name}{template}, with numbers for the question "
            "marks.",
        )
    return tuple(1 if d is None else d for d in shape)


def _sizes_by_index(
    tables: Sequence[dict[str, Any]], inputs: Sequence[int], names: Mapping[int, str], shapes: Shapes
) -> dict[int, tuple[int, ...]]:
    """Return {index of an input: the shape that the user chose for it}. Raises ``UsageError`` for a shape that does not
    fit."""
    sizes = {}
    for name, shape in shapes.items():
        index = _find_input(tables, inputs, names, name)
        open_shape = _open_shape(tables[index])
        fits = len(shape) == len(open_shape) and all(
            d in (None, size) for d, size in zip(open_shape, shape, strict=True)
        )
        if not fits:
            text = ", ".join("?" if d is None else str(d) for d in open_shape)
            raise UsageError(
                f"The shape {list(shape)} does not fit input '{tables[index]['name'] or ''}', which is [{text}].",
                "Give the same number of dimensions, with the fixed ones unchanged.",
            )
        sizes[index] = tuple(shape)
    return sizes


def _find_input(
    tables: Sequence[dict[str, Any]], inputs: Sequence[int], names: Mapping[int, str], name: str
) -> int:
    """Return the index of the input that is called ``name`` in the graph or in the signature. Raises ``UsageError`` if
    there is none."""
    if not name and len(inputs) == 1:
        return inputs[0]
    for index in inputs:
        if name and name in (tables[index]["name"], names.get(index)):
            return index
    known = ", ".join(names.get(i) or tables[i]["name"] or f"tensor {i}" for i in inputs)
    wrong = f"no input '{name}'" if name else f"{len(inputs)} inputs"
    raise UsageError(f"The model has {wrong}; its inputs are {known}.", "Write --input-shape NAME=...")
