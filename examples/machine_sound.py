"""Train an autoencoder with the sound of a healthy fan, and run it as an application that hears faults.

    python examples/machine_sound.py machine --board qemu_mps2_an386

Without ``--board``, the model is only trained, and a second command makes the application:

    arenite app machine/fan.tflite --board qemu_mps2_an386 --sensor microphone -o machine/app --play machine/day.wav

The network has the layers of MLPerf Tiny's anomaly detector (640 values, four layers of 128, 8, four layers of 128, and
640 values), without batch normalization. Its input is five rows of 128 mel bands, as there. The sounds come from a
generator, ``arenite.models.datasets.machine_sounds``. ``day.wav`` has a healthy fan, and each fault once.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import wave
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from arenite import convert
from arenite.converters.anomaly.head import KEY, AnomalyHead
from arenite.converters.anomaly.plan import AnomalyPlan, plan_anomaly
from arenite.converters.anomaly.reference import ReferenceHead, difference
from arenite.converters.decision.reference import EventKind
from arenite.converters.processing.preprocess import preprocess_samples
from arenite.converters.processing.specification.preprocessing import Preprocessing, read_record
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.files import write_atomic
from arenite.firmware.app.learning_glue import Learning
from arenite.host.app.learned_events import LearnedEvents
from arenite.host.app.reference import reference_events
from arenite.host.bench.reference import Reference
from arenite.host.build.prepare import Prepared, prepare
from arenite.models.datasets.machine_sounds import FAULTS, RATE, fan
from arenite.models.training.dense import Adam, dense_model

ROWS, BANDS, STEP = 5, 128, 512
HOP = ROWS * STEP
SIZES = (ROWS * BANDS, 128, 128, 128, 128, 8, 128, 128, 128, 128, ROWS * BANDS)
#: Seconds of sound to train with, in pieces with other speeds and loads; to learn on the device; and to test.
TRAIN_S, PIECE_S, LEARN_S, TEST_S = 240, 20, 100, 100
#: Seconds of `day.wav`: before the first fault, of each fault, and after each.
BEGIN_S, FAULT_S, AFTER_S = 70, 6, 14
SETTINGS = f"""\
[preprocessing.source]
kind = "audio"
rate = {RATE}
samples = {(ROWS - 1) * STEP + 1024}

[[preprocessing.steps]]
do = "frame"
length = 1024
step = {STEP}

[[preprocessing.steps]]
do = "window"
kind = "hann"

[[preprocessing.steps]]
do = "fft"
length = 1024
power = 2

[[preprocessing.steps]]
do = "mel"
bins = {BANDS}
convention = "librosa"

[[preprocessing.steps]]
do = "log"
base = "10"
factor = 10.0
floor = 1e-8

[anomaly]
input = 0      # the head learns the difference between output and input
hop = {HOP}     # 160 ms
warmup = 300   # 48 seconds
memory = 1024
sigmas = 4.0
minimum = 3    # windows in a row
"""


def windows(spec: Preprocessing, samples: np.ndarray, step: int = 1) -> np.ndarray:
    """Return the inputs of the model [windows, values] in a recording, each ``step`` rows after the one before."""
    whole = replace(spec, source=replace(spec.source, samples=len(samples)))
    rows = preprocess_samples(whole, samples)
    starts = range(0, len(rows) - ROWS + 1, step)
    return np.stack([rows[start : start + ROWS].reshape(-1) for start in starts])


def healthy(seconds: float, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield recordings of a healthy fan."""
    for _ in range(round(seconds / PIECE_S)):
        yield fan(PIECE_S, rng)


def outputs(layers: list[np.ndarray], x: np.ndarray) -> list[np.ndarray]:
    """Return the input ``x`` [windows, values] and the values of each layer of the float network."""
    values = [x]
    for k in range(0, len(layers), 2):
        sums = values[-1] @ layers[k].T + layers[k + 1]
        values.append(sums if k == len(layers) - 2 else np.maximum(sums, 0))
    return values


def train(x: np.ndarray, epochs: int = 12, batch: int = 64) -> list[np.ndarray]:
    """Return the weights and biases of the layers, trained with Adam so that the output equals ``x`` [windows,
    values]."""
    rng = np.random.default_rng(1)
    mean, scale = x.mean(0), x.std(0) + 0.5  # the first and the last layer take the place of a normalization
    normal = ((x - mean) / scale).astype(np.float32)
    weights = [rng.normal(0, (2 / n) ** 0.5, (m, n)).astype(np.float32) for n, m in pairwise(SIZES)]
    layers = [part for w in weights for part in (w, np.zeros(len(w), np.float32))]
    adam = Adam(layers, 1e-3)
    for epoch in range(epochs):
        adam.rate = 1e-3 * 0.5 * (1 + np.cos(np.pi * epoch / epochs))
        for rows in np.array_split(rng.permutation(len(normal)), len(normal) // batch):
            values = outputs(layers, normal[rows])
            error = (values[-1] - values[0]) * (2 / len(rows))
            slopes: list[np.ndarray] = []
            for k in range(len(layers) - 2, -1, -2):
                slopes = [error.T @ values[k // 2], error.sum(0), *slopes]
                error = (error @ layers[k]) * (values[k // 2] > 0)
            adam.update(slopes)
    layers[0], layers[1] = layers[0] / scale, layers[1] - layers[0] @ (mean / scale)
    layers[-2], layers[-1] = layers[-2] * scale[:, np.newaxis], layers[-1] * scale + mean
    return layers


def auc(normal: np.ndarray, unusual: np.ndarray) -> float:
    """Return the area under the ROC curve: the share of pairs in which the unusual score is larger."""
    below = np.searchsorted(np.sort(normal), unusual, "left") + np.searchsorted(
        np.sort(normal), unusual, "right"
    )
    return float(below.mean() / (2 * len(normal)))


def offline_scores(learn: np.ndarray, test: np.ndarray, floor: float) -> np.ndarray:
    """Return the scores of differences [windows, values] with the float64 statistics of those to learn."""
    return np.asarray(((test - learn.mean(0)) ** 2 / (learn.var(0) + floor)).mean(1))


def int8_differences(prepared: Prepared, plan: AnomalyPlan, x: np.ndarray) -> np.ndarray:
    """Return the differences between output and input of the int8 model, as the head gets them."""
    tensor = prepared.model.main.tensors[prepared.model.main.inputs[0]]
    stored = np.clip(np.round(x / tensor.scale) + tensor.zero_point, -128, 127).astype(np.int8)
    model, units = Reference(prepared.reference), plan.units
    assert units is not None
    return np.stack(
        [difference(units, row, model.run([row.reshape(tensor.shape)])[0].reshape(-1)) for row in stored]
    )


def report(image: Path, layers: list[np.ndarray], learn: np.ndarray, test: dict[str, np.ndarray]) -> None:
    """Print the areas under the ROC curve of the float model, of the int8 model and of the int8 model with its head.
    ``test`` has windows of the healthy fan under the name "", and of each fault."""
    prepared = prepare(image)
    graph = prepared.model.main
    ends = [[graph.tensors[i] for i in side] for side in (graph.inputs, graph.outputs)]
    plan = plan_anomaly(AnomalyHead.from_json(prepared.extra[KEY]), *ends)
    floor = plan.head.floor
    scores: dict[str, dict[str, np.ndarray]] = {"float": {}, "int8": {}, "head": {}}
    float_learn = outputs(layers, learn)[-1] - learn
    int8_learn = int8_differences(prepared, plan, learn)
    head = ReferenceHead(plan)
    for values in int8_learn:
        head.update(values)
    head.freeze()
    for name, x in test.items():
        unit = float(ends[0][0].scale)
        scores["float"][name] = offline_scores(float_learn, outputs(layers, x)[-1] - x, floor * unit**2)
        values = int8_differences(prepared, plan, x)
        scores["int8"][name] = offline_scores(int8_learn.astype(float), values.astype(float), floor)
        scores["head"][name] = np.array([head.update(row).score for row in values], float)
    print(f"AUC on {sum(map(len, test.values()))} windows, {len(test[''])} of them of a healthy fan:")
    for fault in (*FAULTS, "all faults"):
        areas = []
        for rows in scores.values():
            faults = [rows[f] for f in FAULTS] if fault == "all faults" else [rows[fault]]
            areas.append(auc(rows[""], np.concatenate(faults)))
        print(
            f"  {fault}: float model and float64 statistics {areas[0]:.4f}, int8 model and float64 statistics "
            f"{areas[1]:.4f}, int8 model with its head {areas[2]:.4f}"
        )


def compose_day(path: Path, rng: np.random.Generator) -> np.ndarray:
    """Write a recording of a healthy fan in which each fault occurs once, and return its samples."""
    parts = [fan(BEGIN_S, rng)]
    for fault in FAULTS:
        parts += [fan(FAULT_S, rng, fault), fan(AFTER_S, rng)]
    day = np.concatenate(parts)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(day.astype("<i2").tobytes())
    return day


def report_day(image: Path, day: np.ndarray) -> None:
    """Print how many faults of the day the application hears."""
    prepared = prepare(image)
    graph = prepared.model.main
    ends = [[graph.tensors[i] for i in side] for side in (graph.inputs, graph.outputs)]
    plan = plan_anomaly(AnomalyHead.from_json(prepared.extra[KEY]), *ends)
    learned = LearnedEvents(Learning(plan, 0, RATE, HOP), None, ())
    starts = [
        e.at / RATE for e in reference_events(prepared, day, None, learned) if e.kind == EventKind.START
    ]
    begins = [BEGIN_S + k * (FAULT_S + AFTER_S) for k in range(len(FAULTS))]
    heard = [any(begin <= at < begin + FAULT_S for at in starts) for begin in begins]
    false = sum(not any(begin <= at < begin + FAULT_S + 1 for begin in begins) for at in starts)
    print(
        f"{sum(heard)} of {len(FAULTS)} faults of the day are heard; {false} other alarms in {len(day) / RATE:.0f} s"
    )


def main(folder: Path) -> None:
    """Train, convert and score the model in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    settings, image = folder / "fan.toml", folder / "fan.tflite"
    write_atomic(settings, SETTINGS.encode())
    spec = Preprocessing.from_json(read_record(settings)["preprocessing"])
    rng = np.random.default_rng(0)
    x = np.concatenate([windows(spec, sound) for sound in healthy(TRAIN_S, rng)])
    layers = train(x)
    write_atomic(folder / "float.tflite", to_flatbuffer(dense_model(layers)))
    # Faults are louder than what the model was trained with.
    calibration = np.concatenate([x[::20], x[::200] + 10]).astype(np.float32)
    convert(folder / "float.tflite", image, calibration=calibration, preprocessing=settings, anomaly=settings)
    learn = np.concatenate([windows(spec, sound, ROWS) for sound in healthy(LEARN_S, rng)])
    test = {"": np.concatenate([windows(spec, sound, ROWS) for sound in healthy(TEST_S, rng)])}
    test |= {fault: windows(spec, fan(PIECE_S, rng, fault), ROWS) for fault in FAULTS}
    report(image, layers, learn, test)
    report_day(image, compose_day(folder / "day.wav", rng))


def run_app(folder: Path, board: str) -> int:
    """Write the application for ``board`` and, if the board is emulated, run it. Return the exit code."""
    command = [
        sys.executable,
        "-m",
        "arenite.host.cli.main",
        "app",
        str(folder / "fan.tflite"),
        "--board",
        board,
    ]
    recording = ["--play", str(folder / "day.wav")] if board.startswith("qemu_") else []
    return subprocess.call([*command, "--sensor", "microphone", "-o", str(folder / "app"), *recording])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("machine"), help="folder for all files")
    parser.add_argument(
        "--board", help="also write the application for this board, and run it if it is emulated"
    )
    options = parser.parse_args()
    main(options.folder)
    sys.exit(0 if options.board is None else run_app(options.folder, options.board))
