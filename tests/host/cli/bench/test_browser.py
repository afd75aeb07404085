"""Tests of ``arenite bench`` in browsers."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import ToolError
from arenite.host.web.browser_bench.browsers import BROWSERS, browser_command
from arenite.host.web.browser_bench.peers import TFJS_TFLITE, runtime_files
from tests.host.cli.conftest import Arenite

pytest.importorskip("ziglang", reason="needs ziglang")
pytest.importorskip("h11", reason="needs h11")
pytestmark = [pytest.mark.slow, pytest.mark.browser]


def needs_browser(name: str) -> None:
    try:
        browser_command(BROWSERS[name])
    except ToolError as error:
        pytest.skip(error.problem)


@pytest.mark.parametrize("browser", [*BROWSERS])
def test_both_modules_are_bit_exact(arenite: Arenite, model: Path, browser: str) -> None:
    needs_browser(browser)
    result = arenite("bench", model, "--board", browser, "--samples", 12, "--json")
    assert result.code == 0, result.err
    assert result.json["schema"] == "arenite.bench-browser/1" and result.json["board"] == browser
    assert [m["core"] for m in result.json["modules"]] == ["wasm32-simd", "wasm32"]
    assert "peers" not in result.json
    for module in result.json["modules"]:
        assert module["bit_exact"] == 12 and module["max_abs_diff"] == 0
        assert module["time_us"]["p50"] >= module["time_us"]["min"] > 0 and module["load_ms"]["value"] > 0


def test_another_runtime_is_measured_in_the_same_page(arenite: Arenite, model: Path) -> None:
    needs_browser("chromium")
    try:
        runtime_files(TFJS_TFLITE, progress=False)
    except ToolError as error:
        pytest.skip(error.problem)
    options = ("--board", "chromium", "--samples", 12, "--peer", "tfjs-tflite")
    result = arenite("bench", model, *options, "--json")
    assert result.code == 0, result.err
    (peer,) = result.json["peers"]
    assert (peer["name"], peer["version"], peer["error"]) == (
        "tfjs-tflite",
        TFJS_TFLITE.package.version,
        None,
    )
    # XNNPACK rounds its requantization in another way than LiteRT's reference kernels.
    assert peer["edges"] == "own" and peer["max_abs_diff"] <= 2 and peer["bit_exact"] <= 12
    assert peer["time_us"]["p50"] >= peer["time_us"]["min"] > 0 and peer["load_ms"]["value"] > 0
    ratio = result.json["ratio"]
    own = result.json["modules"][0]["time_us"]["min"]
    assert ratio["peer"] == "tfjs-tflite" and ratio["p50"] > 0
    assert ratio["min"] == pytest.approx(own / peer["time_us"]["min"], rel=0.05)


def test_other_runtimes_need_a_browser(arenite: Arenite, model: Path) -> None:
    for board in ("qemu_mps2_an386", "wasm"):
        refused = arenite("bench", model, "--board", board, "--peer", "litert")
        refused.refused(2, "--peer is for")


def test_options_of_boards_are_refused(arenite: Arenite, model: Path) -> None:
    arenite("bench", model, "--board", "chromium", "--port", "auto").refused(2, "--port is for boards")


def test_a_missing_browser_is_named(arenite: Arenite, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    arenite("bench", model, "--board", "firefox").refused(3, "The browser firefox is not installed")
