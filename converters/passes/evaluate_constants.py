"""Run a model once with LiteRT's reference kernels, in a separate process.

The reference kernels do not check their inputs. A malicious model that crashes them ends only the child process. The
child runs this module: it reads a flatbuffer from standard input and writes an ``.npz`` file to standard output.
"""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.processes import run

#: The maximum time in seconds and the maximum address space in bytes of one evaluation.
MAX_TIME_S = 120
MAX_MEMORY_BYTES = 8 << 30

#: The maximum size of the output values that the child returns, in bytes.
MAX_OUTPUT_BYTES = 256 << 20

#: The child's argument to return only shapes, not values.
_SHAPES = "--shapes"


class EvaluationError(Exception):
    """LiteRT refused the model or crashed. The text is the reason, in one line."""


@dataclass(frozen=True)
class Evaluation:
    """The results of one inference with inputs of zeros."""

    shapes: dict[int, tuple[int, ...]]  # the shape of each tensor of the main subgraph, by tensor index
    values: tuple[np.ndarray, ...]  # one per graph output; empty when only shapes were requested


def evaluate(model: Model, *, values: bool = True) -> Evaluation:
    """Run one inference of ``model`` with zeros in every graph input, and return the shapes of its tensors and the
    values of its outputs. If ``values`` is false, return only the shapes.

    Raises ``EvaluationError``.
    """
    try:
        child = run(
            [
                sys.executable,
                "-m",
                "arenite.converters.passes.evaluate_constants",
                *([] if values else [_SHAPES]),
            ],
            input=to_flatbuffer(model),
            capture_output=True,
            timeout=MAX_TIME_S,
        )
    except subprocess.TimeoutExpired as error:
        raise EvaluationError(f"LiteRT takes more than {MAX_TIME_S} s") from error
    if child.returncode < 0:
        raise EvaluationError(f"LiteRT was ended by signal {-child.returncode}")
    if child.returncode:
        lines = child.stderr.decode(errors="replace").strip().splitlines()
        raise EvaluationError(lines[-1] if lines else f"exit code {child.returncode}")
    with np.load(io.BytesIO(child.stdout), allow_pickle=False) as result_arrays:
        shapes = {
            int(k[6:]): tuple(result_arrays[k].tolist()) for k in result_arrays if k.startswith("shape_")
        }
        outputs = tuple(result_arrays[f"value_{i}"] for i in range(len(model.main.outputs) if values else 0))
    return Evaluation(shapes, outputs)


def _child() -> int:
    """Run the model on standard input, in the child process. Return the exit code."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    except (ImportError, ValueError, OSError):
        pass  # this system has no such limit; the time limit still applies
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    try:
        interpreter = Interpreter(
            model_content=sys.stdin.buffer.read(),
            experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
            num_threads=1,
            experimental_preserve_all_tensors=True,
        )
        interpreter.allocate_tensors()
        for d in interpreter.get_input_details():
            interpreter.set_tensor(d["index"], np.zeros(d["shape"], d["dtype"]))
        interpreter.invoke()
        arrays = {f"shape_{d['index']}": d["shape"] for d in interpreter.get_tensor_details()}
        details = [] if _SHAPES in sys.argv else interpreter.get_output_details()
        size = sum(int(np.prod(d["shape"], dtype=np.int64)) * np.dtype(d["dtype"]).itemsize for d in details)
        if size > MAX_OUTPUT_BYTES:
            print(f"the results take {size:,} bytes, the limit is {MAX_OUTPUT_BYTES:,}", file=sys.stderr)
            return 3
        for k, d in enumerate(details):
            arrays[f"value_{k}"] = interpreter.get_tensor(d["index"])
    except (ValueError, RuntimeError, MemoryError) as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 3
    out = io.BytesIO()
    np.savez(out, **arrays)
    sys.stdout.buffer.write(out.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(_child())
