"""``--json`` prints exactly one object on standard output, with every documented key and type."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.passes.constant_channel_models import dead_channel_model
from tests.converters.quantize import trained_models
from tests.host.cli.conftest import Arenite
from tests.host.cli.json_shapes import (
    BENCH,
    BOARD,
    BOARDS,
    CALIBRATED,
    CONVERT,
    FIRMWARE,
    FIT,
    INSPECT,
    SEARCH,
    ZOO,
    assert_shape,
)
from tests.host.small_graphs import classifier, save


@pytest.mark.parametrize(
    ("words", "shape"),
    [
        (("fit", "MODEL"), FIT),
        (("fit", "MODEL", "--all", "--optimise", "flash"), FIT),
        (("fit", "MODEL", "--board", BOARD), FIT),
        (("inspect", "MODEL"), INSPECT),
        (("convert", "MODEL", "-o", "OUT"), CONVERT),
        (("firmware", "MODEL", "--board", BOARD, "-o", "OUT"), FIRMWARE),
        (("boards",), BOARDS),
        (("zoo", "list"), ZOO),
        (("doctor",), {"schema": "arenite.doctor/1", "tools": ({"name": str, "use": str, "fix": str},)}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_every_documented_key_exists(
    words: tuple[str, ...], shape: dict[str, Any], arenite: Arenite, model: Path, tmp_path: Path
) -> None:
    run = arenite(*({"MODEL": model, "OUT": tmp_path / "out"}.get(a, a) for a in words), "--json")
    assert run.code in (0, 3) and (run.code == 0 or words == ("doctor",))
    assert_shape(run.json, shape)


@pytest.mark.qemu
def test_bench_has_every_key(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run = arenite("bench", model, "--board", BOARD, "--samples", "3", "--json", "--html", page)
    assert run.code == 0, run.err
    assert_shape(run.json, BENCH)
    assert page.read_text().startswith("<!doctype html>")
    memory, flash = run.json["memory"], run.json["flash"]
    ram_total = memory["arena"] + memory["stack"] + memory["static"]
    assert memory["ram_total"] == ram_total <= memory["predicted_ram_total"]
    assert flash["total"] == flash["weights"] + flash["code"]


def test_a_fit_of_several_models_is_one_object(arenite: Arenite, model: Path, stateful: Path) -> None:
    result = arenite("fit", model, stateful, "--board", BOARD, "--json").json
    assert result["schema"] == "arenite.fit/1"
    assert [Path(m["model"]["path"]).name for m in result["models"]] == ["small.tflite", "counter.tflite"]
    for model_fit in result["models"]:
        assert_shape(model_fit, FIT)


def test_estimates_are_marked(arenite: Arenite, model: Path) -> None:
    """Sizes on emulated boards are exact. On real boards they are estimates, because the framework is not counted."""
    boards = {b["name"]: b for b in arenite("boards", "--json").json["boards"]}
    for entry in arenite("fit", model, "--all", "--json").json["boards"]:
        exact = boards[entry["board"]]["emulated"]
        for memory in ("ram", "flash"):
            assert entry[memory].get("kind") == (None if exact else "estimated"), entry["board"]
        assert entry["energy_mj"]["kind"] in ("estimated", "assumed")
        ram = entry["ram"]
        assert ram["needed"] == ram["arena"] + ram["stack"] + ram["static"]
        assert ram["available"] == boards[entry["board"]]["ram"][0]["size"]
        too_large = ram["needed"] > ram["available"] or entry["flash"]["needed"] > entry["flash"]["available"]
        assert entry["fits"] is not too_large and bool(entry["reasons"]) == too_large


def test_the_emulated_boards_come_first(arenite: Arenite) -> None:
    names = [b["name"] for b in arenite("boards", "--json").json["boards"]]
    emulated = [n for n in names if n.startswith("qemu_")]
    assert names[: len(emulated)] == sorted(emulated) and len(emulated) == 11 and len(names) > 80


def test_the_image_keeps_its_plan_and_its_source(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    first = arenite("convert", model, "-o", tmp_path / "a.tflite", "--json")
    again = arenite("convert", tmp_path / "a.tflite", "-o", tmp_path / "b.tflite", "--json")
    assert first.json["arena"] == again.json["arena"] and again.code == 0
    plans = [arenite("inspect", tmp_path / n, "--json").json["plan"] for n in ("a.tflite", "b.tflite")]
    assert plans[0] == plans[1]
    assert (tmp_path / "a.tflite").stat().st_size == first.json["image"]["bytes"]


def test_passes_are_reported_and_can_be_left_out(arenite: Arenite, tmp_path: Path) -> None:
    source, page = tmp_path / "dead_channels.tflite", tmp_path / "page.html"
    source.write_bytes(to_flatbuffer(dead_channel_model([44, 1])))
    result = arenite("inspect", source, "--html", page, "--json").json
    (report,) = result["passes"]
    change = dict.fromkeys(("index", "channels", "channels_removed", "macs_before", "macs_after"), int)
    assert_shape(report, {"pass": "constant channels", "notes": list, "layers": ({"op": str, **change},)})
    assert sum(c["macs_before"] - c["macs_after"] for c in report["layers"]) == (
        result["macs"] - result["macs_after_passes"]
    )
    assert "Graph optimizations (exact)" in page.read_text()
    without_passes = arenite("inspect", source, "--no-passes", "--html", page, "--json").json
    assert (
        without_passes["passes"] == []
        and without_passes["macs"] == without_passes["macs_after_passes"] == result["macs"]
    )
    assert "Graph optimizations" not in page.read_text()
    sizes = [
        arenite("convert", source, "-o", tmp_path / "out.tflite", "--json", *flag).json["image"]["bytes"]
        for flag in ((), ("--no-passes",))
    ]
    assert sizes[0] < sizes[1]


def test_convert_of_a_float_model_has_calibration_score_and_fits(arenite: Arenite, tmp_path: Path) -> None:
    """Run convert with all its measurements. The search is tested only if optuna is installed."""
    (tmp_path / "trained.tflite").write_bytes(trained_models.classifier())
    x, y = trained_models.samples(120, 5)
    np.savez(tmp_path / "data.npz", x=x, y=y)
    words = ["convert", tmp_path / "trained.tflite", "--calibration", tmp_path / "data.npz", "--board", BOARD]
    words += ["--calibration-samples", 60, "-o", tmp_path / "out.tflite", "--json"]
    run = arenite(*words, "--sensitivity", "--check-data", tmp_path / "data.npz")
    assert run.code == 0, run.err
    assert_shape(run.json, CALIBRATED)
    pytest.importorskip("optuna", reason="needs optuna")
    searched = arenite(*words, "--budget", "flash=64k,drop=2%", "--trials", 2)
    assert searched.code == 0, searched.err
    assert_shape(searched.json["calibration"]["search"], SEARCH)
    missed = arenite(*words, "--budget", "flash=1k,drop=2%", "--trials", 2)
    assert missed.code == 1 and missed.json["calibration"]["search"]["chosen"] is None


def test_progress_and_notes_go_to_standard_error(model: Path, tmp_path: Path) -> None:
    """The installed command prints only JSON on standard output, so another program can parse it."""
    process = subprocess.run(
        [sys.executable, "-m", "arenite.host.cli.main", "inspect", str(model), "--json"],
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0 and json.loads(process.stdout)["schema"] == "arenite.inspect/1"
    text_process = subprocess.run(
        [sys.executable, "-m", "arenite.host.cli.main", "inspect", str(model)], capture_output=True, text=True
    )
    notes = json.loads(process.stdout)["notes"]
    assert notes and all(note in text_process.stderr and note not in text_process.stdout for note in notes)


def test_a_closed_reader_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m arenite.host.cli.main boards --json | head -c 1; echo ${{PIPESTATUS[0]}}"
    process = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (process.stdout, process.stderr) == ("{0\n", "")


def test_a_full_standard_output_raises_an_error() -> None:
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "-m", "arenite.host.cli.main", "boards", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert process.returncode == 2 and process.stderr.startswith("Error: No space left on device")
    assert "Traceback" not in process.stderr


def test_markup_in_file_names_is_shown_unchanged(arenite: Arenite, tmp_path: Path) -> None:
    """Brackets, colons and tags in a file name are printed unchanged in tables, notes and pages."""
    name = "b] :smile: [red] <i>&x.tflite"
    (tmp_path / "a[").mkdir()  # followed by the file name, this is a closing tag
    path = save(classifier(), tmp_path / "a[" / name)
    for words in (("inspect", path), ("fit", path, "--board", BOARD), ("convert", path)):
        run = arenite(*words)
        assert run.code == 0 and name.removesuffix(".tflite") in run.out, run
    arenite("inspect", f"{path}x").refused(2, f"a[/{name}x")
    html = tmp_path / "page.html"
    assert arenite("inspect", path, "--html", html).code == 0
    page = html.read_text()
    assert "<i>&x" not in page and "&lt;i&gt;&amp;x" in page


def test_inspect_writes_a_page_and_a_drawing(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    html, svg = tmp_path / "new" / "page.html", tmp_path / "drawing.svg"
    run = arenite("inspect", model, "--html", html, "--svg", svg)
    assert run.code == 0 and "arena " in run.out
    drawing = svg.read_text()
    assert drawing.startswith("<svg") and drawing in html.read_text()


@pytest.mark.slow
@pytest.mark.qemu
def test_generate_build_and_flash(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    """Run the steps of `bench` one by one. The built sizes equal the predicted sizes."""
    project = tmp_path / "p"
    predicted = arenite("firmware", model, "--board", BOARD, "-o", project, "--json").json["predicted"]
    arenite("flash", project).refused(2, "is not built")
    built = arenite("build", project, "--json")
    assert built.code == 0 and Path(built.json["elf"]).is_file()
    sizes = built.json["sizes"]
    for name in ("arena", "weights", "code", "static"):
        assert sizes[name]["predicted"] == predicted[name]
        assert type(sizes[name]["built"]) is int
    assert "guard words: never run" in arenite("build", project).out
    flashed = arenite("flash", project, "--json")
    assert (flashed.code, flashed.json["board"]) == (0, BOARD)
    assert "the board answers" in arenite("flash", project).out


@pytest.mark.slow
@pytest.mark.qemu
def test_fit_compares_a_project_with_its_prediction(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    """Before the build, fit raises an error. Then it compares the ELF file, and after a run also the stack."""
    project = tmp_path / "p"
    arenite("firmware", model, "--board", BOARD, "-o", project)
    arenite("fit", project).refused(2, "is not built")
    arenite("build", project)
    built = arenite("fit", project, "--json")
    assert (built.code, built.json["schema"], built.json["holds"]) == (0, "arenite.fit/1", True)
    assert built.json["guards_damaged"] is None
    assert arenite("bench", model, "--board", BOARD, "--keep", project, "--samples", "2", "--json").code == 0
    run = arenite("fit", project, "--json")
    figures = {f["name"]: f for f in run.json["figures"]}
    assert 0 < figures["stack"]["measured"] <= figures["stack"]["predicted"]
    assert all(figures[n]["built"] == figures[n]["predicted"] for n in ("arena", "static", "weights", "code"))
    assert (run.code, run.json["guards_damaged"]) == (0, 0)
    assert "guard words: intact" in arenite("fit", project).out
    # If a prediction is wrong by one byte, the exit code is 1.
    manifest = project / "arenite.json"
    record = json.loads(manifest.read_text())
    record["predicted"]["code"] += 1
    manifest.write_text(json.dumps(record))
    wrong = arenite("fit", project, "--json")
    assert (wrong.code, wrong.json["holds"]) == (1, False)
