"""Make libraries of small models for tests, with inputs and the outputs that LiteRT computes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.firmware.generator.target import SCALAR, Target
from arenite.host.bench.reference import Reference
from arenite.host.build.library import generate_library
from arenite.host.build.prepare import Prepared, prepare
from tests.fuzz.comparison import random_input
from tests.host.small_graphs import classifier, counter, save

ROOT = Path(__file__).resolve().parents[3]
ARDUINO = ROOT / "tests" / "firmware" / "boards" / "arduino_core"
STAND_INS = Path(__file__).parent
PORTABLE = Target("", SCALAR, "balanced")
needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")


def three_models(folder: Path) -> dict[str, Prepared]:
    """Return two classifiers of different sizes, and a model with state."""
    models: dict[str, Model] = {"small": classifier(), "large": classifier(20, 8), "sums": counter()}
    return {name: prepare(save(model, folder / f"{name}.tflite")) for name, model in models.items()}


def write_library_of(folder: Path, models: Mapping[str, Prepared], target: Target = PORTABLE) -> Path:
    """Generate a library of ``models`` in ``folder``, and return ``folder``."""
    generate_library(folder, "models", models, target)
    return folder


def run(*command: str | Path) -> str:
    """Run a program that must succeed, and return its output."""
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def check_warnings(files: Iterable[Path], folder: Path) -> None:
    """Compile C files with the strictest warnings as errors. Object files are written to ``folder``."""
    strict = [
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-Wconversion",
        "-Wshadow",
        "-DAR_HOST",
    ]
    for file in files:
        run("gcc", *strict, "-c", file, "-o", folder / "out.o")


def sources(library: Path) -> list[Path]:
    """Return the paths of the library's C files."""
    return sorted((library / "src").rglob("*.c"))


class ModelTurns:
    """Inputs for models that run in turn, and LiteRT's outputs for them. State is kept between the turns.

    Each model runs ``count`` times. ``inputs`` has the bytes of each input tensor, and ``outputs`` the values of each
    output tensor, both in the order of the runs.
    """

    def __init__(self, models: Mapping[str, Prepared], count: int) -> None:
        rng = np.random.default_rng(7)
        references = {name: Reference(p.reference) for name, p in models.items()}
        self.inputs: list[bytes] = []
        self.outputs: list[list[int]] = []
        for turn in range(count):
            for name, prepared in models.items():
                graph = prepared.model.main
                values = [random_input(graph.tensors[i], rng) for i in graph.inputs]
                self.inputs += [value.tobytes() for value in values]
                outputs = references[name].run(values, reset=turn == 0)
                self.outputs += [[int(v) for v in value.flat] for value in outputs]


def numbers(text: str) -> list[list[int]]:
    """Parse the lines of numbers that an example prints."""
    return [[int(word) for word in line.split()] for line in text.splitlines() if line.strip()]


def flags(*folders: Path) -> Sequence[str]:
    """Return compiler flags that add the folders to the include path."""
    return [f"-I{folder}" for folder in folders]
