"""One conversion of the tables: ``arenite convert``, then ``arenite bench`` of the image, as a user runs them."""

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
    """``group``: its table. ``test``: labelled or not, in real values or with their scale. ``reference``: an int8 model
    that somebody else made of the same network, to be scored on the same samples."""

    group: str
    name: str
    source: str
    calibration: Path
    test: Path
    options: tuple[str, ...] = ()
    reference: Path | None = None
    samples: int = 20  # that the emulated board gets
    board: str = BOARD

    @property
    def slug(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", f"{self.group} {self.name}".lower()).strip("-")


def run(case: Case, out: Path) -> dict[str, Any]:
    """The row of ``case``; also left in ``out`` beside the image. Raises ``ToolError`` where a command fails."""
    image = out / f"{case.slug}.image.tflite"
    given = [case.source, "-o", str(image), "--test", str(case.test), *case.options]
    if "--html" not in given:
        given += ["--html", str(out / f"{case.slug}.html")]
    if not case.source.endswith("_int8.tflite"):
        given += ["--calibration", str(case.calibration)]
    conversion, convert_s = _arenite("convert", *given)
    stored = _stored(image, case, out / f"{case.slug}.npz")
    benched, bench_s = _arenite("bench", str(image), "--board", case.board, "--data", str(stored))
    source = Path(case.source)
    files = [p for p in ([source] if source.is_file() else source.rglob("*")) if p.is_file()]
    row = {
        "schema": SCHEMA,
        "group": case.group,
        "name": case.name,
        "source_bytes": sum(p.stat().st_size for p in files) if source.exists() else None,
        "convert": conversion,
        "bench": benched,
        "seconds": {"convert": convert_s, "bench": bench_s},
        "reference": None if case.reference is None else _reference(case, image),
    }
    write_atomic(out / f"{case.slug}.json", json.dumps(row, indent=1) + "\n")
    return row


def _arenite(*words: str) -> tuple[dict[str, Any], float]:
    """The JSON object of a command, and its seconds."""
    command = [sys.executable, "-m", "arenite.host.cli.main", *words, "--json"]
    variables = os.environ | {"MNIST_PT2": str(SOURCES / "mnist.pt2")}
    start = time.monotonic()
    # A module:function source is looked for in the current folder.
    done = subprocess.run(command, capture_output=True, text=True, env=variables, cwd=CHILDREN)
    if done.returncode != 0:
        raise ToolError(
            f"{' '.join(words)} ended with {done.returncode}: {done.stderr[-2000:]}", "Run it by hand."
        )
    return json.loads(done.stdout), time.monotonic() - start


def _stored(image: Path, case: Case, path: Path) -> Path:
    """The first samples of the test file as the image's input stores them."""
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
    """The other int8 model, by the reference kernels, against the labels or the float model's decisions.

    ``difference``: the largest difference of an output from the float model's, mean over the samples, of the other
    model and of the image.
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
