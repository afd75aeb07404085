"""The ports for a second core run models in real threads with LiteRT's outputs. ThreadSanitizer finds no race."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.model_source import model_sources
from arenite.firmware.generator.project import engine_files
from arenite.firmware.generator.target import Target
from arenite.firmware.sources import BOARDS
from arenite.host.bench.reference import Reference
from arenite.host.build.prepare import prepare
from tests.development_models import shared_model

HERE = Path(__file__).parent / "second_core"
#: Maps a port to the stand-in for its operating system or SDK, and to the macro that selects its target.
PORTS = {
    "pthread": ((), ()),
    "freertos": (("freertos.c",), ("ESP_PLATFORM",)),
    "rp2": (("pico.c",), ("ARDUINO_ARCH_RP2040",)),
}
SAMPLES = 4
TSAN = ("-fsanitize=thread",)
#: ThreadSanitizer reports a race only if both accesses are in its history, so make the history as long as possible.
TSAN_ENVIRONMENT = {**os.environ, "TSAN_OPTIONS": "history_size=7"}

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")]


def build(
    generated: Generated,
    port: str,
    folder: Path,
    flags: tuple[str, ...],
    macros: tuple[str, ...] = (),
    *,
    other_board: bool = False,
) -> Path:
    """Build a program that runs the model on this computer with ``port``. With ``other_board``, build the port without
    its operating system or SDK, as for a board that it does not support."""
    stand_in, defines = ((), ()) if other_board else PORTS[port]
    sources = model_sources(generated)
    files = {**sources, **engine_files(list(sources.values()), generated.engine_sources)}
    headers = [BOARDS.read(name) for name in ("mailbox.h", "second_core.h")]
    files |= engine_files(headers, ())
    for name, text in files.items():
        (folder / name).write_text(text)
    units = [str(folder / name) for name in files if name.endswith(".c")]
    units += [
        str(BOARDS.path(f"parallel_{port}.c")),
        *(str(HERE / name) for name in ("main.c", *stand_in)),
    ]
    command = [
        "gcc",
        "-std=c99",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-DAR_HOST",
        "-DAR_SECOND_STACK=1024",
    ]
    command += [
        *(f"-D{m}" for m in (*defines, *macros)),
        *flags,
        f"-I{folder}",
        f"-I{HERE}",
        *BOARDS.include_flags,
    ]
    subprocess.run([*command, *units, "-o", str(folder / "program"), "-lpthread"], check=True)
    return folder / "program"


def run(program: Path, data: bytes, pause_ms: int = 0) -> tuple[bytes, str]:
    """Run the program on the input bytes ``data``. Return the output bytes that it writes to a file and its text."""
    (program.parent / "in").write_bytes(data)
    command = [str(program), str(program.parent / "in"), str(program.parent / "out"), str(pause_ms)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, env=TSAN_ENVIRONMENT)
    assert "WARNING" not in result.stderr, result.stderr[:4000]
    assert result.returncode == 0, result.stderr
    return (program.parent / "out").read_bytes(), result.stdout


def model_for(name: str, core: str, optimise: str = "speed") -> tuple[Generated, bytes, bytes]:
    """Return a model generated for two cores, the bytes of random samples, and the bytes of LiteRT's outputs."""
    prepared = prepare(shared_model(f"{name}_int8"))
    generated = prepared.retarget(Target.for_core(core, optimise, cores=2, barrier=60)).generated
    assert generated.parallel
    tensor = prepared.model.main.tensors[prepared.model.main.inputs[0]]
    data = np.random.default_rng(0).integers(-128, 128, (SAMPLES, *tensor.shape), np.int8)
    reference = Reference(prepared.reference)
    answers = b"".join(reference.run([sample])[0].tobytes() for sample in data)
    return generated, data.tobytes(), answers


@pytest.mark.parametrize(
    ("name", "core", "optimise"),
    [
        ("kws01", "rv32imc", "speed"),
        ("kws01", "cortex-m33", "speed"),
        ("ad01", "xtensa-lx7", "speed"),
        ("ad01", "cortex-m0plus", "flash"),
        ("sww01", "rv32imafc", "balanced"),
        ("ic01", "cortex-m33", "speed"),
    ],
)
def test_two_threads_have_no_data_race(name: str, core: str, optimise: str, tmp_path: Path) -> None:
    generated, data, answers = model_for(name, core, optimise)
    assert run(build(generated, "pthread", tmp_path, TSAN), data)[0] == answers


def test_the_sanitizer_finds_a_race_between_halves_that_overlap(tmp_path: Path) -> None:
    """One half of a layer is changed so that it overlaps the other half. ThreadSanitizer reports this as a race, so the
    test above can fail."""
    generated, data, _ = model_for("kws01", "rv32imc")
    text = model_sources(generated)["model.c"]
    program = build(generated, "pthread", tmp_path, ())
    # The second half of the first layer writes six rows (of 5 * 64 bytes) further up, into the first half. If the
    # halves shared a single row, its first access would no longer be in the sanitizer's history. test_two_cores.py
    # finds such an error, because it runs the halves in both orders.
    half = re.search(r"layer_0_half = \{.*?\.output = AT\((\d+)\)", text, re.S)
    assert half is not None
    moved = text[: half.start(1)] + str(int(half[1]) - 6 * 5 * 64) + text[half.end(1) :]
    (tmp_path / "model.c").write_text(moved)
    command = ["gcc", "-std=c99", "-O1", "-g", "-DAR_HOST", *TSAN, f"-I{tmp_path}", *BOARDS.include_flags]
    units = [
        *map(str, tmp_path.glob("*.c")),
        str(BOARDS.path("parallel_pthread.c")),
        str(HERE / "main.c"),
    ]
    subprocess.run([*command, *units, "-o", str(program), "-lpthread"], check=True)
    (tmp_path / "in").write_bytes(data)
    # ThreadSanitizer finds a race only if both halves really run at the same time, but a busy computer may run them in
    # turn. So try several times.
    reported = ""
    for _ in range(20):
        reported = subprocess.run(
            [str(program), str(tmp_path / "in"), str(tmp_path / "out"), "0"],
            capture_output=True,
            text=True,
            timeout=60,
            env=TSAN_ENVIRONMENT,
        ).stderr
        if "data race" in reported:
            break
    assert "data race" in reported


@pytest.mark.parametrize("port", ["freertos", "rp2"])
@pytest.mark.parametrize("pause_ms", [0, 5])
def test_ports_give_the_bytes_of_litert(port: str, pause_ms: int, tmp_path: Path) -> None:
    """Without pauses the second core spins between layers. With pauses it falls asleep."""
    generated, data, answers = model_for("kws01", "xtensa-lx7")
    program = build(generated, port, tmp_path, TSAN, ("ARENITE_SPIN_TURNS=50",))
    out, printed = run(program, data, pause_ms)
    assert out == answers
    if port == "freertos" and pause_ms:
        slept, _, notified = map(int, re.findall(r"\d+", printed))
        assert slept >= SAMPLES - 1
        assert notified >= SAMPLES - 1


@pytest.mark.parametrize("port", ["freertos", "rp2"])
def test_on_a_board_without_a_second_core_halves_run_in_turn(port: str, tmp_path: Path) -> None:
    """Sources that were generated for two cores are built for another board, as platformio.ini allows."""
    generated, data, answers = model_for("kws01", "xtensa-lx7")
    assert run(build(generated, port, tmp_path, (), other_board=True), data)[0] == answers
