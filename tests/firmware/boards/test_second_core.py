"""The ports for a second core, under ThreadSanitizer: whole models, real threads, LiteRT's bytes and no data race."""

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
#: Port to what stands in for its operating system or SDK, and the macro by which it knows its target.
PORTS = {
    "pthread": ((), ()),
    "freertos": (("freertos.c",), ("ESP_PLATFORM",)),
    "rp2": (("pico.c",), ("ARDUINO_ARCH_RP2040",)),
}
SAMPLES = 4
TSAN = ("-fsanitize=thread",)
#: The sanitizer reports a race only if it still remembers both accesses.
LONG_MEMORY = {**os.environ, "TSAN_OPTIONS": "history_size=7"}

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")]


def build(
    generated: Generated,
    port: str,
    folder: Path,
    flags: tuple[str, ...],
    macros: tuple[str, ...] = (),
    *,
    elsewhere: bool = False,
) -> Path:
    """A program of the model for this computer, with ``port``; ``elsewhere``: as for a board that it is not for."""
    stand_in, defines = ((), ()) if elsewhere else PORTS[port]
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
    """What the program writes, and what it prints."""
    (program.parent / "in").write_bytes(data)
    command = [str(program), str(program.parent / "in"), str(program.parent / "out"), str(pause_ms)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=LONG_MEMORY)
    assert "WARNING" not in done.stderr, done.stderr[:4000]
    assert done.returncode == 0, done.stderr
    return (program.parent / "out").read_bytes(), done.stdout


def model_for(name: str, core: str, optimise: str = "speed") -> tuple[Generated, bytes, bytes]:
    """A model for two cores, the bytes of random samples, and of LiteRT's answers."""
    prepared = prepare(shared_model(f"{name}_int8"))
    generated = prepared.retarget(Target.of(core, optimise, cores=2, barrier=60)).generated
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
def test_no_data_race(name: str, core: str, optimise: str, tmp_path: Path) -> None:
    generated, data, answers = model_for(name, core, optimise)
    assert run(build(generated, "pthread", tmp_path, TSAN), data)[0] == answers


def test_the_sanitizer_sees_a_race(tmp_path: Path) -> None:
    """A half that is made to overlap the other one is reported: the test above can fail."""
    generated, data, _ = model_for("kws01", "rv32imc")
    text = model_sources(generated)["model.c"]
    program = build(generated, "pthread", tmp_path, ())
    # The second half of the first layer writes six rows further up, into the first half. (Of one row alone the
    # sanitizer has forgotten the first access when it sees the second: test_two_cores.py compares both orders.)
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
    # It sees a race only when the halves really ran at once: on a full computer not each time.
    reported = ""
    for _ in range(20):
        reported = subprocess.run(
            [str(program), str(tmp_path / "in"), str(tmp_path / "out"), "0"],
            capture_output=True,
            text=True,
            timeout=60,
            env=LONG_MEMORY,
        ).stderr
        if "data race" in reported:
            break
    assert "data race" in reported


@pytest.mark.parametrize("port", ["freertos", "rp2"])
@pytest.mark.parametrize("pause_ms", [0, 5])
def test_ports(port: str, pause_ms: int, tmp_path: Path) -> None:
    """Back to back, where the second core spins, and with pauses in which it falls asleep."""
    generated, data, answers = model_for("kws01", "xtensa-lx7")
    program = build(generated, port, tmp_path, TSAN, ("ARENITE_SPIN_TURNS=50",))
    out, printed = run(program, data, pause_ms)
    assert out == answers
    if port == "freertos" and pause_ms:
        slept, _, given = map(int, re.findall(r"\d+", printed))
        assert slept >= SAMPLES - 1
        assert given >= SAMPLES - 1


@pytest.mark.parametrize("port", ["freertos", "rp2"])
def test_for_another_board_halves_run_in_turn(port: str, tmp_path: Path) -> None:
    """The same sources in a build for another board, as platformio.ini offers them."""
    generated, data, answers = model_for("kws01", "xtensa-lx7")
    assert run(build(generated, port, tmp_path, (), elsewhere=True), data)[0] == answers
