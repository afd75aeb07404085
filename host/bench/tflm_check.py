"""Which operators give other bytes in stock TensorFlow Lite Micro than in LiteRT's reference kernels.

Each operator is judged alone: it becomes a model of its own, fed with the values that LiteRT computes for its inputs,
so that a difference in one operator does not show up in those after it.

    python -m arenite.host.bench.tflm_check MODEL...
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from arenite.converters.errors import ArenaError
from arenite.converters.graph import Model, Op, Signature, Subgraph
from arenite.converters.image import to_flatbuffer
from arenite.converters.load import load_any
from arenite.host.bench.tflm import TflmJob, run_tflm

#: Operators that differ, with the reason; an image that has none of them gives the same bytes in both runtimes.
KNOWN_DIFFERENCES: dict[str, str] = {
    "FULLY_CONNECTED": (
        "int8: LiteRT's reference kernel rounds once when it scales the accumulator, TFLM twice (a doubling high "
        "multiply, then a rounding shift); results differ by at most 1"
    ),
}


@dataclass(frozen=True)
class OpVerdict:
    """One operator of a model: how many output bytes differ, or why TFLM does not run it."""

    index: int
    name: str
    different: int
    total: int
    largest: float  # largest absolute difference of an output value
    refused: str = ""


def single_op(model: Model, op: Op) -> Model:
    """A model of ``op`` alone; what other operators compute becomes an input."""
    main = model.main
    used = sorted({i for i in (*op.inputs, *op.outputs, *op.intermediates) if i >= 0})
    place = {old: new for new, old in enumerate(used)}
    tensors = tuple(replace(main.tensors[old], index=new) for new, old in enumerate(used))
    inputs: list[int] = []
    for old in op.inputs:
        t = main.tensors[old]
        if old >= 0 and not (t.is_constant or t.is_variable) and place[old] not in inputs:
            inputs.append(place[old])
    moved = replace(
        op,
        index=0,
        inputs=tuple(place.get(i, -1) for i in op.inputs),
        outputs=tuple(place[i] for i in op.outputs),
        intermediates=tuple(place[i] for i in op.intermediates),
    )
    outputs = moved.outputs
    signature = Signature(
        "serving_default",
        0,
        tuple((f"in{k}", i) for k, i in enumerate(inputs)),
        tuple((f"out{k}", i) for k, i in enumerate(outputs)),
    )
    graph = Subgraph(main.name, tensors, (moved,), tuple(inputs), outputs)
    return Model((graph, *model.subgraphs[1:]), signatures=(signature,))


def all_values(model: Model, inputs: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
    """Every tensor of the main subgraph that LiteRT's reference kernels compute, by tensor index."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_content=to_flatbuffer(model),
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
        num_threads=1,
    )
    interpreter.allocate_tensors()
    for index, value in zip(model.main.inputs, inputs, strict=True):
        interpreter.set_tensor(index, value)
    interpreter.invoke()
    made = set(model.main.inputs).union(*(op.outputs for op in model.main.ops))
    return {i: np.array(interpreter.get_tensor(i)) for i in made if model.main.tensors[i].itemsize}


def check(model: Model, runs: Sequence[Sequence[np.ndarray]]) -> list[OpVerdict]:
    """Judge every operator of the main subgraph on ``runs`` (per run one array per model input).

    Operators on resources (whose state no tensor holds) are left out.
    """
    values = [all_values(model, inputs) for inputs in runs]
    main = model.main
    judged = [op for op in main.ops if op.outputs and _plain(main, op)]
    jobs = []
    for op in judged:
        alone = single_op(model, op)
        used = sorted({i for i in (*op.inputs, *op.outputs, *op.intermediates) if i >= 0})
        sources = [used[i] for i in alone.main.inputs]
        jobs.append(TflmJob(to_flatbuffer(alone), [[v[i] for i in sources] for v in values], len(op.outputs)))
    verdicts = []
    for op, result in zip(judged, run_tflm(jobs), strict=True):
        different = total = 0
        largest = 0.0
        for run, got in enumerate(result.runs or []):
            for index, array in zip(op.outputs, got, strict=True):
                want = values[run][index]
                different += int(np.count_nonzero(_bytes(want) != _bytes(array)))
                total += want.nbytes
                if want.size:
                    gap = np.abs(want.astype(np.float64) - array.astype(np.float64).reshape(want.shape))
                    largest = max(largest, float(np.nanmax(gap)))
        verdicts.append(OpVerdict(op.index, op.name, different, total, largest, result.error))
    return verdicts


def _plain(graph: Subgraph, op: Op) -> bool:
    return all(graph.tensors[i].itemsize for i in (*op.inputs, *op.outputs) if i >= 0)


def _bytes(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


def random_runs(model: Model, count: int, seed: int = 0) -> list[list[np.ndarray]]:
    """``count`` sets of inputs over each type's whole range (float32: standard normal)."""
    rng = np.random.default_rng(seed)
    runs = []
    for _ in range(count):
        arrays = []
        for index in model.main.inputs:
            t = model.main.tensors[index]
            dtype = np.dtype(t.dtype)
            if dtype.kind == "f":
                arrays.append(rng.standard_normal(t.shape).astype(dtype))
            elif dtype.kind == "b":
                arrays.append(rng.integers(0, 2, t.shape).astype(bool))
            else:
                info = np.iinfo(dtype)
                arrays.append(rng.integers(info.min, info.max, t.shape, dtype, endpoint=True))
        runs.append(arrays)
    return runs


def main(paths: Sequence[str]) -> int:
    for path in paths:
        try:
            model = load_any(path)
            verdicts = check(model, random_runs(model, 2))
        except ArenaError as error:
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
