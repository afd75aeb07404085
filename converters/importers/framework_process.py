"""Convert and run a source (a trained model of a framework) in a child process, in the framework's environment.

The child converts the source and reports the end of the conversion. The parent reads the flatbuffer and chooses
samples, and the child runs the source on them. Then the parent runs the flatbuffer in LiteRT and compares the results
with the child's. The child's side of this protocol is ``subprocesses/protocol.py``.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.graph.model import Model, Signature
from arenite.converters.importers import source_kinds
from arenite.converters.importers.agreement import Agreement, agreement
from arenite.converters.importers.carried_states import with_variables
from arenite.converters.importers.environments import environment
from arenite.converters.importers.imported_model import ImportedModel, ImportOptions, Inputs, source_sha256
from arenite.converters.importers.litert_runs import (
    batch_notes,
    litert_version,
    random_inputs,
    run_litert,
    typed_samples,
)
from arenite.converters.importers.modernize import has_quantized_operators, to_float32
from arenite.converters.importers.outline.read_outline import read_outline
from arenite.converters.importers.outline.refused_layers import check_layers
from arenite.converters.importers.remove_transposes import remove_transposes
from arenite.converters.importers.tensor_names import shorten_tensor_names
from arenite.converters.tflite.reader import DEFAULT_SIGNATURE, parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import AreniteError, ModelError, ToolError, UsageError
from arenite.processes import temporary_folder
from arenite.safe_console import SafeConsole

#: ``_ENVIRONMENTS`` maps the kind of a source to the environment that converts it. ``_SCRIPTS`` maps the environment to
#: its script in ``subprocesses``.
_ENVIRONMENTS = {
    source_kinds.KERAS: "tensorflow",
    source_kinds.KERAS_H5: "tensorflow",
    source_kinds.SAVED_MODEL: "tensorflow",
    source_kinds.ONNX: "onnx",
    source_kinds.TORCH_EXPORT: "torch",
    source_kinds.TORCH_FACTORY: "torch",
}
_SCRIPTS = {"tensorflow": "from_tensorflow.py", "onnx": "from_onnx.py", "torch": "from_pytorch.py"}

#: If the signal-to-noise ratio of a float32 conversion is below ``_POOR_SQNR_DB``, the difference is more than
#: rounding, and a note says so. If it is below ``_WRONG_SQNR_DB``, the model computes something else, which is an
#: error.
_POOR_SQNR_DB = 60.0
_WRONG_SQNR_DB = 10.0

#: The maximum time of one step of a conversion, in seconds.
MAX_SECONDS = 3600.0

#: The classes of the errors that the child reports, by ``kind`` in its ``error.json``.
_ERRORS: dict[str, type[AreniteError]] = {"usage": UsageError, "model": ModelError}


@dataclass(frozen=True)
class SourceRun:
    """The child's report on the source.

    ``versions`` has the versions of the child's packages, ``ran_by`` the program that ran the source, and ``notes``
    sentences on the conversion. ``quantized`` is true if the source was trained with quantization, so that its outputs
    are only close to the flatbuffer's.
    """

    versions: Mapping[str, str]
    ran_by: str
    notes: tuple[str, ...]
    quantized: bool

    @staticmethod
    def read(folder: Path) -> SourceRun:
        """Return the report that the child wrote to ``folder``, the folder of one conversion."""
        record = json.loads((folder / "result.json").read_text("utf-8"))
        return SourceRun(record["versions"], record["ran_by"], tuple(record["notes"]), record["quantized"])


def import_framework(source: str, kind: str, inputs: Inputs | None, options: ImportOptions) -> ImportedModel:
    """Convert ``source`` in its framework's environment. Raises the errors of ``import_source``."""
    # A factory is the user's own code, which may load weights from the network or write to a cache.
    sandboxed = kind != source_kinds.TORCH_FACTORY
    with FrameworkProcess(_ENVIRONMENTS[kind], progress=options.progress, sandboxed=sandboxed) as framework:
        return framework.convert(source, kind, inputs, options)


class FrameworkProcess:
    """A process in a framework's environment that converts one source after another. It is a context manager.

    Loading a framework takes seconds, so use one process for many sources. If ``sandboxed``, the process has no
    network and can write only to its own folder. It is ended if a step of a conversion takes ``MAX_SECONDS``.
    """

    def __init__(self, name: str, *, progress: bool = True, sandboxed: bool = True) -> None:
        self._sandboxed = sandboxed
        self.name = name
        self._env = environment(name, progress=progress)
        self._script = Path(__file__).parent / "subprocesses" / _SCRIPTS[name]
        self._console = SafeConsole(stderr=True, quiet=not progress, highlight=False, markup=False)

    def __enter__(self) -> FrameworkProcess:
        self._stack = ExitStack()
        self._folder = self._stack.enter_context(temporary_folder("arenite-import-"))
        self._log = self._folder / "log.txt"
        self._process = self._env.start(
            self._script, log=self._log, pipe_stdout=True, writable=self._folder if self._sandboxed else None
        )
        self._jobs = 0
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._stack.close()

    def convert(
        self, source: str, kind: str, inputs: Inputs | None = None, options: ImportOptions | None = None
    ) -> ImportedModel:
        """Convert one source. Raises the errors of ``import_source``. After an error, you can convert the next source
        unless the process has ended."""
        options = options or ImportOptions()
        self._jobs += 1
        folder = self._folder / str(self._jobs)
        folder.mkdir()
        job = {
            "source": source if kind == source_kinds.TORCH_FACTORY else str(Path(source).absolute()),
            "kind": kind,
            "shapes": {k: list(v) for k, v in options.shape.items()},
            "signature": options.signature,
            "keep_layout": options.keep_layout,
        }
        (folder / "job.json").write_text(json.dumps(job), "utf-8")
        with self._console.status(f"Converting {source} with {self.name} ...") as status:
            self._send(str(folder))
            self._wait("converted", folder)
            try:
                flatbuffer, model, notes = _converted(folder)
                status.update(f"Comparing with {source} ...")
                samples = _samples(model, inputs)
                _write_samples(folder, samples)
            except BaseException:
                self._send("skip")
                raise
            self._send("go")
            self._wait("done", folder)
            run = SourceRun.read(folder)
            compared, varies = _compare(folder, flatbuffer, samples, run)
        notes = [*run.notes, *notes, *_verdict(source, compared, varies, run)]
        made_by = {**run.versions, "ai-edge-litert": litert_version()}
        return ImportedModel(kind, flatbuffer, source_sha256(source, kind), compared, made_by, tuple(notes))

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # the process has ended; _wait reports why
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def _wait(self, expected: str, folder: Path) -> None:
        """Wait until the process writes the line ``expected``. Raises the error that the process reports, or
        ``ToolError`` if the process ends."""
        assert self._process.stdout is not None
        timer = threading.Timer(MAX_SECONDS, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            for raw in self._process.stdout:
                line = raw.decode("utf-8", "replace").strip()
                if line == expected:
                    return
                if line == "exported":
                    self._check_program(folder / "program.pt2")
                if line == "failed":
                    raise _error(json.loads((folder / "error.json").read_text("utf-8")))
        finally:
            timer.cancel()
        raise self._env.failure(self._script, self._process.wait(), self._log)

    def _check_program(self, path: Path) -> None:
        """Let the process go on if the layers of the program that it exported can run. Otherwise raises
        ``UnsupportedModelError``."""
        outline = None
        with suppress(ModelError):  # the conversion reports what is wrong with other parts of the model
            outline = read_outline(str(path), source_kinds.TORCH_EXPORT)
        try:
            if outline is not None:
                check_layers(source_kinds.TORCH_EXPORT, outline)
        except BaseException:
            self._send("skip")
            raise
        self._send("go")


def _error(reply: dict[str, str]) -> AreniteError:
    hint = (
        reply["hint"]
        or "Convert the model to .tflite with the framework's own tools: they may also say more about the error."
    )
    return _ERRORS.get(reply["kind"], ModelError)(reply["problem"], hint)


def _converted(folder: Path) -> tuple[bytes, Model, list[str]]:
    """Return the child's flatbuffer (with float32 weights, unless it is quantized), its model, and notes on changes."""
    model = parse((folder / "model.tflite").read_bytes())
    notes: tuple[str, ...] = ()
    if not has_quantized_operators(model):
        model, folds = to_float32(model)
        model, moved = remove_transposes(model)
        notes = (*folds, *moved)
    model = shorten_tensor_names(
        _restore_signature(model, json.loads((folder / "order.json").read_text("utf-8")))
    )
    return to_flatbuffer(model), model, [*model.repairs, *notes, *batch_notes(model)]


def _restore_signature(model: Model, order: dict[str, Any]) -> Model:
    """Return the model with inputs and outputs in the order and with the names of the source. States become resource
    variables.

    Converters sort inputs and outputs and change their names.
    """
    g = model.main
    signature = next((s for s in model.signatures if s.subgraph == 0), None)
    tensors = list(g.tensors)
    pairs: dict[str, tuple[tuple[str, int], ...]] = {}
    states: list[list[int]] = []
    for place, (side, names) in ((1, ("outputs", "output_names")), (0, ("inputs", "input_names"))):
        indices = dict(getattr(signature, side)) if signature else {}
        state_names = [pair[place] for pair in order["states"]]
        if sorted(indices) != sorted([*order[side], *state_names]):
            raise ToolError(
                f"The converter gave a model with the {side} {', '.join(indices) or '(none)'}, not "
                f"{', '.join([*order[side], *state_names])}.",
                "This is an error in Arenite: please report it with the model.",
            )
        states.append([indices[name] for name in state_names])
        pairs[side] = tuple((new, indices[old]) for old, new in zip(order[side], order[names], strict=True))
        for name, index in pairs[side]:
            tensors[index] = replace(tensors[index], name=name)
    inputs, outputs = (tuple(i for _, i in pairs[side]) for side in ("inputs", "outputs"))
    main = replace(g, tensors=tuple(tensors), inputs=inputs, outputs=outputs)
    named = replace(
        model.with_main(main),
        signatures=(Signature(DEFAULT_SIGNATURE, 0, pairs["inputs"], pairs["outputs"]),),
    )
    after, before = states
    return with_variables(named, list(zip(before, after, strict=True)))


def _samples(model: Model, inputs: Inputs | None) -> list[list[np.ndarray]]:
    """Return random samples, followed by the samples of ``inputs``. Values for quantized inputs are real values."""
    g = model.main
    random_samples = []
    for sample in random_inputs(model):
        row = []
        for i, value in zip(g.inputs, sample, strict=True):
            t = g.tensors[i]
            if t.quant is not None:
                value = ((value.astype(np.float32) - t.zero_point) * np.float32(t.scale)).astype(np.float32)
            row.append(value)
        random_samples.append(row)
    samples = inputs(model) if callable(inputs) else inputs
    return [*random_samples, *(typed_samples(model, samples) if samples is not None else [])]


def _write_samples(folder: Path, samples: list[list[np.ndarray]]) -> None:
    """Write ``inputs.npz``: the number of samples as ``samples``, and one array per sample and input, which is named
    after the indices of both, such as ``0_1`` for input 1 of sample 0."""
    arrays = {f"{k}_{i}": value for k, sample in enumerate(samples) for i, value in enumerate(sample)}
    with (folder / "inputs.npz").open("wb") as file:
        np.savez(file, samples=np.array(len(samples)), **arrays)  # type: ignore[arg-type]


def _compare(
    folder: Path, flatbuffer: bytes, samples: list[list[np.ndarray]], run: SourceRun
) -> tuple[Agreement | None, bool]:
    """Return the agreement with the child's ``outputs.npz``, and whether the source's outputs differ between
    samples."""
    expected: list[list[np.ndarray]] = []

    def pairs() -> Iterator[tuple[list[np.ndarray], list[np.ndarray]]]:
        with np.load(folder / "outputs.npz") as file:
            for k, outputs in enumerate(run_litert(flatbuffer, samples, real=True)):
                expected.append([file[f"{k}_{i}"] for i in range(len(outputs))])
                yield expected[-1], outputs

    compared = agreement(pairs(), run.ran_by)
    varies = any(
        not np.array_equal(a, b) for row in expected[1:] for a, b in zip(row, expected[0], strict=True)
    )
    return compared, varies


def _verdict(source: str, compared: Agreement | None, varies: bool, run: SourceRun) -> list[str]:
    """Return notes on the agreement. Raises ``ModelError`` if the flatbuffer does not compute what the source does."""
    if compared is None:
        return []
    notes = []
    if not varies:
        notes.append("The source gives the same outputs for every input, so their agreement shows little.")
    if run.quantized:
        return notes
    if compared.sqnr_db < _WRONG_SQNR_DB:
        raise ModelError(
            f"The model converted from {source} does not compute the same as its source: {compared.sqnr_db:.1f} dB "
            f"against {compared.source}, largest difference {compared.max_abs:.3g}.",
            "The framework's converter cannot convert this model correctly: give it in another format.",
        )
    if compared.sqnr_db < _POOR_SQNR_DB:
        notes.append(
            f"The converted model differs from its source more than rounding explains: {compared.sqnr_db:.1f} dB "
            f"against {compared.source}, largest difference {compared.max_abs:.3g}."
        )
    return notes
