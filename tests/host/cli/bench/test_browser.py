"""Tests of ``arenite bench`` in browsers."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import ToolError
from arenite.host.web.browser_bench.browsers import BROWSERS, browser_command
from tests.host.cli.conftest import Arenite

pytest.importorskip("ziglang", reason="needs ziglang")
pytest.importorskip("h11", reason="needs h11")
pytestmark = [pytest.mark.slow, pytest.mark.browser]


@pytest.mark.parametrize("browser", [*BROWSERS])
def test_both_modules_are_bit_exact(arenite: Arenite, model: Path, browser: str) -> None:
    try:
        browser_command(BROWSERS[browser])
    except ToolError as error:
        pytest.skip(error.problem)
    result = arenite("bench", model, "--board", browser, "--samples", 12, "--json")
    assert result.code == 0, result.err
    assert result.json["schema"] == "arenite.bench-browser/1" and result.json["board"] == browser
    assert [m["core"] for m in result.json["modules"]] == ["wasm32-simd", "wasm32"]
    for module in result.json["modules"]:
        assert module["bit_exact"] == 12 and module["max_abs_diff"] == 0
        assert module["time_us"]["p50"] >= module["time_us"]["min"] > 0 and module["load_ms"]["value"] > 0


def test_options_of_boards_are_refused(arenite: Arenite, model: Path) -> None:
    arenite("bench", model, "--board", "chromium", "--port", "auto").refused(2, "--port is for boards")


def test_a_missing_browser_is_named(arenite: Arenite, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    arenite("bench", model, "--board", "firefox").refused(3, "The browser firefox is not installed")
