"""Tests of the cycles, instruction classes, kernels and ratios to a baseline that ``arenite bench`` reports."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from arenite.firmware.boards.cores import core_named, cpi_of
from arenite.host.bench.layer_rows import tier_of
from arenite.profiles.boards import load_board
from tests.host.cli.conftest import Arenite

BOARD = "qemu_mps2_an386"
CORES = (BOARD, "qemu_mps2_m0", "qemu_mps2_an385", "qemu_mps3_an547", "qemu_riscv32", "qemu_xtensa_lx106")

pytestmark = pytest.mark.qemu


@pytest.mark.slow
@pytest.mark.parametrize("name", CORES)
def test_the_classes_add_up_to_the_inference(name: str, arenite: Arenite, model: Path) -> None:
    board = load_board(name)
    assert board.emulator is not None
    tools = (f"{core_named(board.core).prefix}gcc", f"qemu-system-{board.emulator.system}", "gcc")
    if not all(map(shutil.which, tools)):
        pytest.skip(f"no compiler or no emulator for {board.core}: see `arenite doctor`")
    result = arenite("bench", model, "--board", name, "--samples", "1", "--cycles", "--json").json
    classes = [row for row in result["classes"] if "class" in row]
    layers, cycles = result["layers"], result["inference"]["cycles"]
    with_code = sum(layer["kernel"] is not None for layer in layers)
    counted, timed = sum(row["count"] for row in classes), result["inference"]["instructions"]["p50"]
    # The timer also counts the instructions that call the layers, at most 60 per layer.
    assert 0 <= timed - counted <= 60 * with_code
    assert sum(row["cycles"] for row in result["classes"]) == pytest.approx(
        cycles["p50"], abs=len(classes) + 6
    )
    assert sum(layer["cycles"] for layer in layers) == pytest.approx(cycles["p50"], abs=len(layers))
    assert cycles["kind"] == "estimated" and cycles["source"]
    assert 0.3 < cycles["p50"] / counted < 3
    for layer in layers:
        assert (layer["kernel"] is None) == (layer["tier"] is None) == (layer["cycles"] == 0)
    assert all(row["kind"] in ("estimated", "assumed") and row["source"] for row in result["classes"])


@pytest.mark.slow
def test_without_a_profile_a_rule_of_thumb_is_used(arenite: Arenite, model: Path) -> None:
    result = arenite("bench", model, "--board", BOARD, "--samples", "1", "--no-cycles", "--json").json
    inference = result["inference"]
    assert inference["cycles"]["p50"] == round(inference["instructions"]["p50"] * cpi_of("cortex-m4f"))
    assert inference["cycles"]["source"].startswith("rule of thumb: 1.53 cycles per instruction")
    assert result["classes"] is None and result["notes"] == []
    assert {layer["cycles"] for layer in result["layers"]} == {None}


@pytest.mark.slow
def test_without_a_compiler_for_this_computer_cycles_are_a_rule_of_thumb(
    arenite: Arenite, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path))
    command = ("bench", model, "--board", BOARD, "--samples", "1")
    run = arenite(*command, "--json")
    assert run.code == 0 and run.json["inference"]["cycles"]["source"].startswith("rule of thumb")
    (note,) = run.json["notes"]
    assert (
        note.startswith("Cycles are estimated by a rule of thumb: No C compiler")
        and "apt install gcc" in note
    )
    text_run = arenite(*command)
    assert text_run.code == 0 and "apt install gcc" in " ".join(text_run.err.split())
    arenite(*command, "--cycles", "--json").refused(3, "No C compiler", "apt install gcc")


@pytest.mark.slow
def test_the_text_output_has_kernels_cycles_and_ratios(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    command = ("bench", model, "--board", BOARD, "--samples", "1")
    earlier = arenite(*command, "--json").out
    (tmp_path / "earlier.json").write_text(earlier)
    run = arenite(*command, "--compare", tmp_path / "earlier.json")
    assert run.code == 0
    for text in (
        "est. cycles",
        "kernel",
        "tier",
        "Classes of instructions",
        "(taken branch)",
        "Comparison with arenite",
    ):
        assert text in run.out
    compared = arenite(*command, "--compare", tmp_path / "earlier.json", "--json").json["compare"]
    assert {figure["ratio"] for name, figure in compared["figures"].items()} == {1.0}
    assert compared["note"] is None


def test_a_baseline_is_read_before_anything_is_built(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    command = ("bench", model, "--board", BOARD, "--compare", path, "--keep", tmp_path / "kept")
    arenite(*command).refused(2, "Cannot read")
    path.write_text("[]")
    arenite(*command).refused(2, "is not a baseline")
    path.write_text(json.dumps({"records": [{"engine": "e", "core": "cortex-m0", "model": "m"}]}))
    arenite(*command).refused(2, "no record of small on cortex-m4f", "m on cortex-m0")
    assert not (tmp_path / "kept").exists()


def test_the_tier_is_read_from_the_kernel_name() -> None:
    names = ("ar_conv_2d_s8", "ar_conv_2d_s8_dsp", "ar_add_s8_mve", "ar_conv_2d_s8_dsp_rows", "ar_dspace_s8")
    assert [tier_of(name) for name in names] == ["scalar", "dsp", "mve", "dsp", "scalar"]


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--optimise", "ram"), ("--optimise", "ram", "--stream-input")])
def test_instructions_of_layers_that_run_row_by_row_are_counted_for_their_layer(
    options: tuple[str, ...], arenite: Arenite, large: Path
) -> None:
    """Each layer has plausible cycles per instruction, also if it runs row by row."""
    result = arenite("bench", large, "--board", BOARD, "--samples", "1", "--cycles", "--json", *options).json
    assert result["samples"]["bit_exact"] == 1
    layers = [layer for layer in result["layers"] if layer["kernel"]]
    assert any(layer["kernel"].endswith("_row") for layer in layers)
    for layer in layers:
        assert 0.9 < layer["cycles"] / layer["instructions"] < 3, layer
