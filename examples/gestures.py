"""Train a small model of gestures, and run it as an application on an emulated board.

    python examples/gestures.py gestures --board qemu_mps2_an386

Without ``--board``, the model is only trained, and a second command makes the application:

    arenite app gestures/gesture.tflite --board qemu_mps2_an386 --sensor imu -o gestures/app --play gestures/day.csv

The data set is BasicMotions: 80 recordings of ten seconds from a smart watch, of people who stand, run, walk or play
badminton. Half of them are for training. `day.csv` has all the others, one after the other, and `day.npy` the same.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

from arenite import convert
from arenite.converters.processing.preprocess import preprocess_motion
from arenite.converters.processing.specification.preprocessing import Preprocessing, read_record
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.files import write_atomic
from arenite.host.app.reference import ReferenceApp
from arenite.host.bench.reference import Reference
from arenite.host.build.prepare import prepare
from arenite.models.datasets.motions import LABELS, recordings
from arenite.models.training.dense import Adam, dense_model

RATE, AXES, WINDOW, HOP = 10, 6, 40, 5
#: The int16 sample that is 1 in the data set, whose largest value is 35.
UNIT = 900
HIDDEN = 12
SETTINGS = f"""\
[preprocessing.source]
kind = "imu"
axes = {AXES}
rate = {RATE}
window = {WINDOW} # four seconds
hop = {HOP}
unit = {UNIT}

[[preprocessing.steps]]
do = "statistics"
values = ["mean", "std", "mean_crossings"]

[[preprocessing.steps]]
do = "bands"
edges = [0.2, 1, 2, 3.5, 5]
fft = 64
factor = 0.5

[decision]
threshold = 0.7
release = 0.5
smooth = "mean"
hops = 3
hop = {HOP}
ignore = ["Standing"]

[gate]
threshold = 1500.0 # counts: {1500 / UNIT:.1f} in the units of the data set
release = 1200.0
unit = "counts"
channels = {AXES}
block = {HOP}
hang_blocks = 4
"""


def counts(recording: np.ndarray) -> np.ndarray:
    """Return a recording [moments, axes] as int16 samples."""
    return np.clip(np.round(recording * UNIT), -32768, 32767).astype(np.int16)


def features(spec: Preprocessing, samples: np.ndarray) -> np.ndarray:
    """Return the inputs of the model [windows, features] for all windows of the recordings [recordings, moments,
    axes]."""
    starts = range(0, samples.shape[1] - WINDOW + 1, HOP)
    windows = [one[start : start + WINDOW] for one in samples for start in starts]
    return np.stack([preprocess_motion(spec, window).reshape(-1) for window in windows])


def train(x: np.ndarray, y: np.ndarray, epochs: int = 400) -> list[np.ndarray]:
    """Return the weights and biases of two dense layers, trained with Adam on float ``x`` [samples, features] and the
    classes ``y``."""
    rng = np.random.default_rng(1)
    scale = x.std(0) + 0.05  # the first layer takes the place of a normalization
    normal = (x - x.mean(0)) / scale
    sizes = (x.shape[1], HIDDEN, len(LABELS))
    weights = [rng.normal(0, (2 / n) ** 0.5, (m, n)) for n, m in pairwise(sizes)]
    layers = [part for w in weights for part in (w, np.zeros(len(w)))]
    adam = Adam(layers, 0.01)
    target = np.eye(len(LABELS))[y]
    for _ in range(epochs):
        w1, b1, w2, b2 = layers
        inputs = normal + rng.normal(0, 0.3, normal.shape)  # noise, because there are only 40 recordings
        hidden = np.maximum(inputs @ w1.T + b1, 0)
        logits = hidden @ w2.T + b2
        odds = np.exp(logits - logits.max(1, keepdims=True))
        error = (odds / odds.sum(1, keepdims=True) - target) / len(x)
        back = (error @ w2) * (hidden > 0)
        slopes = [back.T @ inputs, back.sum(0), error.T @ hidden, error.sum(0)]
        adam.update([slope + 1e-3 * part / len(layers) for slope, part in zip(slopes, layers, strict=True)])
    w1, b1, w2, b2 = layers
    return [w1 / scale, b1 - w1 @ (x.mean(0) / scale), w2, b2]


def main(folder: Path) -> None:
    """Train, convert and score the model in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    settings, labels = folder / "gesture.toml", folder / "labels.txt"
    write_atomic(settings, SETTINGS.encode())
    write_atomic(labels, "\n".join(LABELS).encode() + b"\n")
    spec = Preprocessing.from_json(read_record(settings)["preprocessing"])
    (x_train, y_train), (x_test, y_test), _ = recordings()
    train_samples, test_samples = counts(x_train), counts(x_test)
    x, x_held_out = features(spec, train_samples), features(spec, test_samples)
    per_recording = len(x) // len(x_train)
    y, y_held_out = np.repeat(y_train, per_recording), np.repeat(y_test, per_recording)
    write_atomic(folder / "float.tflite", to_flatbuffer(dense_model(train(x, y), softmax=True)))
    image = folder / "gesture.tflite"
    convert(
        folder / "float.tflite",
        image,
        calibration=x.astype(np.float32),
        preprocessing=settings,
        labels=labels,
        decision=settings,
    )
    order = np.random.default_rng(0).permutation(len(test_samples))
    day = np.concatenate(test_samples[order])
    np.savetxt(folder / "day.csv", day, fmt="%d", delimiter=",")
    np.save(folder / "day.npy", day)
    report(image, x_held_out, y_held_out, day, y_test[order])


def report(image: Path, x: np.ndarray, y: np.ndarray, day: np.ndarray, day_labels: np.ndarray) -> None:
    """Print the accuracy of the int8 model on windows of the held-out recordings, and its events in all of them."""
    prepared = prepare(image)
    tensor = prepared.model.main.tensors[prepared.model.main.inputs[0]]
    reference = Reference(prepared.reference)
    stored = np.clip(np.round(x / tensor.scale) + tensor.zero_point, -128, 127).astype(np.int8)
    answers = [int(np.argmax(reference.run([row.reshape(tensor.shape)])[0])) for row in stored]
    print(f"int8 accuracy on {len(y)} windows of recordings not trained with: {np.mean(answers == y):.1%}")
    app = ReferenceApp(prepared)
    starts = [event for event in app.feed(day) if event.kind == 0]
    length = len(day) // len(day_labels)
    right = [event for event in starts if day_labels[event.at // length] == event.index]
    changes = sum(a != b and b != LABELS.index("Standing") for a, b in pairwise([-1, *day_labels]))
    print(
        f"{len(day_labels)} recordings in a row, {changes} motions other than standing: {len(starts)} events start, "
        f"{len(right)} of them name the motion of their moment; the model slept in {app.gated} of {app.windows} windows"
    )


def run_app(folder: Path, board: str) -> int:
    """Write the application for ``board`` and, if the board is emulated, run it. Return the exit code."""
    command = [
        sys.executable,
        "-m",
        "arenite.host.cli.main",
        "app",
        str(folder / "gesture.tflite"),
        "--board",
        board,
    ]
    recording = ["--play", str(folder / "day.csv")] if board.startswith("qemu_") else []
    return subprocess.call([*command, "--sensor", "imu", "-o", str(folder / "app"), *recording])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("gestures"), help="folder for all files")
    parser.add_argument(
        "--board", help="also write the application for this board, and run it if it is emulated"
    )
    options = parser.parse_args()
    main(options.folder)
    sys.exit(0 if options.board is None else run_app(options.folder, options.board))
