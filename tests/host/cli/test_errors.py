"""Commands report errors without tracebacks and with the right exit code (1: the result is negative, 2: the input is
wrong, 3: a tool or device failed, 4: a bug in Arenite)."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from arenite.host.cli import main as cli
from tests.host.cli.conftest import Arenite

BOARD = "qemu_mps2_an386"

#: Maps every command that reads a model to the other arguments that it needs.
READERS = {
    "convert": ("-o", "OUT"),
    "inspect": (),
    "fit": (),
    "firmware": ("--board", BOARD, "-o", "OUT"),
    "bench": ("--board", BOARD),
}


def arguments(command: str, model: object, folder: Path) -> list[object]:
    """Return a command that reads ``model``, with the other arguments that it needs."""
    return [command, model, *(folder / "out" if a == "OUT" else a for a in READERS[command])]


@pytest.mark.parametrize("command", READERS)
def test_a_missing_model_raises_an_error(command: str, arenite: Arenite, tmp_path: Path) -> None:
    arenite(*arguments(command, tmp_path / "absent.tflite", tmp_path)).refused(2, "absent.tflite")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", READERS)
def test_a_truncated_model_raises_an_error(
    command: str, arenite: Arenite, model: Path, tmp_path: Path
) -> None:
    data = model.read_bytes()
    for length in (len(data) // 2, 20, 0):
        (tmp_path / "cut.tflite").write_bytes(data[:length])
        arenite(*arguments(command, tmp_path / "cut.tflite", tmp_path)).refused(2, "cut.tflite")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", READERS)
def test_a_model_that_is_not_quantized_raises_an_error(
    command: str, arenite: Arenite, unquantized: Path, tmp_path: Path
) -> None:
    texts = (
        ("float model", "--calibration")
        if command == "convert"
        else ("operator 0 FULLY_CONNECTED", "convert")
    )
    arenite(*arguments(command, unquantized, tmp_path)).refused(2, *texts)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.onnx", b"\x08\x07\x12\x07pytorch", "arenite convert"),
        ("m.keras", b"PK\x03\x04", "damaged archive"),
        ("m.pth", b"\x80\x02pickle", "module:function"),
        ("m.tflite", b"not a flatbuffer at all", "m.tflite"),
    ],
)
def test_unsupported_files_raise_an_error(
    name: str, content: bytes, message: str, arenite: Arenite, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    arenite("inspect", tmp_path / name).refused(2, message)


def test_a_folder_in_place_of_a_model_raises_an_error(arenite: Arenite, tmp_path: Path) -> None:
    arenite("fit", tmp_path).refused(2, "is a folder")


@pytest.mark.parametrize("command", ["convert", "fit", "firmware", "bench"])
def test_an_unknown_board_suggests_the_nearest_name(
    command: str, arenite: Arenite, model: Path, tmp_path: Path
) -> None:
    words = [a for a in arguments(command, model, tmp_path) if a not in ("--board", BOARD)]
    arenite(*words, "--board", "nucleo_l4r5z").refused(2, "nucleo_l4r5z", "nucleo_l4r5zi")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_board_that_is_too_small_is_exit_code_1(
    arenite: Arenite, large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fit = arenite("fit", large, "--board", "qemu_microbit", "--board", BOARD)
    assert fit.code == 1 and "qemu_microbit: needs " in fit.out and "B more SRAM" in fit.out
    for command in ("firmware", "bench"):
        words = [large, "--board", "qemu_microbit", *(["-o", "out"] if command == "firmware" else [])]
        arenite(command, *words).refused(1, "does not fit qemu_microbit: needs", "B more SRAM")
    assert list(tmp_path.iterdir()) == []
    converted = arenite("convert", large, "-o", "image.tflite", "--board", "qemu_microbit", "--json")
    assert converted.code == 1 and converted.json["fit"]["fits"] is False
    assert (tmp_path / "image.tflite").exists()  # the image is valid, but it does not fit the board


@pytest.mark.slow
def test_fit_without_a_board_is_exit_code_0(arenite: Arenite, large: Path) -> None:
    for extra in ((), ("--all",)):
        run = arenite("fit", large, *extra)
        assert run.code == 0 and "NO" in run.out


DUTY = ("--rate", "1", "--service", "10", "--active-mw", "36", "--sleep-uw", "15")


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "MODEL", "--board", BOARD, "--all"),
        ("fit",),
        ("bench", "MODEL"),
        ("bench", "MODEL", "--board", BOARD, "--samples", "0"),
        ("bench", "MODEL", "--board", BOARD, "--optimise", "most"),
        ("bench", "MODEL", "--board", BOARD, "--protocol", "mlperf", "--stream-input"),
        ("bench", "MODEL", "--board", BOARD, "--protocol", "mlperf", "--stateful"),
        ("bench", "MODEL", "--board", BOARD, "--wait", "nan"),
        ("bench", "MODEL", "--board", BOARD, "--store", "kept.sqlite", "--no-store"),
        ("bench", "history", "--allow-time", "nan"),
        ("monitor", "--board", "esp32dev", "--seconds", "nan"),
        ("monitor", "--board", "qemu_riscv32"),
        ("meter", "record", "ppk2", "--seconds", "inf", "-o", "trace.csv"),
        ("duty", *DUTY, "--celsius", "30"),
        ("duty", *DUTY, "--minimum-v", "2"),
        ("duty", *DUTY, "--seed", "3"),
        ("bench", "MODEL", "--board", "nucleo_l4r5zi"),
        ("firmware", "MODEL", "--board", BOARD),
        ("firmware", "MODEL", "--board", BOARD, "-o", "/proc/arenite"),
        ("convert", "MODEL", "-o", "MODEL"),
        ("convert", "MODEL", "-o", "/proc/arenite/image.tflite"),
        ("inspect", "MODEL", "--svg", "/proc/arenite.svg"),
        ("boards", "--jsn"),
        ("measure",),
        ("zoo", "fetch", "no_such_model"),
        ("build", "/nowhere"),
        ("flash", "/nowhere"),
    ],
    ids=" ".join,
)
def test_invalid_arguments_raise_an_error(words: tuple[str, ...], arenite: Arenite, model: Path) -> None:
    run = arenite(*(model if a == "MODEL" else a for a in words))
    assert (run.code, run.out) == (2, "") and len(run.err) > 20 and "Traceback" not in run.err


def test_a_name_of_the_zoo_is_suggested(arenite: Arenite) -> None:
    arenite("zoo", "fetch", "keyword_spoting").refused(2, "keyword_spotting")


def test_samples_of_another_shape_or_type_raise_an_error(
    arenite: Arenite, model: Path, tmp_path: Path
) -> None:
    np.savez(tmp_path / "shape.npz", x=np.zeros((2, 12, 11, 3), np.int8))
    np.savez(tmp_path / "type.npz", x=np.zeros((2, 12, 12, 3), np.float32))
    run = ("bench", model, "--board", BOARD, "--data")
    arenite(*run, tmp_path / "shape.npz").refused(
        2, "'x' has shape (2, 12, 11, 3), expected (samples, 1, 12, 12, 3)"
    )
    arenite(*run, tmp_path / "type.npz").refused(2, "'x' is float32", "scale and zero point")
    arenite(*run, tmp_path / "absent.npz").refused(2, "absent.npz")


def test_an_output_folder_with_other_files_raises_an_error(
    arenite: Arenite, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    arenite("firmware", model, "--board", BOARD, "-o", tmp_path).refused(2, "is not empty")
    arenite("bench", model, "--board", BOARD, "--keep", tmp_path).refused(2, "is not empty")
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_output_below_a_file_raises_an_error(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    arenite("firmware", model, "--board", BOARD, "-o", tmp_path / "file" / "p").refused(
        2, str(tmp_path / "file")
    )
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("command", ["bench", "build"])
def test_a_missing_compiler_is_exit_code_3(
    command: str, arenite: Arenite, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "p"
    assert arenite("firmware", model, "--board", BOARD, "-o", project).code == 0
    monkeypatch.setenv("PATH", str(tmp_path))
    # Without --toolchain, bench would use zig if it is installed.
    words = (model, "--board", BOARD, "--toolchain", "gcc") if command == "bench" else (project,)
    arenite(command, *words).refused(3, "arm-none-eabi-gcc is missing", "apt install gcc-arm-none-eabi")


def test_doctor_lists_missing_tools(
    arenite: Arenite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    run = arenite("doctor")
    assert run.code == 3 and "apt install gcc-arm-none-eabi" in run.out
    tools = arenite("doctor", "--json").json["tools"]
    assert {t["version"] for t in tools} == {None} and all(t["fix"].startswith("apt install ") for t in tools)


def test_a_tool_without_a_version_is_missing(
    arenite: Arenite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gcc").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "gcc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    tools = {t["name"]: t for t in arenite("doctor", "--json").json["tools"]}
    assert tools["gcc"]["version"] is None


def test_a_bug_is_exit_code_4_with_a_traceback(
    arenite: Arenite, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object, **__: object) -> None:
        raise ZeroDivisionError("for a test")

    monkeypatch.setattr("arenite.host.cli.model.inspect.prepare", broken)
    run = arenite("inspect", model)
    assert run.code == 4 and "ZeroDivisionError: for a test" in run.err
    assert "This is a bug in Arenite" in run.err


def test_a_full_disk_is_a_normal_error(
    arenite: Arenite, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "image.tflite").write_bytes(b"older")
    monkeypatch.setattr(os, "fsync", full)
    arenite("convert", model, "-o", tmp_path / "image.tflite").refused(2, "No space left on device")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("image.tflite", b"older")]


def test_an_interrupted_write_leaves_the_old_file(
    arenite: Arenite, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    for name in ("image.tflite", "page.html", "drawing.svg"):
        (tmp_path / name).write_bytes(b"older")
    monkeypatch.setattr(os, "fsync", interrupt)
    for words in (
        ("convert", model, "-o", tmp_path / "image.tflite"),
        ("inspect", model, "--html", tmp_path / "page.html"),
        ("inspect", model, "--svg", tmp_path / "drawing.svg"),
    ):
        run = arenite(*words)
        assert run.code == 130 and "Traceback" not in run.err
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == dict.fromkeys(
        ("image.tflite", "page.html", "drawing.svg"), b"older"
    )


def test_a_damaged_source_leaves_the_old_image(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    assert arenite("convert", model, "-o", tmp_path / "image.tflite").code == 0
    old_image = (tmp_path / "image.tflite").read_bytes()
    (tmp_path / "bad.tflite").write_bytes(old_image[:200])
    assert arenite("convert", tmp_path / "bad.tflite", "-o", tmp_path / "image.tflite").code == 2
    assert (tmp_path / "image.tflite").read_bytes() == old_image


def test_every_command_has_help(arenite: Arenite) -> None:
    top = arenite("--help")
    assert top.code == 0
    for name in cli.COMMANDS:
        command_help = arenite(name, "--help")
        assert (
            command_help.code == 0
            and command_help.out.startswith(f"Usage: arenite {name}")
            and name in top.out
        )
        # An option or a name is never broken in two lines.
        assert not re.search(r"\w-\n", command_help.out)
    assert arenite().code == 2 and arenite("--version").code == 0
