"""Find barriers in pages with axe-core."""

from __future__ import annotations

from typing import Any

import pytest

from arenite.errors import AreniteError
from arenite.models.npm_files import npm_file, npm_package
from tests.browser import Browser

AXE = npm_package(
    "axe-core",
    "4.14.1",
    "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745",
    708405,
    "MPL-2.0",
)


def axe_script() -> str:
    """Return the JavaScript of axe-core. The test is skipped if it cannot be fetched."""
    try:
        return npm_file(AXE, "package/axe.min.js").decode()
    except AreniteError as error:
        pytest.skip(error.problem)


def barriers(browser: Browser, axe: str) -> list[Any]:
    """Return the violations that axe-core finds, each as [rule, description, HTML of the elements]. The rules are
    those of WCAG 2.2, levels A and AA, and axe-core's best practices."""
    browser.value(f"{axe}; 0")
    violations: list[Any] = browser.value(
        "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"
        ".then((r) => r.violations.map((v) => [v.id, v.help, v.nodes.map((n) => n.html)]))"
    )
    return violations
