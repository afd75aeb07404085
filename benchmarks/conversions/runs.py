"""Measure one row of the tables: run the command ``arenite convert``, then ``arenite bench`` with the image."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.graph.model import DTYPES
from arenite.converters.importers.load import load_any_image
from arenite.converters.quantize.dataset.dataset import load_dataset
from arenite.converters.quantize.scoring.model_runner import quantize_values, run_dataset
from arenite.converters.quantize.scoring.score import score_outputs
from arenite.converters.tflite.reader import load
from arenite.errors import ToolError
from arenite.files import write_atomic
from benchmarks.conversions.sources import CHILDREN, SOURCES

BOARD = "qemu_mps2_an386"
SCHEMA = "arenite.conversions/1"


@dataclass(frozen=True)
class Case:
    """One conversion, which becomes a row of a table.

    Args:
        group: the table that the row belongs to.
        name: the name of the row.
        source: the source for ``arenite convert``.
        calibration: the file with the calibration samples.
        test: the file with the test samples, with or without labels. They are real values, or quantized values together
            with their scale.
        options: more options for ``arenite convert``.
        reference: a published int8 model of the same network, which is scored on the same samples, or None.
        samples: the number of samples for the emulated board.
        board: the name of the emulated board.
    """

    group: str
    name: str
    source: str
    calibration: Path
    test: Path
    options: tuple[str, ...] = ()
    reference: Path | None = None
    samples: int = 20
    board: str = BOARD

    @property
    def slug(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", f"{self.group} {self.name}".lower()).strip("-")


def run(case: Case, out: Path) -> dict[str, Any]:
    """Return the row of ``case``, and write the row and the image to the folder ``out``. Raises ``ToolError`` if a
    command fails."""
    image = out / f"{case.slug}.image.tflite"
    arguments = [case.source, "-o", str(image), "--test", str(case.test), *case.options]
    if "--html" not in arguments:
        arguments += ["--html", str(out / f"{case.slug}.html")]
    if not case.source.endswith("_int8.tflite"):
        arguments += ["--calibration", str(case.calibration)]
    conversion, convert_s = _arenite("convert", *arguments)
    samples = _write_samples(image, case, out / f"{case.slug}.npz")
    bench, bench_s = _arenite("bench", str(image), "--board", case.board, "--data", str(samples))
    source = Path(case.source)
    files = [p for p in ([source] if source.is_file() else source.rglob("*")) if p.is_file()]
    row = {
        "schema": SCHEMA,
        "group": case.group,
        "name": case.name,
        "source_bytes": sum(p.stat().st_size for p in files) if source.exists() else None,
        "convert": conversion,
        "bench": bench,
        "seconds": {"convert": convert_s, "bench": bench_s},
        "reference": None if case.reference is None else _reference(case, image),
    }
    write_atomic(out / f"{case.slug}.json", json.dumps(row, indent=1) + "\n")
    return row


def _arenite(*words: str) -> tuple[dict[str, Any], float]:
    """Run the command ``arenite`` with the arguments ``words``. Return its JSON object and its duration in seconds."""
    command = [sys.executable, "-m", "arenite.host.cli.main", *words, "--json"]
    variables = os.environ | {"MNIST_PT2": str(SOURCES / "mnist.pt2")}
    start = time.monotonic()
    # `arenite convert` imports a module:function source from the current folder.
    done = subprocess.run(command, capture_output=True, text=True, env=variables, cwd=CHILDREN)
    if done.returncode != 0:
        raise ToolError(
            f"'arenite {' '.join(words)}' ended with exit code {done.returncode}: {done.stderr[-2000:]}",
            "Run this command in a terminal.",
        )
    return json.loads(done.stdout), time.monotonic() - start


def _write_samples(image: Path, case: Case, path: Path) -> Path:
    """Write the first samples of the test file to ``path``, quantized like the image's input, and return ``path``."""
    main = load_any_image(image).model.main
    (tensor,) = (main.tensors[i] for i in main.inputs)
    dataset = load_dataset(case.test, [tensor], limit=case.samples, calibration=False)
    dtype = DTYPES[tensor.dtype]
    assert dtype is not None and tensor.quant is not None
    x = np.stack(
        [quantize_values(sample[0], tensor.scale, tensor.zero_point, dtype) for sample in dataset.inputs]
    )
    if dataset.labels is None:
        np.savez(path, x=x)
    else:
        np.savez(path, x=x, y=dataset.labels)
    return path


def _reference(case: Case, image: Path) -> dict[str, Any]:
    """Return the score of the published int8 model, computed with LiteRT's reference kernels. It is compared with the
    labels, or without labels with the float model's decisions.

    ``difference`` is the largest difference of an output value from the float model's output, averaged over the
    samples: for the published model (``elsewhere``) and for the image (``here``).
    """
    assert case.reference is not None
    main = load(case.source).main
    dataset = load_dataset(case.test, [main.tensors[i] for i in main.inputs], calibration=False)
    before = run_dataset(Path(case.source).read_bytes(), dataset)
    after, ours = (run_dataset(p.read_bytes(), dataset, reference=True) for p in (case.reference, image))
    metric = score_outputs(before, dataset, reference=before).metric

    def difference(outputs: Sequence[np.ndarray]) -> float:
        return float(np.mean([np.abs(a - b).max() for a, b in zip(before, outputs, strict=True)]))

    scored = score_outputs(after, dataset, metric, reference=before).to_json()
    return {**scored, "difference": {"elsewhere": difference(after), "here": difference(ours)}}
