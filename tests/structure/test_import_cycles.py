"""Tests that there are no import cycles of Python modules and no include cycles of C units."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.structure.import_cycles import c_includes, import_cycles, python_imports


def test_a_cycle_is_found() -> None:
    assert import_cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


@pytest.mark.slow  # `make lint` finds cycles too
def test_python_modules_have_no_import_cycles() -> None:
    imports = python_imports()
    assert len(imports) > 500
    # A known import, so that an empty graph does not pass.
    assert "arenite/errors.py" in imports["firmware/boards/cores.py"]
    assert import_cycles(imports) == []


def test_c_units_have_no_include_cycles() -> None:
    includes = c_includes()
    assert len(includes) > 150
    assert any(Path(unit).name == "fixed_point" for unit in includes["firmware/engine/pool/max_pool_2d_body"])
    assert import_cycles(includes) == []
