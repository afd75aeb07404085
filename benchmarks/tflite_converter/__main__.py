"""Compare int8 models with those of TensorFlow's TFLiteConverter: ``python -m benchmarks.tflite_converter``.

This program trains ten networks with Keras on samples of its own making. ``arenite convert`` and TFLiteConverter
quantize each network to int8 with the same 256 calibration samples. Both models run with LiteRT's reference kernels on
1,000 other samples, and on 10,000 more, which tell a difference from chance. The networks, models and results are
written to out/tflite_converter; trained networks are used again. NAMES runs only these networks. ``--docs`` updates the
tables in docs/quantization-comparison.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

import arenite
from arenite.converters.importers.environments import environment
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.scoring.model_runner import run_outputs
from arenite.files import write_atomic
from arenite.host.report.generated_tables import DOCS, markdown_table, replace_section
from benchmarks.tflite_converter.samples import more_test_samples, tasks

OUT = Path("out/tflite_converter").resolve()
CHILD = Path(__file__).parent / "children" / "train_networks.py"
PAGE = DOCS / "quantization-comparison.md"

#: The task of each network.
NETWORKS = {
    "mlp": "rows",
    "cnn": "gratings",
    "dscnn": "gratings",
    "resnet": "gratings",
    "mobilenet": "gratings",
    "squeeze": "gratings",
    "waveform": "waves",
    "transformer": "gratings",
    "autoencoder": "patches",
    "unet": "blobs",
}


@dataclass(frozen=True)
class Figures:
    """The figures of one model.

    ``score`` is the accuracy (r2 for the auto-encoder), ``same`` the share of decisions that are those of the float
    model (None for the auto-encoder). ``sqnr_db`` and ``error`` are the signal-to-noise ratio and the mean magnitude of
    the difference from the float model's output. ``size`` is the bytes of the file.
    """

    score: float
    same: float | None
    sqnr_db: float
    error: float
    size: int


@dataclass(frozen=True)
class Comparison:
    """The figures of the float network and of both int8 models. ``more`` has the same figures for more test
    samples."""

    name: str
    float_score: float
    tensorflow: Figures
    arenite: Figures
    more: Comparison | None = None

    @property
    def error_ratio(self) -> float:
        return self.arenite.error / self.tensorflow.error


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tflite_converter", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAMES", help="Networks: " + ", ".join(NETWORKS))
    parser.add_argument("--docs", action="store_true", help=f"Also update docs/{PAGE.name}.")
    options = parser.parse_args(argv)
    names = options.names or list(NETWORKS)
    prepare(names)
    comparisons = []
    for name in names:
        comparisons.append(compare(name))
        print(*row(comparisons[-1]), sep="  ", flush=True)
    print(summary(comparisons))
    write_atomic(OUT / "comparisons.json", json.dumps([asdict(c) for c in comparisons], indent=1).encode())
    if options.docs:
        page = replace_section(PAGE.read_text("utf-8"), "comparison", table(comparisons))
        more = [c.more for c in comparisons if c.more is not None]
        page = replace_section(page, "more samples", more_table(more))
        page = replace_section(page, "summary of more samples", more_summary(more))
        write_atomic(PAGE, replace_section(page, "summary", summary(comparisons)).encode())
    return 0


def prepare(names: Sequence[str]) -> None:
    """Write the samples, and train and convert the networks that do not exist yet."""
    OUT.mkdir(parents=True, exist_ok=True)
    missing = [n for n in names if not (OUT / f"{n}.more.npz").exists()]
    if not missing:
        return
    for task, data in tasks().items():
        data.save(OUT / f"{task}.npz")
    for task, data in more_test_samples().items():
        np.savez(OUT / f"{task}.more.npz", x=data.x, y=data.y)
    environment("tensorflow").run(CHILD, str(OUT), *missing, timeout=3600)


def compare(name: str) -> Comparison:
    """Convert the network ``name`` with Arenite, and return the figures of both int8 models."""
    with np.load(OUT / f"{NETWORKS[name]}.npz") as data:
        calibration, test, labels = data["x_calibration"], data["x_test"], data["y_test"]
    with np.load(OUT / f"{NETWORKS[name]}.more.npz") as data:
        more_test, more_labels = data["x"], data["y"]
    image = OUT / f"{name}.image.tflite"
    report = arenite.convert(OUT / f"{name}.keras", image, calibration=calibration)
    assert report.path == image

    def comparison(test: np.ndarray, labels: np.ndarray, float_outputs: Path) -> Comparison:
        with np.load(float_outputs) as data:
            expected = data["outputs"]
        theirs, ours = (figures(p, test, labels, expected) for p in (OUT / f"{name}.tflite", image))
        return Comparison(name, score(expected, labels), theirs, ours)

    more = comparison(more_test, more_labels, OUT / f"{name}.more.npz")
    return replace(comparison(test, labels, OUT / f"{name}.npz"), more=more)


def figures(path: Path, test: np.ndarray, labels: np.ndarray, expected: np.ndarray) -> Figures:
    """Return the figures of the int8 model ``path``. ``expected`` has the float model's outputs for ``test``."""
    flatbuffer = path.read_bytes()
    samples = Dataset([[x[None]] for x in test], None, {}, "", OUT)
    outputs = np.concatenate(run_outputs(flatbuffer, samples, reference=True)[0]).reshape(expected.shape)
    difference = outputs.astype(np.float64) - expected
    noise = float(np.sum(difference**2))
    sqnr = 10 * float(np.log10(np.sum(expected.astype(np.float64) ** 2) / noise))
    same = None if labels.dtype.kind == "f" else score(outputs, expected.argmax(axis=-1))
    return Figures(score(outputs, labels), same, sqnr, float(np.abs(difference).mean()), len(flatbuffer))


def score(outputs: np.ndarray, targets: np.ndarray) -> float:
    """Return the accuracy, or r2 if the targets are real numbers."""
    if targets.dtype.kind == "f":
        return 1 - float(np.mean((outputs - targets) ** 2) / np.mean((targets - targets.mean(axis=0)) ** 2))
    return float(np.mean(outputs.argmax(axis=-1) == targets))


def row(c: Comparison) -> tuple[str, ...]:
    """Return the cells of one network for the table."""
    ours, theirs = c.arenite, c.tensorflow
    return (
        c.name,
        f"{c.float_score:.2%}",
        f"{theirs.score:.2%}",
        f"{ours.score:.2%}",
        "–" if theirs.same is None else f"{theirs.same:.2%}",
        "–" if ours.same is None else f"{ours.same:.2%}",
        f"{theirs.sqnr_db:.1f}",
        f"{ours.sqnr_db:.1f}",
        f"{theirs.error:.2e}",
        f"{ours.error:.2e}",
        f"{c.error_ratio:.2f}",
        f"{theirs.size:,}",
        f"{ours.size:,}",
    )


#: The heads of the columns up to the SQNR, which both tables have.
_HEAD = (
    "network",
    "float",
    "TFLiteConverter",
    "Arenite",
    "same, TFLiteConverter",
    "Arenite",
    "SQNR dB, TFLiteConverter",
    "Arenite",
)


def table(comparisons: Sequence[Comparison]) -> str:
    head = (
        *_HEAD,
        "mean difference, TFLiteConverter",
        "Arenite",
        "ratio",
        "file B, TFLiteConverter",
        "Arenite",
    )
    return markdown_table(head, [row(c) for c in comparisons], range(1, len(head)))


def more_table(comparisons: Sequence[Comparison]) -> str:
    """Return the table of the figures with more test samples: scores, decisions, SQNR and the ratio of the errors."""
    head = (*_HEAD, "ratio of mean differences")
    rows = [(*row(c)[: len(_HEAD)], f"{c.error_ratio:.2f}") for c in comparisons]
    return markdown_table(head, rows, range(1, len(head)))


def more_summary(comparisons: Sequence[Comparison]) -> str:
    """Return a sentence on the figures with more test samples."""
    pairs = [(c.arenite, c.tensorflow) for c in comparisons]
    decisions = [(a.same, b.same) for a, b in pairs if a.same is not None and b.same is not None]
    return (
        f"With these samples, Arenite's int8 model has at least the score of TFLiteConverter's in"
        f" {sum(a.score >= b.score for a, b in pairs)} of {len(comparisons)} networks, and as many decisions of the"
        f" float model or more in {sum(a >= b for a, b in decisions)} of {len(decisions)}. The median ratio of the mean"
        f" differences is {median(c.error_ratio for c in comparisons):.2f}."
    )


def summary(comparisons: Sequence[Comparison]) -> str:
    """Return sentences on all comparisons."""
    count = len(comparisons)
    pairs = [(c.arenite, c.tensorflow) for c in comparisons]
    decisions = [(a.same, b.same) for a, b in pairs if a.same is not None and b.same is not None]
    return (
        f"Of {count} networks, Arenite's int8 model has at least the score of TFLiteConverter's in"
        f" {sum(a.score >= b.score for a, b in pairs)}, as many decisions of the float model or more in"
        f" {sum(a >= b for a, b in decisions)} of {len(decisions)}, at least its SQNR in"
        f" {sum(a.sqnr_db >= b.sqnr_db for a, b in pairs)}, and a file that is not larger in"
        f" {sum(a.size <= b.size for a, b in pairs)}. The median ratio of the mean differences is"
        f" {median(c.error_ratio for c in comparisons):.2f}."
    )


if __name__ == "__main__":
    sys.exit(main())
