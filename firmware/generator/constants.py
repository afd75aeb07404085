"""Name the constant arrays of a generated model, and write them as C."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from arenite.firmware.generator.lower.core.lowering import Expr

C_TYPES = {
    "int8": "int8_t",
    "uint8": "uint8_t",
    "bool": "uint8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "uint32": "uint32_t",
    "int64": "int64_t",
    "uint64": "uint64_t",
    "float32": "uint32_t",  # the bit pattern: it is exact and does not depend on the compiler's parsing of floats
}

#: The number of values per line of C text, by the number of bytes of a value.
_PER_LINE = {1: 24, 2: 16, 4: 8, 8: 4}


@dataclass(frozen=True)
class Constant:
    """A constant array.

    Attributes:
        symbol: its name in C, without the model's prefix.
        values: the values as stored in C, one dimension.
        is_weight: True for weights and biases; False for a table, which counts as code.
        comment: the comment above its definition.
        table_bytes: the bytes of tables between or behind the weights. They count as code.
    """

    symbol: str
    values: np.ndarray
    is_weight: bool
    comment: str
    table_bytes: int = 0

    @property
    def nbytes(self) -> int:
        return self.values.nbytes

    @property
    def weight_bytes(self) -> int:
        """The bytes of weights and biases."""
        return self.nbytes - self.table_bytes if self.is_weight else 0

    @property
    def c_type(self) -> str:
        return C_TYPES[self.values.dtype.name]


@dataclass
class ConstantPool:
    """Constants in order of first use. Equal arrays are stored once if both are weights or both are tables."""

    constants: list[Constant] = field(default_factory=list)
    _symbols: dict[tuple[str, bytes, bool], str] = field(default_factory=dict)

    def add(
        self, values: np.ndarray, layer: int, hint: str, comment: str, is_weight: bool, table_bytes: int = 0
    ) -> Expr:
        """Store ``values`` unless the pool has an equal array. Return the array's symbol.

        The symbol begins with ``model`` for weights and with ``layer`` for tables. Then come ``layer``, the number of
        the layer that uses the array first, and ``hint``.
        """
        stored = np.ascontiguousarray(values).reshape(-1)
        if stored.dtype == np.float32:
            stored = stored.view(np.uint32)
        elif stored.dtype == np.bool_:
            stored = stored.view(np.uint8)
        key = (stored.dtype.name, stored.tobytes(), is_weight)
        if key not in self._symbols:
            symbol = re.sub(r"\W", "_", f"{'model' if is_weight else 'layer'}{layer}_{hint}")
            taken = {c.symbol for c in self.constants}
            if symbol in taken:
                symbol = next(s for n in range(2, 10_000) if (s := f"{symbol}_{n}") not in taken)
            self._symbols[key] = symbol
            self.constants.append(Constant(symbol, stored, is_weight, comment, table_bytes))
        return Expr(self._symbols[key])


def c_array(constant: Constant, prefix: str) -> str:
    """Return the C definition of one array. Weights and tables have sections with different names, so that the linker
    script can separate them."""
    kind = "ar_weights" if constant.is_weight else "ar_tables"
    name = prefix + constant.symbol
    # The smallest integer of a type has no literal of that type in C.
    texts = [_literal(v, constant.values.dtype) for v in constant.values.tolist()]
    per_line = _PER_LINE[constant.values.itemsize]
    lines = ["    " + ", ".join(texts[i : i + per_line]) + "," for i in range(0, len(texts), per_line)]
    body = "\n".join(lines)
    return (
        f"/* {constant.comment} */\n"
        f'const {constant.c_type} {name}[{len(texts)}] AR_SECTION("{kind}.{name}") = {{\n{body}\n}};\n'
    )


def _literal(value: int, dtype: np.dtype) -> str:
    """Return ``value`` as a C literal that suits the C type of ``dtype``."""
    if dtype == np.int32 and value == -(2**31):
        return "INT32_MIN"
    if dtype == np.int64:
        return "INT64_MIN" if value == -(2**63) else f"INT64_C({value})"
    if dtype == np.uint32:
        return f"{value:#x}u"
    if dtype == np.uint64:
        return f"UINT64_C({value})"
    return str(value)
