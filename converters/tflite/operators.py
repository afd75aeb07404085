"""Convert a decoded operator table to an ``Op``: its name, options and tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from arenite.converters.graph.model import Op
from arenite.converters.tflite.diagnostics import Repairs, malformed, op_at
from arenite.converters.tflite.external_data import ExternalData
from arenite.converters.tflite.operator_kinds import OPERATOR_KINDS, UNLIMITED, OperatorKind
from arenite.converters.tflite.schema_names import OP_NAMES
from arenite.converters.tflite.schema_tables import UNIONS
from arenite.converters.tflite.verifier import defaults_of
from arenite.counts import count_of

#: The value of ``deprecated_builtin_code`` that says that the operator is in the field ``builtin_code``.
_PLACEHOLDER = "PLACEHOLDER_FOR_GREATER_OP_CODES"

#: Option fields that must be positive, because LiteRT uses them as divisors or steps.
_POSITIVE = (
    "stride_w",
    "stride_h",
    "stride_d",
    "dilation_w_factor",
    "dilation_h_factor",
    "dilation_d_factor",
    "filter_width",
    "filter_height",
    "block_size",
    "num_splits",
)  # fmt: skip

#: The option that states the number of outputs, by operator. LiteRT crashes if the operator has another number.
_OUTPUT_COUNT = {"SPLIT": "num_splits", "SPLIT_V": "num_splits", "UNPACK": "num"}


def operator_names(codes: list[dict[str, Any]], repairs: Repairs) -> list[str]:
    """Return the operator name of each entry of ``Model.operator_codes``.

    Files older than schema 3a have the operator's number only in the one-byte field ``deprecated_builtin_code``. Newer
    files have it in this field and in ``builtin_code``; the one-byte field is 127 if the number does not fit. So the
    larger of the two numbers is valid.
    """
    names = []
    for i, code in enumerate(codes):
        old, new = code["deprecated_builtin_code"], code["builtin_code"]
        name = OP_NAMES.get(max(old, new), _PLACEHOLDER)
        if name == _PLACEHOLDER:
            raise malformed(
                f"Operator code {i}",
                "builtin_code",
                f"{max(old, new)} is not a known operator",
                "The model may need a newer LiteRT package: upgrade ai-edge-litert.",
            )
        if new < old:
            repairs.add(
                "code",
                name,
                lambda n, first: (
                    f"{count_of(n, 'operator code')} (first: {first}) was only in deprecated_builtin_code; "
                    "builtin_code is set as well."
                ),
            )
        if name == "CUSTOM" and not code["custom_code"]:
            raise malformed(f"Operator code {i}", "custom_code", "a CUSTOM operator has no name")
        names.append(name)
    return names


def operator(
    subgraph: int,
    index: int,
    table: dict[str, Any],
    codes: list[dict[str, Any]],
    names: list[str],
    tensors: int,
    external_data: ExternalData,
) -> Op:
    """Return the ``Op`` for ``table``, the decoded table of operator ``index`` of a subgraph with ``tensors`` tensors.

    ``codes`` are the entries of ``Model.operator_codes`` and ``names`` their operator names. ``external_data`` reads
    custom options that are stored after the flatbuffer. Raises ``ModelError`` for wrong indices, options and numbers
    of inputs and outputs.
    """
    number = table["opcode_index"]
    if number >= len(codes):
        raise malformed(
            f"Subgraph {subgraph}, operator {index}",
            "opcode_index",
            f"is {number}, but the model has {count_of(len(codes), 'operator code')}",
        )
    name = names[number]
    location = op_at(subgraph, index, name)
    inputs = _indices(location, "inputs", table["inputs"], tensors, optional=True)
    outputs = _indices(location, "outputs", table["outputs"], tensors, optional=False)
    options_type, options = _options(location, name, table)
    kind = OPERATOR_KINDS.get(name)
    if kind is not None:
        _check_arity(location, kind, inputs, outputs)
    if name in _OUTPUT_COUNT and options[_OUTPUT_COUNT[name]] != len(outputs):
        raise malformed(
            location,
            f"builtin_options.{_OUTPUT_COUNT[name]}",
            f"is {options[_OUTPUT_COUNT[name]]}, but the operator has {count_of(len(outputs), 'output')}",
        )
    return Op(
        index=index,
        name=name,
        inputs=inputs,
        outputs=outputs,
        options=options,
        options_type=options_type,
        version=codes[number]["version"],
        custom_code=codes[number]["custom_code"] or "",
        custom_options=_custom_options(location, table, external_data),
        intermediates=_indices(location, "intermediates", table["intermediates"], tensors, optional=False),
    )


def _indices(
    location: str, field: str, values: tuple[int, ...] | None, tensors: int, *, optional: bool
) -> tuple[int, ...]:
    """Return the tensor indices ``values`` after checking them. With ``optional``, -1 (absent) is allowed."""
    low = -1 if optional else 0
    for position, value in enumerate(values or ()):
        if not low <= value < tensors:
            raise malformed(
                location,
                f"{field}[{position}]",
                f"is tensor {value}, but the subgraph has {count_of(tensors, 'tensor')}",
            )
    return values or ()


def _options(location: str, name: str, table: dict[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the name of the operator's options table ("" if it has none) and its options."""
    options_type, options, field = "", None, "builtin_options"
    for field, union in (("builtin_options2", "BuiltinOptions2"), ("builtin_options", "BuiltinOptions")):
        number = table[field + "_type"]
        if number and table[field] is not None:
            options_type, options = UNIONS[union][number - 1], table[field]
            break
    kind = OPERATOR_KINDS.get(name)
    if kind is not None and kind.options:
        if options is None:
            options_type, options = kind.options, defaults_of(kind.options)
        elif options_type != kind.options:
            raise malformed(location, field, f"holds {options_type}, expected {kind.options}")
    options = {k: bytes(v) if isinstance(v, memoryview) else v for k, v in (options or {}).items()}
    for key, value in options.items():
        _check_option(
            location, f"{field}.{key}", key, value, is_read_by_kernel=kind is not None and bool(kind.options)
        )
    return options_type, options


def _check_option(location: str, field: str, key: str, value: Any, *, is_read_by_kernel: bool) -> None:
    """Check that an option is finite, and that it is positive if it must be. ``is_read_by_kernel`` is true if the
    kernel reads the options table."""
    if isinstance(value, bytes):
        return
    for v in value if isinstance(value, tuple) else (value,):
        if isinstance(v, float) and not math.isfinite(v):
            raise malformed(location, field, f"is {v}, expected a finite number")
        if is_read_by_kernel and key in _POSITIVE and v < 1:
            raise malformed(location, field, f"is {value}, must be at least 1")


def _check_arity(
    location: str, kind: OperatorKind, inputs: tuple[int, ...], outputs: tuple[int, ...]
) -> None:
    """Check the numbers of inputs and outputs, and that no required input is absent."""
    low, high = kind.inputs
    if not low <= len(inputs) <= high:
        raise malformed(
            location,
            "inputs",
            f"has {count_of(len(inputs), 'tensor')}, expected {_describe_limits(low, high)}",
        )
    low, high = kind.outputs
    if not low <= len(outputs) <= high:
        raise malformed(
            location,
            "outputs",
            f"has {count_of(len(outputs), 'tensor')}, expected {_describe_limits(low, high)}",
        )
    for position, value in enumerate(inputs):
        if value < 0 and position not in kind.optional:
            raise malformed(location, f"inputs[{position}]", "is absent (-1), but the operator needs it")


def _describe_limits(low: int, high: int) -> str:
    if high == UNLIMITED:
        return f"at least {low}"
    return str(low) if low == high else f"{low} to {high}"


def _custom_options(location: str, table: dict[str, Any], external_data: ExternalData) -> bytes:
    if table["custom_options"] is not None:
        return bytes(table["custom_options"])
    offset, size = table["large_custom_options_offset"], table["large_custom_options_size"]
    return bytes(external_data.take(location, "large_custom_options", offset, size))
