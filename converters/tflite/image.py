"""Read and write images. An image is a TFLite flatbuffer with its operators in execution order and its arena plan in
the metadata.

A stock runtime (LiteRT or TensorFlow Lite Micro without changes) loads an image like any model. Arenite adds two
metadata entries: ``OfflineMemoryAllocation``, which TensorFlow Lite Micro reads (see ``offline_plan``), and
``arenite``, a JSON object of the schema ``arenite.image/1`` with the full plan, the hash of the source file and the
repairs that the importer made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from arenite.converters.graph.byte_table import planned_graph
from arenite.converters.graph.model import Model, Op, Subgraph
from arenite.converters.planner.plan import Plan
from arenite.converters.tflite import offline_plan
from arenite.converters.tflite.reader import parse, read_bytes
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import ModelError, PlanError
from arenite.files import write_atomic
from arenite.input_files import parse_json

__all__ = [
    "METADATA",
    "SCHEMA",
    "Image",
    "image_bytes",
    "load_image",
    "parse_image",
    "save_image",
    "to_flatbuffer",
]

#: The name of Arenite's metadata entry, and the schema of the JSON object in it.
METADATA = "arenite"
SCHEMA = "arenite.image/1"

#: The limit of the arena in bytes. TensorFlow Lite Micro (TFLM) reads offsets as signed 32-bit numbers.
_MAX_ARENA = 2**31

_REPLAN = "Plan this model again."
_STALE_HINT = "The image was changed by another tool: convert the original model again."


@dataclass(frozen=True)
class Image:
    """The content of an image, or of a plain ``.tflite`` file, which has no plan."""

    model: Model  # operators in execution order; metadata without the two entries of the image; all repairs
    plan: Plan | None
    sha256: str  # hash of the file's bytes
    source_sha256: str = ""  # hash of the file that the image was made from; "" if unknown
    tool: str = ""  # version of Arenite that wrote the image; "" for a plain .tflite
    #: Further JSON values: preprocessing, labels, hashes.
    extra: Mapping[str, Any] = field(default_factory=dict)


def image_bytes(
    model: Model, plan: Plan | None, *, source_sha256: str = "", extra: Mapping[str, Any] | None = None
) -> bytes:
    """Return the bytes of an image of ``model`` with ``plan``. The same arguments give the same bytes.

    The plan refers to the operators of ``model.main`` by their index; in the image, the operators are numbered in the
    plan's order. Use an alignment of 16 in the plan, so that TFLM can use every offset. ``source_sha256`` is the hash
    of the file from which the model was made. ``extra`` must consist of JSON values and is stored unchanged. Raises
    ``PlanError`` for a plan that does not fit this model.
    """
    metadata = {k: v for k, v in model.metadata.items() if k not in (METADATA, offline_plan.NAME)}
    model = replace(model, metadata=metadata)
    header: dict[str, Any] = {
        "schema": SCHEMA,
        "tool": _version(),
        "source_sha256": source_sha256,
        "repairs": list(model.repairs),
        "extra": dict(extra or {}),
        "plan": None,
    }
    if plan is not None:
        model, placed = reorder_to_plan(model, plan)
        header["plan"] = placed.to_json()
        metadata[offline_plan.NAME] = offline_plan.metadata(model, placed.offsets)
    metadata[METADATA] = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
    return to_flatbuffer(replace(model, metadata=metadata))


def save_image(
    model: Model,
    plan: Plan | None,
    path: str | Path,
    *,
    source_sha256: str = "",
    extra: Mapping[str, Any] | None = None,
) -> Image:
    """Write the image to the file ``path`` atomically, and return what ``load_image`` would return for this file. The
    arguments are those of ``image_bytes``."""
    data = image_bytes(model, plan, source_sha256=source_sha256, extra=extra)
    write_atomic(path, data)
    return parse_image(data, str(path))


def load_image(path: str | Path) -> Image:
    """Return the content of an image or a plain ``.tflite`` file. Raises ``ModelError``, which names the table and the
    field, for any other file."""
    return parse_image(read_bytes(path), str(path))


def parse_image(data: bytes, path: str = "") -> Image:
    """Return the content of the image or plain ``.tflite`` file ``data``. Error messages begin with ``path`` if it is
    not empty. Raises ``ModelError``."""
    model = parse(data, path)
    digest = hashlib.sha256(data).hexdigest()
    blob = model.metadata.get(METADATA)
    if blob is None:
        return Image(model, None, digest)
    try:
        header = _header(blob)
        plan = None if header["plan"] is None else _plan(header["plan"], model)
    except ModelError as error:
        raise ModelError(f"{path + ': ' if path else ''}{error.problem}", error.hint) from error
    metadata = {k: v for k, v in model.metadata.items() if k not in (METADATA, offline_plan.NAME)}
    repairs = (*header["repairs"], *model.repairs)
    return Image(
        model=replace(model, metadata=metadata, repairs=repairs),
        plan=plan,
        sha256=digest,
        source_sha256=header["source_sha256"],
        tool=header["tool"],
        extra=header["extra"],
    )


def reorder_to_plan(model: Model, plan: Plan) -> tuple[Model, Plan]:
    """Return the model with the operators of its main subgraph in the plan's order, and the plan with the new operator
    numbers.

    Operators that the plan leaves out because their results are constant stay in the model for stock runtimes. Each of
    them runs as early as its inputs allow. Raises ``PlanError`` if the plan does not fit this model.
    """
    main = model.main
    _check_fits_model(main, plan)
    full = _complete_order(main, plan.order)
    position = {old: new for new, old in enumerate(full)}
    ops = tuple(replace(main.ops[old], index=new) for new, old in enumerate(full))
    placed = replace(
        plan,
        order=tuple(position[old] for old in plan.order),
        scratch_offsets={position[old]: at for old, at in plan.scratch_offsets.items()},
        sharing=tuple((position[old], i, o) for old, i, o in plan.sharing),
    )
    return model.with_main(replace(main, ops=ops)), placed


def _check_fits_model(graph: Subgraph, plan: Plan) -> None:
    """Check that every index of ``plan`` exists in ``graph`` and that every tensor ends inside the arena.

    The planner's checker detects overlaps of live tensors.
    """
    graph = planned_graph(graph)
    ops, tensors = len(graph.ops), len(graph.tensors)
    if plan.arena_bytes >= _MAX_ARENA:
        raise PlanError(f"The plan has an arena of {plan.arena_bytes:,} bytes: 2 GiB or more.", _REPLAN)
    if len(set(plan.order)) != len(plan.order):
        raise PlanError("The plan runs an operator twice.", _REPLAN)
    for index in (*plan.order, *plan.scratch_offsets, *(s[0] for s in plan.sharing)):
        if not 0 <= index < ops:
            raise PlanError(f"The plan refers to operator {index}, but the model has {ops}.", _REPLAN)
    for index, at in plan.offsets.items():
        if not 0 <= index < tensors:
            raise PlanError(f"The plan places tensor {index}, but the model has {tensors}.", _REPLAN)
        if at + graph.tensors[index].nbytes > plan.arena_bytes:
            raise PlanError(
                f"The plan places tensor {index} at {at:,}, past the end of its arena of {plan.arena_bytes:,} bytes.",
                _REPLAN,
            )


def _complete_order(graph: Subgraph, order: Sequence[int]) -> list[int]:
    """Return ``order`` with the operators that it leaves out. Each of them is inserted as soon as all its inputs are
    computed.

    Raises ``PlanError`` if an operator of ``order`` comes before an operator that computes its input.
    """
    planned = set(order)
    waiting = [op for op in graph.ops if op.index not in planned]
    computed = {i for i, t in enumerate(graph.tensors) if t.is_constant or t.is_variable} | set(graph.inputs)
    full: list[int] = []

    def run(op: Op) -> None:
        full.append(op.index)
        computed.update(op.outputs)

    def ready(op: Op) -> bool:
        return all(i < 0 or i in computed for i in op.inputs)

    for step in (None, *order):
        if step is not None:
            if not ready(graph.ops[step]):
                raise PlanError(f"The plan runs operator {step} before one that computes its input.", _REPLAN)
            run(graph.ops[step])
        not_ready = []
        # In the model's order, in which each operator comes after the producers of its inputs.
        for op in waiting:
            if ready(op):
                run(op)
            else:
                not_ready.append(op)
        waiting = not_ready
    return full


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("arenite")
    except PackageNotFoundError:
        return "0"


def _header(blob: bytes) -> dict[str, Any]:
    """Return the JSON object of the metadata entry ``arenite`` after a check of its fields. For ``plan``, only the
    type is checked. Raises ``ModelError``."""
    location = f"Metadata '{METADATA}'"
    try:
        header = parse_json(blob)
    except ValueError as error:
        raise ModelError(f"{location}: is not JSON ({error}).", _STALE_HINT) from error
    if not isinstance(header, dict) or header.get("schema") != SCHEMA:
        schema = header.get("schema") if isinstance(header, dict) else header
        raise ModelError(
            f"{location}, field schema: is {str(schema)[:80]!r}, expected {SCHEMA!r}.",
            "The image may come from another version of Arenite: convert the original model again.",
        )
    kinds: dict[str, type | tuple[type, ...]] = {
        "tool": str,
        "source_sha256": str,
        "repairs": list,
        "extra": dict,
        "plan": (dict, type(None)),
    }
    for name, kind in kinds.items():
        if not isinstance(header.get(name), kind) or name not in header:
            raise ModelError(f"{location}, field {name}: is missing or has the wrong type.", _STALE_HINT)
    if not all(isinstance(sentence, str) for sentence in header["repairs"]):
        raise ModelError(f"{location}, field repairs: has an entry that is not a text.", _STALE_HINT)
    return header


def _plan(record: Mapping[str, Any], model: Model) -> Plan:
    """Return the stored plan. Raises ``ModelError`` if it does not fit the model, or if the metadata entry for stock
    runtimes has another plan."""
    try:
        plan = Plan.from_json(record)
        _check_fits_model(model.main, plan)
    except PlanError as error:
        raise ModelError(f"Metadata '{METADATA}', field plan: {error.problem}", _STALE_HINT) from error
    stored = model.metadata.get(offline_plan.NAME)
    if stored is not None and stored != offline_plan.metadata(model, plan.offsets):
        raise ModelError(
            f"Metadata '{offline_plan.NAME}': disagrees with the plan in metadata '{METADATA}'.", _STALE_HINT
        )
    return plan
