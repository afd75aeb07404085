"""An image is a .tflite model with an arena plan and other metadata. It gives the same outputs in other runtimes and is
read back unchanged. Invalid metadata is an error."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from arenite.converters.graph.model import Model
from arenite.converters.importers.load import load_any, load_any_image
from arenite.converters.planner import OpRequirements, Plan, plan
from arenite.converters.tflite import offline_plan
from arenite.converters.tflite.image import (
    METADATA,
    image_bytes,
    load_image,
    parse_image,
    save_image,
    to_flatbuffer,
)
from arenite.errors import ModelError, PlanError
from arenite.host.bench.reference import Reference
from arenite.host.bench.tflm.check import random_runs
from tests.converters import small_models
from tests.development_models import shared_model

#: Operators whose output can be the same bytes as their input, and operators that can work in place.
_ALIASES = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
_IN_PLACE = ("ADD", "MUL", "SUB", "RELU", "LOGISTIC")
SHARED = ("ad01_int8", "ic01_int8", "kws01_int8", "vww01_int8", "sww01_int8", "person_detect_int8")


def make_plan(model: Model, alignment: int = 16) -> Plan:
    """Return a plan of ``model`` that can have another order of operators, shared addresses and scratch."""
    needs = [
        OpRequirements(
            scratch=64 if op.name == "CONV_2D" else 0,
            in_place=((0, 0),) if op.name in _IN_PLACE else (),
            alias=((0, 0),) if op.name in _ALIASES else (),
        )
        for op in model.main.ops
    ]
    stateful = any(op.name == "VAR_HANDLE" for op in model.main.ops)
    return plan(model.main, needs, alignment=alignment, persistent={"/state": 4} if stateful else {})


def branches() -> Model:
    """Return two branches. The planner runs the second one first because its large tensor is pooled to a small one."""
    n = small_models.Net(11)
    x = n.input((1, 8, 8, 2))
    q = n.tensors[x].quant
    pool: dict[str, Any] = {"stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
    a = n.op("CONCATENATION", [x, x, x], (1, 8, 8, 6), options="ConcatenationOptions", axis=3, quant=q)
    b = n.op("CONCATENATION", [x, x, x, x], (1, 8, 8, 8), options="ConcatenationOptions", axis=3, quant=q)
    c = n.op("MAX_POOL_2D", [b], (1, 4, 4, 8), options="Pool2DOptions", quant=q, **pool)
    d = n.op("MAX_POOL_2D", [a], (1, 4, 4, 6), options="Pool2DOptions", quant=q, **pool)
    y = n.op("CONCATENATION", [c, d], (1, 4, 4, 14), options="ConcatenationOptions", axis=3, quant=q)
    return n.model([y])


ALL = {**small_models.ALL, "branches": branches}


def _assert_same_in_litert(model: Model, image: bytes) -> None:
    """Check that LiteRT gives the same bytes for the model and for its image."""
    before, after = Reference(to_flatbuffer(model)), Reference(image)
    for inputs in random_runs(model, 3):
        for a, b in zip(before.run(inputs), after.run(inputs), strict=True):
            assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("name", ALL)
def test_images_have_the_same_outputs_in_litert(name: str) -> None:
    model = ALL[name]()
    _assert_same_in_litert(model, image_bytes(model, make_plan(model)))


@pytest.mark.parametrize("name", SHARED)
def test_images_of_real_models_have_the_same_outputs_in_litert(name: str) -> None:
    model = load_any(shared_model(name))
    _assert_same_in_litert(model, image_bytes(model, make_plan(model)))


def test_litert_runs_person_detect_only_after_the_repair() -> None:
    path = shared_model("person_detect_int8")
    with pytest.raises(ModelError, match="LiteRT does not load the model"):
        Reference(path.read_bytes())
    model = load_any(path)
    assert any("quantized_dimension 3 of 14 tensors" in r for r in model.repairs)
    Reference(image_bytes(model, make_plan(model))).run(random_runs(model, 1)[0])


@pytest.mark.parametrize("name", ALL)
def test_an_image_is_read_back_as_written(name: str, tmp_path: Path) -> None:
    model = ALL[name]()
    model_plan = make_plan(model)
    path = tmp_path / "deep" / "model.tflite"
    saved = save_image(model, model_plan, path, source_sha256="ab" * 32, extra={"labels": ["yes", "no"]})
    loaded = load_image(path)
    assert loaded.sha256 == saved.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (loaded.source_sha256, loaded.extra) == ("ab" * 32, {"labels": ["yes", "no"]})
    assert loaded.plan == saved.plan and loaded.plan is not None
    assert loaded.plan.offsets == model_plan.offsets and loaded.plan.arena_bytes == model_plan.arena_bytes
    assert loaded.plan.order == tuple(range(len(model.main.ops)))
    assert [op.outputs for op in loaded.model.main.ops] == [
        model.main.ops[i].outputs for i in model_plan.order
    ]
    assert loaded.model.metadata == {} and loaded.model.repairs == ()
    # Writing what was read gives the same file.
    rewritten = image_bytes(loaded.model, loaded.plan, source_sha256=loaded.source_sha256, extra=loaded.extra)
    assert rewritten == path.read_bytes()


def test_an_image_has_the_order_of_the_plan() -> None:
    model = branches()
    model_plan = make_plan(model)
    swapped = replace(model_plan, order=(1, 2, 0, 3, 4), scratch_offsets={2: 32}, sharing=((3, 0, 0),))
    image = parse_image(image_bytes(model, swapped))
    assert [op.name for op in image.model.main.ops] == [
        "CONCATENATION", "MAX_POOL_2D", "CONCATENATION", "MAX_POOL_2D", "CONCATENATION",
    ]  # fmt: skip
    assert image.plan is not None
    assert (image.plan.scratch_offsets, image.plan.sharing) == ({1: 32}, ((3, 0, 0),))
    _assert_same_in_litert(model, image_bytes(model, swapped))


def test_operators_that_the_plan_leaves_out_are_in_the_image() -> None:
    """A plan may leave out operators whose results are constants. Other runtimes need them, before their readers."""
    model = small_models.conv_net()
    model_plan = make_plan(model)
    image = image_bytes(model, replace(model_plan, order=tuple(i for i in model_plan.order if i != 5)))
    loaded = parse_image(image)
    assert [op.name for op in loaded.model.main.ops] == [op.name for op in model.main.ops]
    assert loaded.plan is not None and loaded.plan.order == (0, 1, 2, 3, 4, 6, 7)


@pytest.mark.parametrize("name", ALL)
def test_writing_is_deterministic_and_constants_are_aligned(name: str) -> None:
    model = ALL[name]()
    data = image_bytes(model, make_plan(model))
    assert data == image_bytes(ALL[name](), make_plan(ALL[name]()))
    table: Any = schema.Model.GetRootAs(data, 0)
    start = np.frombuffer(data, np.uint8).ctypes.data
    for k in range(table.BuffersLength()):
        values = table.Buffers(k).DataAsNumpy()
        if isinstance(values, np.ndarray) and values.size:
            assert (values.ctypes.data - start) % 16 == 0


def test_equal_constants_share_a_buffer() -> None:
    n = small_models.Net()
    x = n.input((1, 4))
    a = n.op("RESHAPE", [x, n.ints([4, 1])], (4, 1), options="ReshapeOptions", quant=n.tensors[x].quant)
    y = n.op("RESHAPE", [a, n.ints([4, 1])], (4, 1), options="ReshapeOptions", quant=n.tensors[x].quant)
    root: Any = schema.ModelT.InitFromPackedBuf(to_flatbuffer(n.model([y])), 0)
    assert len(root.buffers) == 2
    assert len({t.buffer for t in root.subgraphs[0].tensors if t.buffer}) == 1


def test_a_tflite_model_is_an_image_without_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "plain.tflite"
    path.write_bytes(to_flatbuffer(small_models.conv_net()))
    image = load_any_image(path)
    assert (image.plan, image.tool, image.source_sha256) == (None, "", "")


def test_an_image_stores_the_list_of_repairs() -> None:
    model = replace(small_models.conv_net(), repairs=("The reader repaired something.",))
    assert parse_image(image_bytes(model, None)).model.repairs == ("The reader repaired something.",)


def test_a_plan_of_another_model_is_an_error() -> None:
    model = small_models.conv_net()
    model_plan = make_plan(model)
    with pytest.raises(PlanError, match="the model has 8"):
        image_bytes(model, replace(model_plan, order=(*model_plan.order, 8)))
    with pytest.raises(PlanError, match="runs an operator twice"):
        image_bytes(model, replace(model_plan, order=(0, *model_plan.order)))
    with pytest.raises(PlanError, match="places tensor 99"):
        image_bytes(model, replace(model_plan, offsets={**model_plan.offsets, 99: 0}))
    with pytest.raises(PlanError, match="past the end of its arena"):
        image_bytes(model, replace(model_plan, arena_bytes=16))
    with pytest.raises(PlanError, match="runs operator 1 before one that computes its input"):
        image_bytes(model, replace(model_plan, order=(1, 0, *model_plan.order[2:])))


def _edited(data: bytes, change: Any) -> bytes:
    """Return the image with changed JSON metadata."""
    model = parse_image(data).model
    raw: Any = schema.ModelT.InitFromPackedBuf(data, 0)
    entries = {m.name.decode(): bytes(np.asarray(raw.buffers[m.buffer].data, np.uint8)) for m in raw.metadata}
    entries[METADATA] = change(entries[METADATA])
    return to_flatbuffer(replace(model, metadata=entries))


def _set(path: str, value: Any) -> Any:
    """Return a function that sets one value of JSON metadata. ``path`` has its keys, separated by dots."""

    def change(blob: bytes) -> bytes:
        header = json.loads(blob)
        table = header
        *outer, last = path.split(".")
        for key in outer:
            table = table[key]
        table[last] = value
        return json.dumps(header).encode()

    return change


#: (change of the JSON metadata, message)
BAD_HEADERS: list[tuple[Any, str]] = [
    (lambda blob: blob[:-1], r"Metadata 'arenite': is not JSON"),
    (lambda blob: b"[" * 100_000, r"Metadata 'arenite': is not JSON"),
    (lambda blob: b"\xff\xfe", r"Metadata 'arenite': is not JSON"),
    (lambda blob: b"[]", r"Metadata 'arenite', field schema: is '\[\]', expected 'arenite.image/1'"),
    (_set("schema", "arenite.image/9"), r"field schema: is 'arenite.image/9'"),
    (_set("repairs", [1]), r"field repairs: has an entry that is not a text"),
    (_set("tool", None), r"field tool: is missing or has the wrong type"),
    (_set("plan", 3), r"field plan: is missing or has the wrong type"),
    (_set("plan.order", "x"), r"field plan: The stored plan is malformed"),
    (_set("plan.order", [0, 1, 99]), r"field plan: The plan refers to operator 99, but the model has 8"),
    (_set("plan.offsets", {"0": -1}), r"field plan: The stored plan is malformed"),
    (_set("plan.offsets", {"0": 10**30}), r"field plan: The plan places tensor 0 at .* past the end"),
    (_set("plan.arena_bytes", 10**30), r"field plan: The plan has an arena of .* 2 GiB or more"),
    (_set("plan.arena_bytes", 1), r"field plan: The plan places tensor"),
    (_set("plan.statistics", []), r"field plan: The stored plan is malformed"),
    (_set("plan.offsets", {}), r"Metadata 'OfflineMemoryAllocation': disagrees with the plan"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(BAD_HEADERS)))
def test_the_error_of_invalid_metadata_names_the_field(case: int) -> None:
    change, message = BAD_HEADERS[case]
    model = small_models.conv_net()
    data = _edited(image_bytes(model, make_plan(model)), change)
    with pytest.raises(ModelError, match=message) as caught:
        parse_image(data, "some.tflite")
    assert caught.value.problem.startswith("some.tflite: ") and caught.value.hint


# --- the plan that stock TFLM reads ----------------------------------------------------------------------------


def test_the_tflm_plan_has_the_documented_format() -> None:
    """The format is: version, subgraph, number of tensors, and an offset for each tensor. The offset of a constant, a
    variable or a handle is -1."""
    model = small_models.with_state()
    model_plan = make_plan(model)
    values = np.frombuffer(offline_plan.metadata(model, model_plan.offsets), "<i4").tolist()
    tensors = [len(g.tensors) for g in model.subgraphs]
    assert values[:3] == [1, 0, sum(tensors)]
    assert len(values) == 3 + sum(tensors)
    assert values[3 + tensors[0] :] == [-1] * tensors[1]
    handle = next(t.index for t in model.main.tensors if t.dtype == "resource")
    assert values[3 + handle] == -1


def test_the_tflm_plan_leaves_out_offsets_that_are_unsafe_for_a_kernel() -> None:
    model = small_models.conv_net()
    (conv, depthwise, add) = (op.outputs[0] for op in model.main.ops[:3])
    reshape = model.main.ops[5]
    source, copy = reshape.inputs[0], reshape.outputs[0]
    # ADD overwrites its first input, RESHAPE has the address of its input, and one offset is not aligned.
    offsets = {
        0: 256,
        conv: 0,
        depthwise: 512,
        add: 0,
        source: 1024,
        copy: 1024,
        reshape.outputs[0] + 3: 1032,
    }
    safe = offline_plan.stock_offsets(model.main, offsets)
    assert (safe[conv], safe[depthwise]) == (0, 512)
    assert safe[add] == -1, "an ADD over its input is not safe in every kernel"
    assert (safe[source], safe[copy]) == (1024, 1024), "a RESHAPE over its input is safe"
    assert safe[reshape.outputs[0] + 3] == -1
    assert safe[0] == 256
    overlapping = offline_plan.stock_offsets(model.main, {0: 16, conv: 128})
    assert (overlapping[0], overlapping[conv]) == (16, -1), "an output over its own input is not safe"
