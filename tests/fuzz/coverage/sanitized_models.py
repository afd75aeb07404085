"""Run generated models in a program that was built with sanitizers, and compare their outputs with LiteRT's."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arenite.converters.graph.model import DTYPES, Model
from arenite.converters.tflite.image import to_flatbuffer
from arenite.firmware.generator.generated_model import Generated
from arenite.host.bench.reference import Reference
from tests.fuzz.comparison import Mismatch, mismatch_of, random_input
from tests.fuzz.coverage.build_targets import compile_program
from tests.fuzz.coverage.c_sources import models_program


@dataclass(frozen=True)
class _Run:
    """One inference: the numbers of the model and of the run, and LiteRT's outputs."""

    model: int
    number: int
    expected: list[np.ndarray]


def compare_sanitized(
    models: Sequence[tuple[Model, Generated]],
    folder: Path,
    compiler: str,
    flags: Sequence[str],
    *,
    seed: int = 0,
    runs: int = 2,
) -> list[Mismatch]:
    """Run every model ``runs`` times on random inputs and return every output that differs from LiteRT's.

    ``models`` has each model with its generated code, whose C names have a prefix of their own. Raises
    ``AssertionError`` with the report of the sanitizer if it finds an error.
    """
    sources = models_program(folder, [generated for _, generated in models], "run_samples.c")
    program = compile_program(sources, folder / "program", compiler, flags)
    samples, expected = [], []
    for k, (model, _) in enumerate(models):
        reference = Reference(to_flatbuffer(model))
        rng = np.random.default_rng([seed, k])
        for number in range(runs):
            inputs = [random_input(model.main.tensors[i], rng) for i in model.main.inputs]
            data = b"".join(np.ascontiguousarray(value).tobytes() for value in inputs)
            samples.append(struct.pack("<IB", k, 1) + data)
            expected.append(_Run(k, number, reference.run(inputs, reset=True)))
    (folder / "samples").write_bytes(b"".join(samples))
    result = subprocess.run(
        [str(program), str(folder / "samples"), str(folder / "outputs")],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=600,
        env={**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1"},
    )
    assert result.returncode == 0, result.stderr[:6000]
    data = (folder / "outputs").read_bytes()
    at = 0
    mismatches = []
    for run in expected:
        for index, values in enumerate(run.expected):
            tensor = models[run.model][0].main.tensors[models[run.model][0].main.outputs[index]]
            dtype = DTYPES[tensor.dtype]
            assert dtype is not None
            nbytes = int(np.prod(tensor.shape)) * np.dtype(dtype).itemsize
            actual = np.frombuffer(data[at : at + nbytes], dtype).reshape(tensor.shape)
            at += nbytes
            mismatch = mismatch_of(run.model, index, run.number, values, actual)
            mismatches += [mismatch] if mismatch else []
    assert at == len(data)
    return mismatches
