"""Tests of ``arenite pareto``: its JSON, files and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.host.cli.conftest import Arenite

BOARD = "qemu_mps2_an386"


def test_the_json_is_complete(arenite: Arenite, model: Path) -> None:
    run = arenite("pareto", model, "--board", BOARD, "--json")
    assert run.code == 0
    result = run.json
    assert result["schema"] == "arenite.pareto/1"
    assert result["board"] == {"name": BOARD, "core": "cortex-m4f"}
    assert len(result["model"]["sha256"]) == 64 and set(result["limits"]) == {"ram", "flash"}
    labels = [b["label"] for b in result["builds"]]
    assert labels[:4] == ["speed", "balanced", "ram", "flash"] and len(set(labels)) == len(labels)
    for build in result["builds"]:
        assert build["kind"] == "estimated" and build["bit_exact"] is None and build["fits"] is True
        assert build["dominated_by"] in (None, *labels)
        assert all(isinstance(build[key], int) for key in ("ram", "flash", "instructions"))


def test_the_options_of_a_build_are_valid_for_fit(arenite: Arenite, model: Path) -> None:
    """With the options that ``arenite pareto`` lists for a build, ``arenite fit`` reports the same bytes."""
    for build in arenite("pareto", model, "--board", BOARD, "--json").json["builds"]:
        if not build["stream_input"]:
            (verdict,) = arenite("fit", model, "--board", BOARD, *build["options"], "--json").json["boards"]
            assert (verdict["ram"]["needed"], verdict["flash"]["needed"]) == (build["ram"], build["flash"])


def test_the_svg_and_the_html_page_are_written(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    run = arenite(
        "pareto", model, "--board", BOARD, "--svg", tmp_path / "p.svg", "--html", tmp_path / "p.html"
    )
    assert run.code == 0 and "dominated by" in run.out
    drawing = (tmp_path / "p.svg").read_text()
    assert drawing.startswith("<svg ") and "ar-pareto" in drawing
    assert drawing.strip() in (tmp_path / "p.html").read_text()


def test_the_exit_code_is_1_if_nothing_fits(arenite: Arenite, large: Path) -> None:
    run = arenite("pareto", large, "--board", "nucleo_f030r8", "--json")
    fits = [b["fits"] for b in run.json["builds"]]
    assert run.code == (0 if any(fits) else 1) and not all(fits)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--board", BOARD, "--samples", "3"], "--samples has no effect without --measure"),
        (["--board", "nucleo_l4r5zi", "--measure"], "is a real board"),
        (["--board", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_raise_an_error(arenite: Arenite, model: Path, options: list[str], message: str) -> None:
    arenite("pareto", model, *options).refused(2, message)


@pytest.mark.slow
@pytest.mark.qemu
def test_measured_builds_are_bit_exact_and_within_their_prediction(
    arenite: Arenite, stateful: Path, tmp_path: Path
) -> None:
    run = arenite("pareto", stateful, "--board", BOARD, "--measure", "--samples", 1, "--json")
    predicted = arenite("pareto", stateful, "--board", BOARD, "--json").json["builds"]
    assert run.code == 0, run.err
    for measured, estimated in zip(run.json["builds"], predicted, strict=True):
        assert measured["kind"] == "measured" and measured["bit_exact"] is True
        assert measured["flash"] == estimated["flash"] and measured["ram"] <= estimated["ram"]
    assert json.loads(run.out)["builds"]
