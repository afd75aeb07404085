"""Tests of ``arenite library``: names, choice of kernels, and errors that are raised before a file is written."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from arenite.host.interface.build import shortage_hint
from tests.host.cli.conftest import Arenite


def text(path: Path) -> str:
    return path.read_text("utf-8")


def test_a_single_model_is_named_after_its_file(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    run = arenite("library", model, "-o", tmp_path / "my-models", "--json")
    assert run.code == 0
    (library_model,) = run.json["models"]
    assert (run.json["schema"], run.json["name"]) == ("arenite.library/1", "my_models")
    assert (library_model["name"], library_model["header"], library_model["shares_arena"]) == (
        "small",
        "small_model.h",
        False,
    )
    assert run.json["arena"] == library_model["arena"]
    assert run.json["target"] == {"core": None, "tier": "scalar", "optimise": "balanced"}
    files = json.loads(text(tmp_path / "my-models/arenite.json"))["files"]
    assert (
        sorted(str(p.relative_to(tmp_path / "my-models")) for p in tmp_path.rglob("*") if p.is_file())
        == files
    )


def test_models_share_an_arena_unless_they_have_state(
    arenite: Arenite, model: Path, large: Path, stateful: Path, tmp_path: Path
) -> None:
    run = arenite("library", f"a={model}", f"b={large}", stateful, "-o", tmp_path / "all", "--json")
    assert run.code == 0, run
    a, b, counter = run.json["models"]
    assert [m["shares_arena"] for m in (a, b, counter)] == [True, True, False]
    assert (counter["name"], counter["stateful"]) == ("counter", True)
    assert run.json["arena"] == max(a["arena"], b["arena"]) + counter["arena"]
    text_run = arenite("library", f"a={model}", f"b={large}", stateful, "-o", tmp_path / "all")
    assert text_run.code == 0 and "a_model.h" in text_run.out and f"{run.json['arena']:,} B" in text_run.out


def test_the_same_arguments_give_the_same_bytes(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    trees = []
    for name in ("first", "second"):
        arenite("library", model, "-o", tmp_path / name, "--name", "lib", "--board", "nucleo_l4r5zi")
        folder = tmp_path / name
        trees.append({p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()})
    assert trees[0] == trees[1]


def test_obsolete_files_are_removed_and_user_files_stay(
    arenite: Arenite, model: Path, large: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "lib"
    assert arenite("library", model, large, "-o", folder).code == 0
    (folder / "src/mine.c").write_text("int mine;\n")
    assert arenite("library", large, "-o", folder).code == 0
    assert not (folder / "src/small_model.c").exists() and not (folder / "src/arenite_arena.c").exists()
    assert (folder / "src/mine.c").exists()


@pytest.mark.parametrize(
    ("options", "tier", "flag"),
    [
        (["--board", "nucleo_l4r5zi", "--optimise", "speed"], "dsp", "-O2"),
        (["--core", "cortex-m55", "--optimise", "flash"], "mve", "-Os"),
        (["--core", "xtensa-lx7"], "scalar", "-O2"),
    ],
)
def test_the_core_decides_the_kernels(
    arenite: Arenite, model: Path, tmp_path: Path, options: list[str], tier: str, flag: str
) -> None:
    run = arenite("library", model, "-o", tmp_path / "lib", *options, "--json")
    assert run.json["target"]["tier"] == tier
    assert f"target_compile_options(arenite_lib PRIVATE {flag} " in text(tmp_path / "lib/CMakeLists.txt")
    kernels = re.findall(r"ar_\w+_(dsp|mve)\(", text(tmp_path / "lib/src/small_model.c"))
    assert set(kernels) <= ({tier} if tier != "mve" else {"mve", "dsp"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["MODEL", "MODEL"], "Two models are called 'small'"),
        (["arenite=MODEL"], "A model cannot be called 'arenite'"),
        (["MODEL", "--board", "pico", "--core", "cortex-m4"], "exclude each other"),
        (["absent.tflite"], "absent.tflite"),
    ],
)
def test_mistakes_raise_an_error(
    arenite: Arenite, model: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    words = [a.replace("MODEL", str(model)) for a in arguments]
    arenite("library", *words, "-o", tmp_path / "lib").refused(2, message)
    assert not (tmp_path / "lib").exists()


def test_a_board_that_is_too_small_raises_an_error(arenite: Arenite, large: Path, tmp_path: Path) -> None:
    run = arenite("library", large, "-o", tmp_path / "lib", "--board", "qemu_microbit", "--optimise", "speed")
    run.refused(1, "The models alone need", "more RAM", "--optimise ram")
    assert not (tmp_path / "lib").exists()


@pytest.mark.parametrize(
    ("memory", "optimise", "stream", "steps"),
    [
        ("RAM", "speed", False, "--optimise ram, --stream-input, fewer models, or"),
        ("RAM", "ram", True, "fewer models, or"),
        (
            "flash",
            "speed",
            False,
            "--optimise flash, 4-bit weights (arenite convert --recipe w4), fewer models, or",
        ),
        ("flash", "ram", False, "4-bit weights (arenite convert --recipe w4), fewer models, or"),
    ],
)
def test_a_shortage_names_steps_that_save_this_memory(
    memory: str, optimise: str, stream: bool, steps: str
) -> None:
    assert shortage_hint(memory, optimise, stream) == f"Try {steps} a larger board."


@pytest.mark.parametrize(
    ("file", "name"), [("Net-2.v1.tflite", "net_2_v1"), ("2d.tflite", "m2d"), ("ü.tflite", "model")]
)
def test_any_file_name_becomes_an_identifier(
    arenite: Arenite, model: Path, tmp_path: Path, file: str, name: str
) -> None:
    (tmp_path / file).write_bytes(model.read_bytes())
    run = arenite("library", tmp_path / file, "-o", tmp_path / "lib", "--json")
    assert run.json["models"][0]["name"] == name
    subprocess.run(["gcc", "-fsyntax-only", str(tmp_path / f"lib/src/{name}_model.c")], check=True)


def test_an_anomaly_head_is_converted_and_gets_its_functions(
    arenite: Arenite, model: Path, tmp_path: Path
) -> None:
    image = tmp_path / "motor.tflite"
    settings = tmp_path / "anomaly.toml"
    settings.write_text("[anomaly]\nwarmup = 20\nclasses = 3\n")
    assert arenite("convert", model, "--anomaly", settings, "-o", image).code == 0
    assert arenite("library", image, "-o", tmp_path / "lib").code == 0
    header = (tmp_path / "lib/src/motor_processing.h").read_text()
    for name in ("update", "alarm", "threshold", "freeze", "reset", "teach", "classify", "forget"):
        assert f" motor_anomaly_{name}(" in header
    files = {path.name for path in (tmp_path / "lib/src/arenite").iterdir()}
    assert {"anomaly.h", "anomaly.c", "prototypes.c", "state_store.c", "flash.h", "flash_nrf.c"} <= files
    settings.write_text("[anomaly]\nmemory = 100\n")
    run = arenite("convert", model, "--anomaly", settings, "-o", image)
    assert run.code == 2 and "memory is 100, expected a power of two" in run.err
