"""Run layers and the stages of applications on emulated boards, and return the instructions that were counted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.decision.record import Decision, Gate
from arenite.converters.processing.audio.front_end import plan_sound
from arenite.converters.processing.audio.micro_plan import MicroPlan
from arenite.converters.processing.audio.plan import AudioPlan
from arenite.converters.processing.imu.plan import ImuPlan, plan_imu
from arenite.converters.processing.specification.imu_steps import ImuSource
from arenite.converters.processing.specification.preprocessing import KEY, Preprocessing
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.firmware.app.settings import StreamSettings
from arenite.firmware.sizes.layer_work import layer_work
from arenite.host.app.emulated_run import run_emulated
from arenite.host.app.generate import App, generate_app
from arenite.host.bench.run import BenchConfig, bench
from arenite.host.bench.samples import random_samples
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.build.project import generate_project
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import Board
from benchmarks.app_instructions.random_layers import random_layers
from benchmarks.app_instructions.sample_settings import model
from benchmarks.app_instructions.speech_like import speech_like

#: Windows of the loop that are measured.
WINDOWS = 12
#: Instructions of a layer that the firmware of a bench takes more than an application, which has all layers in one
#: function: the loop over the layers, the call by a pointer, and the reading of the timer. They are the difference
#: between both of the inference of wake_okay_nabu, divided by its 44 layers: 27.70 to 27.75 on Cortex-M3, M4 and M7.
LAYER_CALL = 27.7
#: Seconds of sound that an application hears.
_SOUND_S = 3
_PROGRAM = Path(__file__).parent / "stages.c"
_LINE = re.compile(r"([A-Z])(\d+) (.+)")

#: The work of a layer, and its instructions.
Layer = tuple[Mapping[str, float], float]


def measure_layers(
    board: Board, kinds: tuple[str, ...], count: int, seed: int, folder: Path
) -> list[tuple[str, Mapping[str, float], float]]:
    """Return (kernel, work, instructions) of random layers on ``board``."""
    path = folder / f"layers{seed}.tflite"
    path.write_bytes(to_flatbuffer(random_layers(kinds, count, seed)))
    prepared, options = prepare(path), BuildOptions(optimise="balanced")
    inputs = [prepared.model.main.tensors[i] for i in prepared.model.main.inputs]
    config = BenchConfig(build=options, cycles=False)
    result = bench(prepared, board, random_samples(inputs, 1), config, lambda *_: None)
    generated = generate_project(prepared, board, folder / f"p{seed}", options).generated
    rows: list[tuple[str, Mapping[str, float], float]] = []
    for layer, row in zip(generated.layers, result.layers, strict=True):
        work = None if layer.call is None else layer_work(generated, layer)
        if work is not None and layer.call is not None:
            rows.append((layer.call.kernel, work, float(row["instructions"]) - LAYER_CALL))
    return rows


@dataclass(frozen=True)
class Stages:
    """A measured application. ``lines`` are the numbers that its program printed, by letter and signal: the ticks and
    samples of each call of feed (F), the ticks of inferences (I), decisions (D) and lines of events (P), and those of
    the windows of the loop (B). Signal 5 is what the loop hears too: speech_like.py for a microphone."""

    application: App
    plan: AudioPlan | MicroPlan | ImuPlan
    classes: int
    gate_block: int | None
    lines: Mapping[str, Mapping[str, list[list[int]]]]


def measure_stages(
    board: Board,
    record: tuple[dict[str, Any], int],
    decision: Decision,
    sensor: str,
    classes: int,
    gate: Gate | None,
    folder: Path,
) -> Stages:
    """Build an application of the preprocessing ``record`` whose program measures its stages, and run it."""
    folder.mkdir(parents=True)
    prepared = model(folder / "sampled.tflite", record[0], decision, record[1], classes, gate=gate)
    application = generate_app(prepared, board, folder / "app", sensor=sensor)
    text = _PROGRAM.read_text().replace("@p_", "sampled_").replace("@N", f"{WINDOWS}u")
    (application.directory / "src/main.c").write_text(text)
    s = application.settings
    samples = _samples(s, sensor)
    (application.directory / "src/sound.h").write_text(_array(samples))
    elf = direct_build(application.directory)
    lines: dict[str, dict[str, list[list[int]]]] = {}
    for line in run_emulated(elf, board, samples if sensor == "imu" else samples[:, 0], rate=s.rate):
        if line == "loop end":
            break
        if match := _LINE.fullmatch(line):
            numbers = [int(n) for n in match[3].split()]
            lines.setdefault(match[1], {}).setdefault(match[2], []).append(numbers)
    block = None if gate is None else gate.block
    return Stages(application, _plan(prepared, s.hop), classes, block, lines)


def _samples(settings: StreamSettings, sensor: str) -> np.ndarray:
    """Return what the application hears, int16 [samples, channels]."""
    count = settings.window + settings.hop * (WINDOWS + 2) + 1000
    if sensor == "microphone":
        return speech_like(max(count, _SOUND_S * settings.rate), settings.rate)[:, None]
    rng = np.random.default_rng(1)
    loudness = np.where(np.arange(count)[:, None] // 2000 % 2, 3000, 60)
    return (rng.normal(0, 1, (count, settings.channels)) * loudness).astype(np.int16)


def _array(samples: np.ndarray) -> str:
    values = ",".join(map(str, samples.reshape(-1)))
    return f"enum {{ SOUND_VALUES = {samples.size} }};\nstatic const int16_t sound[] = {{{values}}};\n"


def _plan(prepared: Prepared, hop: int) -> AudioPlan | MicroPlan | ImuPlan:
    graph = prepared.model.main
    spec = Preprocessing.from_json(prepared.extra[KEY]).bound(graph.tensors[graph.inputs[0]])
    if spec.source.kind == "imu":
        assert isinstance(spec.source, ImuSource)
        return plan_imu(replace(spec, source=replace(spec.source, hop=hop)))
    return plan_sound(spec)
