"""A table that a model looks up with CAST, ADD and GATHER runs as one kernel, without int32 tensors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.tflite.image import parse_image
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.firmware.generator.target import PORTABLE
from arenite.host.bench.native_model import build
from arenite.host.bench.reference import Reference
from arenite.host.bench.tflm.runner import TflmJob, available, run_tflm
from arenite.host.build.prepare import Prepared, prepare_image
from tests.converters.small_models import Net
from tests.firmware.engine.litert_exact import assert_exact
from tests.fuzz.comparison import CACHE

SHAPE = (1, 6, 7, 5)


def table_model(
    *, offset: int = 128, size: int = 256, read_input_again: bool = False, return_indices: bool = False
) -> Model:
    """Return a model that looks up each input byte plus ``offset`` in a table of ``size`` values. Only a table of 256
    values with the offset 128 has one value for each byte."""
    n = Net(5)
    x = n.input(SHAPE)
    table = n.tensor((size,), data=np.random.default_rng(1).integers(-128, 128, size))
    types: dict[str, Any] = {"in_data_type": 9, "out_data_type": 2}
    wide = n.op("CAST", [x], SHAPE, "int32", options="CastOptions", **types)
    index = n.op("ADD", [wide, n.ints([offset])], SHAPE, "int32", options="AddOptions")
    y = n.op("GATHER", [table, index], SHAPE, options="GatherOptions", quant=n.tensors[table].quant)
    outputs = [n.op("ADD", [x, y], SHAPE, options="AddOptions")] if read_input_again else [y]
    return n.model([*outputs, *([index] if return_indices else [])])


def prepared(model: Model) -> Prepared:
    """Return the model, written as an image, read back and planned."""
    return prepare_image(parse_image(to_flatbuffer(model), "table"), Path("table"))


def every_byte() -> np.ndarray:
    """Return an input whose elements repeat the int8 values from -128 to 127."""
    return np.resize(np.arange(-128, 128), SHAPE).astype(np.int8)


def kernels(model: Prepared) -> list[str]:
    """Return the kernels that the model runs."""
    return [layer.call.kernel for layer in model.generated.layers if layer.call is not None]


@pytest.mark.parametrize("again", [False, True])
def test_a_table_is_one_kernel_and_has_the_bytes_of_litert(again: bool) -> None:
    model = prepared(table_model(read_input_again=again))
    assert kernels(model) == (["ar_map_8", "ar_add_s8"] if again else ["ar_map_8"])
    bytes_per_tensor = -(-every_byte().nbytes // 16) * 16
    assert model.plan.arena_bytes == bytes_per_tensor * (2 if again else 1)
    (native,) = build([model.generated], CACHE)
    native.fill_arena(0xA5)
    inputs = [every_byte()]
    np.testing.assert_array_equal(native.run(inputs)[0], Reference(model.reference).run(inputs)[0])


def test_targets_and_planners_that_keep_all_tensors_have_the_same_bytes() -> None:
    assert_exact([(table_model(), [every_byte()]), (table_model(read_input_again=True), [every_byte()])])


def test_converting_an_image_again_does_not_change_it() -> None:
    model = prepared(table_model())
    image = prepare_image(parse_image(model.image, "again"), Path("again"))
    assert image.image == model.image and image.notes == ()
    np.testing.assert_array_equal(
        Reference(model.image).run([every_byte()])[0], Reference(model.reference).run([every_byte()])[0]
    )


@pytest.mark.skipif(not available(), reason="tflite-micro is not installed")
def test_tflm_runs_the_image() -> None:
    model = prepared(table_model(read_input_again=True))
    (result,) = run_tflm([TflmJob(model.image, [[every_byte()]], 1)])
    assert result.runs is not None, result.error
    np.testing.assert_array_equal(result.runs[0][0], Reference(model.reference).run([every_byte()])[0])


@pytest.mark.parametrize(
    "model",
    [
        table_model(offset=127, size=300),
        table_model(size=300),
        table_model(return_indices=True),
        replace_activation := table_model(),
    ],
)
def test_a_gather_that_is_not_a_byte_table_stays_a_gather(model: Model) -> None:
    if model is replace_activation:
        ops = list(model.main.ops)
        ops[1] = replace(ops[1], options={**ops[1].options, "fused_activation_function": 1})
        model = replace(model, subgraphs=(replace(model.main, ops=tuple(ops)),))
    assert kernels(prepared(model).retarget(PORTABLE)) == ["ar_cast_int", "ar_arithmetic_s32", "ar_gather"]
