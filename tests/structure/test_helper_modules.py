"""Tests that no file imports a test module, because the import would run its set-up again. Shared code belongs into
helper modules."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def imported_test_modules(source: str) -> list[str]:
    """Return the names of the modules called ``test_...`` that this Python source imports."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    parts = (name.split(".") for name in names if name.startswith("tests."))
    return sorted(
        {".".join(part) for part in parts if part[-1].startswith("test_") or part[-2].startswith("test_")}
    )


def test_an_import_of_a_test_module_is_found() -> None:
    assert imported_test_modules("from tests.host.test_fit import run\nimport tests.toy_model") == [
        "tests.host.test_fit",
        "tests.host.test_fit.run",
    ]


def test_no_file_imports_a_test_module() -> None:
    imports = {
        str(path.relative_to(TESTS)): names
        for path in sorted(TESTS.rglob("*.py"))
        if (names := imported_test_modules(path.read_text("utf-8")))
    }
    assert imports == {}
