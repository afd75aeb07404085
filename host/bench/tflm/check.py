"""Find operators whose outputs in stock TensorFlow Lite Micro differ from those of LiteRT's reference kernels.

Each operator is checked alone. It becomes a separate model whose inputs are the values that LiteRT computes for them,
so a difference in one operator does not affect the operators after it.

    python -m arenite.host.bench.tflm.check MODEL...
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.model import Model, Op, Subgraph
from arenite.converters.graph.single_operator import single_operator_model
from arenite.converters.importers.load import load_any
from arenite.converters.tflite.image import to_flatbuffer
from arenite.converters.tflite.litert.interpreter import LiteRtModel
from arenite.errors import AreniteError
from arenite.host.bench.tflm.runner import TflmJob, TflmResult, run_tflm

#: Maps the name of an operator whose outputs differ to the cases in which they differ. An image without these cases
#: gives the same bytes in both runtimes. ``tests/host/bench/tflm/test_tflm.py`` measures the differences, and fails
#: when one of them no longer exists.
KNOWN_DIFFERENCES: dict[str, str] = {
    "ADD": (
        "int16 with power-of-two scales and pot_scale_int16: LiteRT shifts, TFLM multiplies; int32 with a fused "
        "activation: TFLM does not apply it"
    ),
    "FULLY_CONNECTED": (
        "int8 and int16: LiteRT's reference kernel rounds once when it scales the accumulator, TFLM twice (a doubling "
        "high multiply, then a rounding shift); results differ by at most 1"
    ),
    "GREATER": "int16: TFLM scales before it compares, but sets the factors for int8 only",
    "MUL": "int16: the product is rounded differently; a few results in ten thousand differ by 1",
    "RELU": "int8 and int16 if the output has another scale: the scaling is rounded differently, by at most 1",
    "RELU6": "int8 and int16 if the output has another scale: TFLM clamps without scaling",
    "RSQRT": "int16: LiteRT interpolates in a table, TFLM computes each value",
    "SOFTMAX": "int16: about one result in a thousand differs by 1",
    "SPACE_TO_BATCH_ND": "int8 and int16 with padding and a zero point that is not 0: TFLM pads with 0",
    "SUB": "int16 with power-of-two scales and pot_scale_int16: LiteRT shifts, TFLM multiplies",
    "SUM": "int8 and int16: TFLM returns different values",
    "TANH": "int8 if the output does not have scale 1/128 and zero point 0, which TFLM assumes",
}


@dataclass(frozen=True)
class OpVerdict:
    """The comparison of one operator: ``different`` of its ``total`` output bytes differ. ``refused`` is the reason why
    TFLM does not run the operator, else it is empty."""

    index: int
    name: str
    different: int
    total: int
    largest: float  # largest absolute difference of an output value
    refused: str = ""


def all_values(model: Model, inputs: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
    """Run LiteRT's reference kernels, and return the values of all inputs and computed tensors of the main subgraph, by
    tensor index.

    Raises ``ModelError`` if LiteRT rejects the model or the values.
    """
    litert = LiteRtModel(to_flatbuffer(model), exact=True, keep=True)
    litert.run(inputs)
    defined = set(model.main.inputs).union(*(op.outputs for op in model.main.ops))
    return {i: litert.value(i) for i in defined if model.main.tensors[i].itemsize}


def check(model: Model, runs: Sequence[Sequence[np.ndarray]]) -> list[OpVerdict]:
    """Check every operator of the main subgraph, and return one verdict per operator. Each of ``runs`` has one array
    per model input.

    Operators on resources are left out, because their state is not in a tensor.
    """
    return check_all([(model, runs)])[0]


def check_all(models: Sequence[tuple[Model, Sequence[Sequence[np.ndarray]]]]) -> list[list[OpVerdict]]:
    """Run ``check`` for many models, and start TFLM only once."""
    parts = [_jobs(model, runs) for model, runs in models]
    results = iter(run_tflm([job for part in parts for job in part.jobs]))
    return [_verdicts(part, [next(results) for _ in part.jobs]) for part in parts]


@dataclass(frozen=True)
class _ModelJobs:
    """The checked operators of a model, one TFLM job per operator, and for each run LiteRT's values by tensor index."""

    ops: list[Op]
    jobs: list[TflmJob]
    values: list[dict[int, np.ndarray]]


def _jobs(model: Model, runs: Sequence[Sequence[np.ndarray]]) -> _ModelJobs:
    values = [all_values(model, inputs) for inputs in runs]
    main = model.main
    checked = [op for op in main.ops if op.outputs and _has_only_plain_tensors(main, op)]
    jobs = []
    for op in checked:
        single = single_operator_model(model, op)
        used = sorted({i for i in (*op.inputs, *op.outputs, *op.intermediates) if i >= 0})
        sources = [used[i] for i in single.main.inputs]
        jobs.append(
            TflmJob(to_flatbuffer(single), [[v[i] for i in sources] for v in values], len(op.outputs))
        )
    return _ModelJobs(checked, jobs, values)


def _verdicts(part: _ModelJobs, results: Sequence[TflmResult]) -> list[OpVerdict]:
    verdicts = []
    for op, result in zip(part.ops, results, strict=True):
        different = total = 0
        largest = 0.0
        for run, values in enumerate(result.runs or []):
            for index, array in zip(op.outputs, values, strict=True):
                expected = part.values[run][index]
                different += int(np.count_nonzero(_bytes(expected) != _bytes(array)))
                total += expected.nbytes
                if expected.size:
                    gap = np.abs(
                        expected.astype(np.float64) - array.astype(np.float64).reshape(expected.shape)
                    )
                    largest = max(largest, float(np.nanmax(gap)))
        verdicts.append(OpVerdict(op.index, op.name, different, total, largest, result.error))
    return verdicts


def _has_only_plain_tensors(graph: Subgraph, op: Op) -> bool:
    return all(graph.tensors[i].itemsize for i in (*op.inputs, *op.outputs) if i >= 0)


def _bytes(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


def random_runs(model: Model, count: int, seed: int = 0) -> list[list[np.ndarray]]:
    """Return ``count`` sets of random inputs. float32 values have a standard normal distribution. Integers of 32 and 64
    bits are from -1000 to 1000, so sums do not overflow. Other types cover their whole range."""
    rng = np.random.default_rng(seed)
    runs = []
    for _ in range(count):
        arrays = []
        for index in model.main.inputs:
            tensor = model.main.tensors[index]
            dtype = np.dtype(tensor.dtype)
            if dtype.kind == "f":
                arrays.append(rng.standard_normal(tensor.shape).astype(dtype))
            elif dtype.kind == "b":
                arrays.append(rng.integers(0, 2, tensor.shape).astype(bool))
            else:
                info = np.iinfo(dtype)
                low, high = (max(info.min, -1000), 1000) if dtype.itemsize >= 4 else (info.min, info.max)
                arrays.append(rng.integers(low, high, tensor.shape, dtype, endpoint=True))
        runs.append(arrays)
    return runs


def main(paths: Sequence[str]) -> int:
    for path in paths:
        try:
            model = load_any(path)
            verdicts = check(model, random_runs(model, 2))
        except AreniteError as error:
            print(error, file=sys.stderr)
            return error.exit_code
        print(path)
        for v in verdicts:
            result = v.refused or (
                f"{v.different} of {v.total} bytes differ" if v.different else "same bytes"
            )
            print(f"  {v.index:3} {v.name:24} {result}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
