"""The schema tables agree with the installed LiteRT package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ai_edge_litert import schema_py_generated as schema

from arenite.converters.tflite.schema_names import snake
from arenite.converters.tflite.schema_tables import ENUMS, UNIONS
from arenite.converters.tflite.verifier import _DEFAULTS, _FIELDS

_SOURCE = Path(schema.__file__).read_text()
#: The struct format of each type name in LiteRT's builder functions.
_STORAGE = {
    "Bool": "?", "Int8": "b", "Uint8": "B", "Int16": "h", "Uint16": "H", "Int32": "i", "Uint32": "I",
    "Int64": "q", "Uint64": "Q", "Float32": "f", "Float64": "d",
}  # fmt: skip


def _slots(table: str) -> dict[int, tuple[str, str, str]]:
    """Return (field name, builder's type name, default) by slot number (the position of a field in its table), from
    LiteRT's generated builder functions."""
    matches = re.findall(
        rf"^def {table}Add(\w+)\(builder, \w+\):\n\s+builder\.Prepend(\w+?)Slot\((\d+), (.*)\)$",
        _SOURCE,
        re.M,
    )
    return {int(n): (snake(name), kind, rest.split(",")[-1].strip()) for name, kind, n, rest in matches}


@pytest.mark.parametrize("table", sorted(_FIELDS))
def test_fields_match_litert(table: str) -> None:
    litert = _slots(table)
    arenite_fields = {i: f for i, f in enumerate(_FIELDS[table]) if f is not None}
    assert sorted(litert) == sorted(arenite_fields), f"{table}: slots differ"
    for slot, (name, kind, default) in litert.items():
        field = arenite_fields[slot]
        # Generated names have no underscores around abbreviations (dilation_w_factor, num_dims), so ignore underscores.
        assert field.name.replace("_", "") == name.replace("_", ""), (table, slot)
        if kind == "UOffsetTRelative":
            assert field.width == 4
        else:
            code = field.code.format.lstrip("<")  # type: ignore[union-attr]
            assert code == _STORAGE[kind], (table, field.name)
            assert float(_DEFAULTS[table][field.name]) == float(
                {"True": 1, "False": 0}.get(default, default)
            ), (table, field.name)


def test_the_schema_tables_contain_every_table_of_litert() -> None:
    litert = set(re.findall(r"^class (\w+)T\(object\)", _SOURCE, re.M))
    assert litert <= set(_FIELDS)


@pytest.mark.parametrize("name", sorted(UNIONS))
def test_union_members_match_litert(name: str) -> None:
    litert = {v: k for k, v in vars(getattr(schema, name)).items() if isinstance(v, int) and v}
    assert {i + 1: n for i, n in enumerate(UNIONS[name])} == litert


@pytest.mark.parametrize("name", sorted(ENUMS))
def test_enumerations_match_litert(name: str) -> None:
    values = sorted(v for v in vars(getattr(schema, name)).values() if isinstance(v, int))
    assert values == list(range(ENUMS[name][1]))
