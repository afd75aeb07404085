"""Sources that need their framework: converted and run by a child process in that framework's environment.

The child converts and says so; the parent looks at the flatbuffer, chooses samples and has the child run the source on
them; then LiteRT runs the flatbuffer here and both are compared. ``children/protocol.py`` is the other side.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from arenite.converters.errors import ArenaError, ModelError, ToolError, UsageError
from arenite.converters.flatbuffer import to_flatbuffer
from arenite.converters.graph import Model, Signature
from arenite.converters.importers import kinds
from arenite.converters.importers.agreement import Agreement, agreement
from arenite.converters.importers.environments import Environment, environment
from arenite.converters.importers.modernise import is_quantised, to_float32
from arenite.converters.importers.runs import fitting, litert_version, random_inputs, run_litert
from arenite.converters.importers.sources import Imported, ImportOptions, Inputs, source_sha256
from arenite.converters.importers.tflite import DEFAULT_SIGNATURE, parse

#: Kind of source to the environment and the script in ``children`` that convert it.
_CHILDREN = {
    kinds.KERAS: ("tensorflow", "from_keras.py"),
    kinds.KERAS_H5: ("tensorflow", "from_keras.py"),
    kinds.SAVED_MODEL: ("tensorflow", "from_saved_model.py"),
    kinds.ONNX: ("onnx", "from_onnx.py"),
    kinds.TORCH_EXPORT: ("torch", "from_torch.py"),
    kinds.TORCH_FACTORY: ("torch", "from_torch.py"),
}

#: Below this a float32 conversion has not only rounded differently.
_POOR_SQNR_DB = 60.0

_ERRORS: dict[str, type[ArenaError]] = {"usage": UsageError, "model": ModelError}


def import_framework(source: str, kind: str, inputs: Inputs | None, options: ImportOptions) -> Imported:
    """Convert ``source`` in its framework's environment; errors as ``import_source`` says."""
    name, script = _CHILDREN[kind]
    env = environment(name, progress=options.progress)
    path = Path(__file__).parent / "children" / script
    with tempfile.TemporaryDirectory(prefix="arenite-import-") as temporary:
        folder = Path(temporary)
        job = {
            "source": source,
            "kind": kind,
            "shapes": {k: list(v) for k, v in options.shape.items()},
            "signature": options.signature,
            "keep_layout": options.keep_layout,
        }
        (folder / "job.json").write_text(json.dumps(job), "utf-8")
        console = Console(stderr=True, quiet=not options.progress, highlight=False, markup=False)
        with (
            console.status(f"Converting {source} with {name} ...") as status,
            _child(env, path, folder) as child,
        ):
            _wait(child, env, path, folder)
            flatbuffer, model, notes = _converted(folder)
            status.update(f"Comparing with {source} ...")
            samples = _samples(model, inputs)
            _hand_over(folder, samples)
            assert child.stdin is not None
            child.stdin.write(b"go\n")
            child.stdin.flush()
            _wait(child, env, path, folder)
            report = json.loads((folder / "result.json").read_text("utf-8"))
            compared = _compare(folder, flatbuffer, samples, report)
    notes = [*report["notes"], *notes, *_verdict(compared, report)]
    made_by = {**report["versions"], "ai-edge-litert": litert_version()}
    return Imported(kind, flatbuffer, source_sha256(source, kind), compared, made_by, tuple(notes))


@contextmanager
def _child(env: Environment, script: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The process, which does not outlive the block."""
    process = env.start(script, str(folder), log=folder / "log.txt", talk=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def _wait(child: subprocess.Popen[bytes], env: Environment, script: Path, folder: Path) -> None:
    """Until the child says "converted" or ends well; raises what it refused or how it failed."""
    assert child.stdout is not None
    line = child.stdout.readline()
    if line.strip() == b"converted":
        return
    code = child.wait()
    error = folder / "error.json"
    if error.exists():
        said = json.loads(error.read_text("utf-8"))
        hint = (
            said["hint"]
            or "Its framework's own tools may tell more; for a model of your own, convert it there to .tflite."
        )
        raise _ERRORS.get(said["kind"], ModelError)(said["problem"], hint)
    if code != 0:
        raise env.failure(script, code, folder / "log.txt")
    if not (folder / "result.json").exists():
        raise ToolError(f"{script.name} ended without a result.", "Please report this.")


def _converted(folder: Path) -> tuple[bytes, Model, list[str]]:
    """The child's flatbuffer, written anew with float32 weights unless it is quantised."""
    model = parse((folder / "model.tflite").read_bytes())
    notes: tuple[str, ...] = ()
    if not is_quantised(model):
        model, notes = to_float32(model)
    model = _as_source(model, json.loads((folder / "order.json").read_text("utf-8")))
    return to_flatbuffer(model), model, [*model.repairs, *notes]


def _as_source(model: Model, order: dict[str, list[str]]) -> Model:
    """Inputs and outputs of the graph in the order of the source, under its names.

    Converters sort them, and dress the names up.
    """
    g = model.main
    signature = next((s for s in model.signatures if s.subgraph == 0), None)
    tensors = list(g.tensors)
    pairs: dict[str, tuple[tuple[str, int], ...]] = {}
    for which, names in (("outputs", "output_names"), ("inputs", "input_names")):
        found = dict(getattr(signature, which)) if signature else {}
        if sorted(found) != sorted(order[which]):
            raise ToolError(
                f"The converter gave a model with the {which} {', '.join(found) or 'nameless'}, not "
                f"{', '.join(order[which])}.",
                "Please report this.",
            )
        pairs[which] = tuple((new, found[old]) for old, new in zip(order[which], order[names], strict=True))
        for name, index in pairs[which]:
            tensors[index] = replace(tensors[index], name=name)
    inputs, outputs = (tuple(i for _, i in pairs[which]) for which in ("inputs", "outputs"))
    main = replace(g, tensors=tuple(tensors), inputs=inputs, outputs=outputs)
    return replace(
        model,
        subgraphs=(main, *model.subgraphs[1:]),
        signatures=(Signature(DEFAULT_SIGNATURE, 0, pairs["inputs"], pairs["outputs"]),),
    )


def _samples(model: Model, inputs: Inputs | None) -> list[list[np.ndarray]]:
    """Random and given samples, as real values where the flatbuffer has quantised inputs."""
    g = model.main
    made = []
    for sample in random_inputs(model):
        row = []
        for i, value in zip(g.inputs, sample, strict=True):
            t = g.tensors[i]
            if t.quant is not None:
                value = ((value.astype(np.float32) - t.zero_point) * np.float32(t.scale)).astype(np.float32)
            row.append(value)
        made.append(row)
    given = inputs(model) if callable(inputs) else inputs
    return [*made, *(fitting(model, given) if given is not None else [])]


def _hand_over(folder: Path, samples: list[list[np.ndarray]]) -> None:
    """Write ``inputs.npz``, with the number of samples and arrays by sample and input."""
    arrays = {f"{k}_{i}": value for k, sample in enumerate(samples) for i, value in enumerate(sample)}
    with (folder / "inputs.npz").open("wb") as file:
        np.savez(file, samples=np.array(len(samples)), **arrays)  # type: ignore[arg-type]


def _compare(
    folder: Path, flatbuffer: bytes, samples: list[list[np.ndarray]], report: dict[str, Any]
) -> Agreement | None:
    with np.load(folder / "outputs.npz") as file:
        pairs = (
            ([file[f"{k}_{i}"] for i in range(len(got))], got)
            for k, got in enumerate(run_litert(flatbuffer, samples, real=True))
        )
        return agreement(pairs, report["ran_by"])


def _verdict(compared: Agreement | None, report: dict[str, Any]) -> list[str]:
    if compared is None or report["quantised"] or compared.sqnr_db >= _POOR_SQNR_DB:
        return []
    return [
        f"The converted model differs from its source more than rounding explains: {compared.sqnr_db:.1f} dB "
        f"against {compared.source}, largest difference {compared.max_abs:.3g}."
    ]
