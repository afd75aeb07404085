"""The child's side of an import: read the job, write the flatbuffer, and run the source on the parent's samples.

This runs in the framework's environment, where Arenite is not installed, so it imports only the standard library and
NumPy. The parent writes ``job.json`` to the folder of a job. The child writes ``model.tflite`` and ``order.json`` (the
names and order of inputs, outputs and states), and later ``outputs.npz`` and ``result.json``. If a step fails, it
writes ``error.json``. ``framework_process.py`` is the parent's side.
"""

import json
import os
import sys
import traceback
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from error_messages import describe, remedy
from input_shapes import ShapeProblem, fixed_input_shapes
from memory_limit import is_out_of_memory, limit_conversion
from size_limits import HINT


class Refusal(Exception):
    """An error for the user. ``problem`` says what is wrong, ``hint`` what to try. ``kind`` is "usage" for a wrong or
    missing option, or "model" for a model that cannot be converted."""

    def __init__(self, problem: Any, hint: Any, kind: Any = "usage") -> None:
        super().__init__(problem)
        self.kind, self.problem, self.hint = kind, problem, hint


class Skipped(Exception):
    """The parent refused the source, and told the user why."""


class Converted:
    """The result of a conversion: the flatbuffer, and a function that runs the source.

    ``inputs`` and ``outputs`` are the names in the flatbuffer's signature, in the order of the source. ``input_names``
    and ``output_names`` are the names in the source (by default the same). ``run`` takes {signature name: array} in the
    layout of the flatbuffer, runs the source, and returns its outputs in the same form. ``ran_by`` names the program
    that runs the source, ``notes`` are sentences on the conversion. ``quantized`` is true if the source was trained
    with quantization, so that its outputs are only close to the flatbuffer's. ``states`` has the names of an input and
    an output of the flatbuffer for each state that the model keeps between inferences; they are not in the other lists.
    """

    def __init__(
        self,
        flatbuffer: Any,
        inputs: Any,
        outputs: Any,
        run: Any,
        ran_by: Any,
        notes: Any = (),
        quantized: Any = False,
        input_names: Any = (),
        output_names: Any = (),
        states: Any = (),
    ) -> None:
        self.flatbuffer, self.inputs, self.outputs = flatbuffer, list(inputs), list(outputs)
        self.input_names = list(input_names) or self.inputs
        self.output_names = list(output_names) or self.outputs
        self.run, self.ran_by = run, ran_by
        self.notes, self.quantized = list(notes), quantized
        self.states = list(states)


class Job:
    """One conversion that the parent requests with ``job.json``. ``stage`` is the current step, for the error message
    if the step fails. ``replies`` is the stream to the parent."""

    def __init__(self, folder: Any, replies: Any) -> None:
        self.folder, self._replies = Path(folder), replies
        values = json.loads((self.folder / "job.json").read_text("utf-8"))
        self.source, self.kind = values["source"], values["kind"]
        self.shapes = {k: tuple(v) for k, v in values["shapes"].items()}
        self.signature, self.keep_layout = values["signature"], values["keep_layout"]
        self.stage = f"read {self.source}"
        self.program = self.folder / "program.pt2"

    def source_bytes(self) -> Any:
        """Return the size of the source's file, or of all files in its folder. Return 0 for a Python function."""
        if self.kind == "torch-factory":
            return 0
        path = Path(self.source)
        files = [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]
        return sum(file.stat().st_size for file in files)

    def show_program(self) -> None:
        """Let the parent check the layers of the exported program in the file ``program``, and remove the file. Raises
        ``Skipped`` if the parent refuses a layer."""
        print("exported", file=self._replies, flush=True)
        answer = sys.stdin.readline().strip()
        self.program.unlink()
        if answer != "go":
            raise Skipped


def main(converters: Any, packages: Any) -> None:
    """Convert the sources that the parent requests, until the parent closes standard input.

    ``converters`` maps the kind of a source to its function ``convert(job) -> Converted``. ``packages`` are the
    packages whose versions are reported. Both processes write lines. The parent writes the path of a job's folder. The
    child converts the source and writes "converted". The parent writes "go" when the folder has ``inputs.npz``, or
    "skip" to end the job. The child runs the source and writes "done". If a step fails, it writes "failed". For a
    Python function, the child first writes "exported", and the parent answers with "go" or "skip".
    """
    replies = os.fdopen(os.dup(1), "w")
    # What frameworks print to standard output goes to standard error, which the parent writes to the log.
    os.dup2(2, 1)
    for line in sys.stdin:
        job = Job(line.rstrip("\n"), replies)
        try:
            if job.kind != "torch-factory":  # the user's own code
                limit_conversion(job.source_bytes())
            conversion = converters[job.kind](job)
            _write_model(job, conversion)
            print("converted", file=replies, flush=True)
            job.stage = f"run {job.source}"
            if sys.stdin.readline().strip() != "go":
                continue
            _run(job, conversion, packages)
            print("done", file=replies, flush=True)
        except Skipped:
            continue
        except Refusal as refusal:
            _fail(job, refusal.kind, refusal.problem, refusal.hint)
            print("failed", file=replies, flush=True)
        except Exception as error:
            traceback.print_exc()
            if is_out_of_memory(error):
                problem = f"Cannot {job.stage}: it takes more memory than the size of its file explains."
                _fail(job, "model", problem, HINT)
                print("failed", file=replies, flush=True)
                continue
            hint = remedy(error) or (
                "Save or download the model again." if job.stage.startswith("read ") else ""
            )
            _fail(job, "failed", f"Cannot {job.stage}: {describe(error)}.", hint)
            print("failed", file=replies, flush=True)


def _write_model(job: Any, conversion: Any) -> None:
    """Write ``model.tflite`` and ``order.json``."""
    (job.folder / "model.tflite").write_bytes(conversion.flatbuffer)
    names = ("inputs", "outputs", "input_names", "output_names", "states")
    order = json.dumps({name: getattr(conversion, name) for name in names})
    (job.folder / "order.json").write_text(order, "utf-8")


def _run(job: Any, conversion: Any, packages: Any) -> None:
    """Run the source on the parent's samples, and write ``outputs.npz`` and ``result.json``."""
    with np.load(job.folder / "inputs.npz") as file:
        count = int(file["samples"])
        samples = [{name: file[f"{k}_{i}"] for i, name in enumerate(conversion.inputs)} for k in range(count)]
    outputs: dict[str, Any] = {}
    for k, sample in enumerate(samples):
        result = conversion.run(sample)
        for i, name in enumerate(conversion.outputs):
            outputs[f"{k}_{i}"] = np.asarray(result[name])
    np.savez(job.folder / "outputs.npz", **outputs)
    report = {
        "versions": _versions(packages),
        "ran_by": conversion.ran_by,
        "notes": conversion.notes,
        "quantized": conversion.quantized,
    }
    (job.folder / "result.json").write_text(json.dumps(report), "utf-8")


def _fail(job: Any, kind: Any, problem: Any, hint: Any) -> None:
    text = json.dumps({"kind": kind, "problem": problem, "hint": hint})
    (job.folder / "error.json").write_text(text, "utf-8")


def _versions(packages: Any) -> Any:
    package_versions = {}
    for package in packages:
        try:
            package_versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return package_versions


def fixed_shapes(job: Any, inputs: Any) -> Any:
    """Return a list with the shape of each input, without open dimensions.

    ``inputs`` is a list of (name, shape with None for each open dimension, or None if not even the number of
    dimensions is known).
    ``job.shapes`` has the shapes that the user gave. Raises ``Refusal`` if a size is wrong or missing.
    """
    try:
        return fixed_input_shapes(job.shapes, inputs)
    except ShapeProblem as wrong:
        raise Refusal(wrong.problem, wrong.hint, wrong.kind) from wrong


def channels_last(shape: Any) -> Any:
    """Return the permutation from NCHW to NHWC if ``shape`` has 4 dimensions, otherwise None."""
    return (0, 2, 3, 1) if len(shape) == 4 else None


#: The permutation from NHWC to NCHW.
CHANNELS_FIRST = (0, 3, 1, 2)
