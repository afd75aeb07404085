"""The names and numbers of operators, types and options tables in the TFLite schema, from LiteRT's generated schema
module."""

from __future__ import annotations

import re
from typing import Any

from ai_edge_litert import schema_py_generated as schema

OP_NAMES: dict[int, str] = {v: k for k, v in vars(schema.BuiltinOperator).items() if isinstance(v, int)}
OP_CODES: dict[str, int] = {k: v for v, k in OP_NAMES.items()}
TYPE_NAMES: dict[int, str] = {v: k.lower() for k, v in vars(schema.TensorType).items() if isinstance(v, int)}
TYPE_CODES: dict[str, int] = {k: v for v, k in TYPE_NAMES.items()}
OPTION_NAMES: dict[int, str] = {v: k for k, v in vars(schema.BuiltinOptions).items() if isinstance(v, int)}
OPTION_CODES: dict[str, int] = {k: v for v, k in OPTION_NAMES.items()}
OPTION2_NAMES: dict[int, str] = {v: k for k, v in vars(schema.BuiltinOptions2).items() if isinstance(v, int)}
OPTION2_CODES: dict[str, int] = {k: v for v, k in OPTION2_NAMES.items()}


def snake(name: str) -> str:
    """Convert a name to snake_case: ``dilationWFactor`` to ``dilation_w_factor``, ``newHeight`` to ``new_height``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def options_object(options_type: str) -> Any:
    """Return a new, empty options table of the type ``options_type``, as an object of the generated schema module."""
    return getattr(schema, options_type + "T")()
