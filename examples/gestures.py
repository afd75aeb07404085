"""Measure the application ``gestures``, whose model is trained on this computer.

    python examples/gestures.py gestures

The first call trains the model (``arenite.models.training.gestures``), which takes seconds. The program prints the
accuracy on recordings that the model was not trained with, and the events in all of them, one after the other. It
writes them as ``day.csv`` and ``day.npy``, and the image ``gesture.tflite``. ``arenite app gestures`` with ``--play
example`` makes the application and plays the same recordings to it.
"""

from __future__ import annotations

import argparse
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np

from arenite.converters.decision.reference import EventKind
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.files import write_atomic
from arenite.host.app.applications import application_image, example_samples
from arenite.host.app.reference import ReferenceApp
from arenite.host.bench.reference import Reference
from arenite.host.build.prepare import Prepared, prepare
from arenite.models.datasets.motions import LABELS
from arenite.models.training.gestures import held_out, windows


def accuracy(prepared: Prepared, samples: np.ndarray, labels: np.ndarray) -> tuple[float, int]:
    """Return the accuracy of the int8 model in the windows of int16 recordings [recordings, moments, axes] with
    ``labels``, and the number of windows."""
    spec = Preprocessing.from_json(prepared.extra["preprocessing"])  # it yields int8 inputs
    x = windows(spec, samples)
    shape = prepared.model.main.tensors[prepared.model.main.inputs[0]].shape
    reference = Reference(prepared.reference)
    answers = [int(np.argmax(reference.run([row.reshape(shape)])[0])) for row in x]
    return float(np.mean(answers == np.repeat(labels, len(x) // len(samples)))), len(x)


def main(folder: Path) -> None:
    """Print the figures, and write the recordings and the image to ``folder``."""
    image, day = application_image("gestures"), example_samples("gestures")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(image, folder / "gesture.tflite")
    write_atomic(folder / "day.csv", "".join(",".join(map(str, row)) + "\n" for row in day.tolist()))
    np.save(folder / "day.npy", day)
    prepared = prepare(image)
    samples, labels = held_out()
    share, count = accuracy(prepared, samples, labels)
    print(f"int8 accuracy on {count} windows of recordings not trained with: {share:.1%}")
    app = ReferenceApp(prepared)
    starts = [event for event in app.feed(day) if event.kind == EventKind.START]
    length = len(day) // len(labels)
    right = [event for event in starts if labels[event.at // length] == event.index]
    changes = sum(a != b and b != LABELS.index("Standing") for a, b in pairwise([-1, *labels]))
    print(
        f"{len(labels)} recordings in a row, {changes} motions other than standing: {len(starts)} events start, "
        f"{len(right)} of them name the motion of their moment; the model slept in {app.gated} of {app.windows} windows"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("gestures"), help="folder for all files")
    main(parser.parse_args().folder)
