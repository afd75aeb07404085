"""Convert one random network, score the images on samples that no step has used, and run one on an emulated board."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.graph.model import DTYPES
from arenite.converters.importers.load import load_any_image
from arenite.converters.quantize.dataset.dataset import Dataset, load_dataset
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.scoring.model_runner import quantize_values, run_outputs
from arenite.converters.quantize.scoring.score import score_outputs
from arenite.files import write_atomic
from benchmarks.random_networks.architectures import Network
from benchmarks.random_networks.importing import float_model_of
from benchmarks.random_networks.tasks import make_task
from benchmarks.random_networks.training import outputs_of, samples_of, source_of

BOARD = "qemu_mps2_an386"
SCHEMA = "arenite.random_networks/1"

#: The number of samples that run on the board.
_BENCH_SAMPLES = 10


def run_network(network: Network, folder: Path) -> dict[str, Any]:
    """Return the row of a trained ``network``, and write it to ``folder``/NAME.json.

    The imported network is converted with ``--auto``, and with ``--recipe int8`` if ``--auto`` chose another recipe.
    The image of ``--auto`` runs on the board. If the importer refused the network, the command gets the framework's
    file, so that its duration is measured.
    """
    row: dict[str, Any] = {"schema": SCHEMA, **network.to_json(), "name": network.name}
    row["training"] = json.loads((folder / f"{network.name}.trained.json").read_text())
    imported = float_model_of(network, folder)
    row["import"] = json.loads((folder / f"{network.name}.import.json").read_text())
    source, images = str(imported if imported.exists() else source_of(network, folder)), {}
    for way, options in (("auto", ("--auto",)), ("int8", ("--recipe", "int8"))):
        images[way] = folder / f"{network.name}.{way}.image.tflite"
        words = [source, "-o", str(images[way]), *options, *_sample_options(network, folder)]
        row[way] = _arenite("convert", *words)
        if row[way]["refusal"] is not None:
            break
        if way == "auto" and is_plain(row[way]["result"]):  # so plain int8 would give the same image
            images["int8"] = images["auto"]
            break
    if len(images) == 2 and all(row[way]["refusal"] is None for way in ("auto", "int8") if way in row):
        row["scores"] = _scores(network, images, folder)
        graph = load_any_image(images["auto"]).model.main
        row["operators"] = dict(Counter(op.name for op in graph.ops))
        samples = _write_samples(images["auto"], network, folder)
        row["bench"] = _arenite("bench", str(images["auto"]), "--board", BOARD, "--data", str(samples))
    write_atomic(folder / f"{network.name}.json", json.dumps(row, indent=1) + "\n")
    return row


def is_plain(result: dict[str, Any]) -> bool:
    """Return whether an image was quantized with the recipe ``int8`` as it is. ``result`` is the object that ``arenite
    convert`` printed."""
    return bool(result["calibration"]["recipe"] == load_recipe("int8").to_json())


def _sample_options(network: Network, folder: Path) -> list[str]:
    options = ["--calibration", str(samples_of(network, "calibration", folder))]
    options += ["--test", str(samples_of(network, "validation", folder))]
    return [*options, "--metric", "r2"] if network.kind == "regression" else options


def _arenite(*words: str) -> dict[str, Any]:
    """Run ``arenite`` with the arguments ``words``. Return its JSON object as ``result``, the duration in ``seconds``,
    and in ``refusal`` the message if there is no result, else None."""
    start = time.monotonic()
    command = [sys.executable, "-m", "arenite.host.cli.main", *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.monotonic() - start
    refused = done.returncode not in (0, 1) or not done.stdout
    return {
        "seconds": seconds,
        "exit_code": done.returncode,
        "refusal": done.stderr.strip()[-2000:] if refused else None,
        "result": None if refused else json.loads(done.stdout),
    }


def _scores(network: Network, images: dict[str, Path], folder: Path) -> list[dict[str, Any]]:
    """Return for each output its metric, and the scores of the framework ("float") and of each image on the test
    samples. The images run with LiteRT's reference kernels."""
    graph = load_any_image(images["int8"]).model.main
    dataset = load_dataset(
        samples_of(network, "test", folder), [graph.tensors[i] for i in graph.inputs], calibration=False
    )
    # The file has the targets of the first output only. The seed is that of the test samples in training.py.
    targets = make_task(network.task, len(dataset), 4).y
    dataset = replace(dataset, labels=targets[0], more_labels=dict(enumerate(targets[1:], 1)))
    values: dict[str, list[list[np.ndarray]]] = {
        "float": [list(y[:, None]) for y in outputs_of(network, folder)]
    }
    for way, image in images.items():
        values[way] = run_outputs(image.read_bytes(), dataset, reference=True)
    return [
        {
            "metric": "r2" if kind == "values" else "accuracy",
            **{way: _score(outputs[k], dataset.for_output(k), kind) for way, outputs in values.items()},
        }
        for k, kind in enumerate(network.outputs)
    ]


def _score(outputs: list[np.ndarray], dataset: Dataset, kind: str) -> float:
    return score_outputs(outputs, dataset, "r2" if kind == "values" else "accuracy", reference=outputs).value


def _write_samples(image: Path, network: Network, folder: Path) -> Path:
    """Write a few test samples, quantized like the inputs of ``image``, and return the path of the file."""
    graph = load_any_image(image).model.main
    tensors = [graph.tensors[i] for i in graph.inputs]
    source = samples_of(network, "test", folder)
    dataset = load_dataset(source, tensors, limit=_BENCH_SAMPLES, calibration=False)
    arrays: dict[str, Any] = {}
    for i, tensor in enumerate(tensors):
        x = np.stack([sample[i] for sample in dataset.inputs])
        dtype = DTYPES[tensor.dtype]
        if tensor.quant is not None and dtype is not None:
            x = quantize_values(x, tensor.scale, tensor.zero_point, dtype)
        arrays["x" if len(tensors) == 1 else f"x{i}"] = x
    path = folder / f"{network.name}.bench.npz"
    np.savez(path, **arrays)
    return path
