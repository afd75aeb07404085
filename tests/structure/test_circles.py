"""Files form no circles: neither Python modules that import each other nor C units that include each other."""

from __future__ import annotations

from pathlib import Path

from tests.structure.circles import c_includes, circles, python_imports


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_python_files_form_no_circles() -> None:
    imports = python_imports()
    assert len(imports) > 500
    # A known import, so that an empty graph does not pass.
    assert "arenite/errors.py" in imports["firmware/boards/cores.py"]
    assert circles(imports) == []


def test_c_units_form_no_circles() -> None:
    includes = c_includes()
    assert len(includes) > 150
    assert any(Path(unit).name == "fixed_point" for unit in includes["firmware/engine/pool/max_pool_2d_body"])
    assert circles(includes) == []
