"""Postprocessing gives the expected results, and C and Python agree to the byte."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.graph.model import DTYPES, Quantization, Tensor
from arenite.converters.processing.native import library as native
from arenite.converters.processing.native.compiled_postprocessing import CompiledPost
from arenite.converters.processing.post.plan import plan_post
from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.converters.processing.post.reference import Box, postprocess
from arenite.converters.processing.post.tensor_values import exponential
from arenite.errors import UsageError
from tests.example_count import example_count


def tensor(dtype: str, *shape: int, scale: float = 0.05, zero: int = 3) -> Tensor:
    """Return a tensor, which is quantized unless it is float32."""
    quant = None if dtype == "float32" else Quantization((scale,), (zero,))
    return Tensor(0, "t", shape, dtype, quant)


def spec(*steps: dict[str, Any]) -> Postprocessing:
    """Return the postprocessing with ``steps``, after checking that it survives conversion to JSON and back."""
    postprocessing = Postprocessing.from_json({"steps": list(steps)})
    assert Postprocessing.from_json(postprocessing.to_json()) == postprocessing
    return postprocessing


def quantized(t: Tensor, real: list[float]) -> np.ndarray:
    """Return the real values as an array with the type, scale and shape of ``t``."""
    values = np.array(real, np.float64)
    if t.dtype != "float32":
        values = np.round(values / t.scale) + t.zero_point
    return values.astype(DTYPES[t.dtype]).reshape(t.shape)


def random_values(t: Tensor, rng: np.random.Generator) -> np.ndarray:
    """Return random stored values of ``t``. About 5 % of float32 values are special, such as NaN and infinity."""
    if t.dtype == "float32":
        special = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30], t.shape)
        return np.where(rng.random(t.shape) < 0.05, special, rng.normal(0, 2, t.shape)).astype(np.float32)
    info = np.iinfo(t.dtype)
    return rng.integers(info.min, info.max, t.shape, t.dtype, endpoint=True)


def classes_or_boxes(*arguments: Any) -> list[Any]:
    """Return the list of results of ``postprocess``."""
    result = postprocess(*arguments)
    assert isinstance(result, list)
    return result


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "int16"])
def test_top_k_returns_the_best_classes(dtype: str) -> None:
    t = tensor(dtype, 1, 5)
    outputs = [quantized(t, [0.1, 2.0, 0.6, 2.0, 1.0])]
    plan = plan_post(spec({"do": "top_k", "k": 4, "threshold": 0.5}), [], [t])
    assert [s.index for s in classes_or_boxes(plan, [], outputs)] == [1, 3, 4, 2]
    plan = plan_post(spec({"do": "top_k", "k": 5, "threshold": 0.7, "logits": True}), [], [t])
    assert [s.index for s in classes_or_boxes(plan, [], outputs)] == [
        1,
        3,
        4,
    ]  # logits above ln(0.7 / 0.3) = 0.85


def test_mse_returns_the_mean_squared_error() -> None:
    a, b = tensor("int8", 1, 4, scale=0.5, zero=-3), tensor("int8", 1, 4, scale=0.25, zero=7)
    plan = plan_post(spec({"do": "mse"}), [a], [b])
    inputs, outputs = [quantized(a, [1, 2, 3, 4])], [quantized(b, [1, 2.5, 3, 2])]
    assert postprocess(plan, inputs, outputs) == pytest.approx((0.25 + 4) / 4)


def test_boxes_equal_those_of_tensorflows_box_coder() -> None:
    """The expected box is computed in floating point."""
    anchors = [[0.5, 0.5, 0.2, 0.4], [0.52, 0.5, 0.2, 0.4], [0.2, 0.2, 0.1, 0.1]]
    raw = np.array([[1.0, -2.0, 0.5, -0.5, 1.0, -2.0, 0.5, -0.5, 0, 0, 0, 0]], np.float32).reshape(1, 3, 4)
    scores = np.array([[[0, 3.0], [0, 2.0], [0, 2.5]]], np.float32)
    steps = (
        {"do": "boxes", "centre_scale": 10, "size_scale": 5, "exponential": True, "anchors": anchors}
        | {"threshold": 0.6, "logits": True, "background": True},
        {"do": "nms", "iou": 0.5},
    )
    plan = plan_post(spec(*steps), [], [tensor("float32", 1, 3, 4), tensor("float32", 1, 3, 2)])
    boxes = classes_or_boxes(plan, [], [raw, scores])
    assert [b.anchor for b in boxes] == [0, 2]  # the second box overlaps the first box
    box = boxes[0]
    assert isinstance(box, Box) and box.index == 1
    y, x = 1.0 / 10 * 0.2 + 0.5, -2.0 / 10 * 0.4 + 0.5
    h, w = math.exp(0.5 / 5) * 0.2, math.exp(-0.5 / 5) * 0.4
    expected = (y - h / 2, x - w / 2, y + h / 2, x + w / 2)
    actual = [v / 65536 for v in (box.top, box.left, box.bottom, box.right)]
    assert actual == pytest.approx(expected, abs=1e-4)


def test_boxes_of_blazeface_are_relative_to_the_centers_of_its_cells() -> None:
    """The 896 anchors are the centers of 16x16 cells (2 anchors per cell), then of 8x8 cells (6 anchors per cell).
    Box values are pixels of a picture of 128x128."""
    steps = (
        {"do": "boxes", "order": "xywh", "centre_scale": 128, "size_scale": 128}
        | {"grid": [[16, 16, 2], [8, 8, 6]], "threshold": 0.5, "logits": True},
        {"do": "nms", "iou": 0.3},
    )
    boxes, scores = tensor("float32", 1, 896, 16), tensor("float32", 1, 896, 1)
    plan = plan_post(spec(*steps), [], [boxes, scores])
    raw = np.zeros((1, 896, 16), np.float32)
    raw[0, 512 + 6 * 9, :4] = [4.0, -2.0, 32.0, 64.0]  # row 1, column 1 of the 8x8 cells
    score_values = np.full((1, 896, 1), -5, np.float32)
    score_values[0, 512 + 6 * 9] = 3
    [box] = classes_or_boxes(plan, [], [raw, score_values])
    x, y, w, h = 1.5 / 8 + 4 / 128, 1.5 / 8 - 2 / 128, 32 / 128, 64 / 128
    actual = [v / 65536 for v in (box.left, box.top, box.right, box.bottom)]
    assert actual == pytest.approx([x - w / 2, y - h / 2, x + w / 2, y + h / 2], abs=1e-4)


@pytest.mark.parametrize("value", [-10.0, -3.3, -0.01, 0.0, 0.01, 1.0, 9.99])
def test_the_fixed_point_exponential_is_accurate(value: float) -> None:
    assert exponential(round(value * 65536)) / 65536 == pytest.approx(math.exp(value), rel=4e-5, abs=4e-5)


#: Types of quantized and float tensors.
TYPES = st.sampled_from(["float32", "int8", "uint8", "int16"])


@settings(max_examples=example_count(120), deadline=None)
@given(st.data(), TYPES, TYPES, st.integers(0, 2**32))
def test_c_and_python_agree(data: st.DataObject, first_dtype: str, second_dtype: str, seed: int) -> None:
    library = native.library()
    if library is None:
        pytest.skip(native.unavailable_reason())
    rng = np.random.default_rng(seed)
    kind = data.draw(st.sampled_from(sorted(RANDOM_CASES)))
    inputs, outputs, steps = RANDOM_CASES[kind](data, first_dtype, second_dtype)
    postprocessing = spec(*steps)
    plan = plan_post(postprocessing, inputs, outputs)
    input_values, output_values = ([random_values(t, rng) for t in ts] for ts in (inputs, outputs))
    expected, actual = (
        postprocess(plan, input_values, output_values),
        CompiledPost(library, plan).run(input_values, output_values),
    )
    if isinstance(expected, list):
        assert actual == expected
    else:
        assert np.array(expected).tobytes() == np.array(actual).tobytes()
        assert np.array(expected).dtype == np.array(actual).dtype


def _top_k(data: st.DataObject, first_dtype: str, second_dtype: str) -> Any:
    """Draw a case of ``RANDOM_CASES``."""
    count, threshold = data.draw(st.integers(1, 80)), data.draw(st.none() | st.floats(-1, 1, width=32))
    step = {"do": "top_k", "k": data.draw(st.integers(1, 10)), "threshold": threshold}
    if data.draw(st.booleans()):
        step |= {"softmax": True, "threshold": data.draw(st.none() | st.floats(0.01, 0.5))}
    return [], [tensor(first_dtype, 1, count)], [step]


def _mse(data: st.DataObject, first_dtype: str, second_dtype: str) -> Any:
    """Draw a case of ``RANDOM_CASES``."""
    count = data.draw(st.integers(1, 20))
    return [tensor(first_dtype, 1, count)], [tensor(second_dtype, 1, count)], [{"do": "mse"}]


def _nms(data: st.DataObject) -> dict[str, Any]:
    """Draw a non-maximum suppression step."""
    flags = {name: data.draw(st.booleans()) for name in ("by_class", "average")}
    return {"do": "nms", "iou": data.draw(st.floats(0, 1)), "most": data.draw(st.integers(1, 20)), **flags}


def _boxes(data: st.DataObject, first_dtype: str, second_dtype: str) -> Any:
    """Draw a case of ``RANDOM_CASES``."""
    count, classes, points = (data.draw(st.integers(*limits)) for limits in ((1, 80), (2, 4), (0, 3)))
    flags = {name: data.draw(st.booleans()) for name in ("exponential", "background")}
    step: dict[str, Any] = {"do": "boxes", "points": points, **flags}
    step["threshold"] = data.draw(st.none() | st.floats(-1, 1, width=32)) or 0.0
    if data.draw(st.booleans()):
        step |= {"logits": True, "threshold": data.draw(st.floats(0.1, 0.9))}
    step["order"] = data.draw(st.sampled_from(["yxhw", "xywh"]))
    step["candidates"] = data.draw(st.integers(1, 20))
    step["centre_scale"] = data.draw(st.floats(0.1, 10))
    if data.draw(st.booleans()):
        anchors = np.random.default_rng(data.draw(st.integers(0, 99))).random((count, 4))
        step["anchors"] = [list(map(float, row)) for row in anchors]
    outputs = [tensor(first_dtype, 1, count, 5 + 2 * points), tensor(second_dtype, 1, count, classes)]
    return [], outputs, [step, _nms(data)]


def _yolo(data: st.DataObject, first_dtype: str, second_dtype: str) -> Any:
    """Draw a case of ``RANDOM_CASES``."""
    count, classes, points = (data.draw(st.integers(*limits)) for limits in ((1, 80), (1, 5), (0, 2)))
    objectness = data.draw(st.booleans())
    fields = 4 + objectness + classes + 3 * points
    columns = data.draw(st.booleans())
    step = {
        "do": "yolo",
        "layout": "columns" if columns else "rows",
        "objectness": objectness,
        "points": points,
        "corners": data.draw(st.booleans()),
        "unit": data.draw(st.sampled_from(["pixels", "fractions"])),
        "threshold": data.draw(st.floats(0.01, 0.9)),
        "logits": not objectness and data.draw(st.booleans()),
        "candidates": data.draw(st.integers(1, 50)),
    }
    shape = (1, fields, count) if columns else (1, count, fields)
    return [tensor("uint8", 1, 3, 5, 3)], [tensor(first_dtype, *shape)], [step, _nms(data)]


def _detections(data: st.DataObject, first_dtype: str, second_dtype: str) -> Any:
    """Draw a case of ``RANDOM_CASES``."""
    count = data.draw(st.integers(1, 40))
    step: dict[str, Any] = {"do": "detections", "order": data.draw(st.sampled_from(["yxyx", "xyxy"]))}
    step["threshold"], step["most"] = data.draw(st.floats(-1, 1)), data.draw(st.integers(1, 50))
    if data.draw(st.booleans()):
        return [], [tensor(first_dtype, 1, count, 6)], [step | {"output": 0}]
    shapes = ((1, count, 4), (1, count), (1, count))
    outputs = [
        tensor(t, *shape) for t, shape in zip((first_dtype, second_dtype, first_dtype), shapes, strict=True)
    ]
    if data.draw(st.booleans()):
        outputs.append(tensor(second_dtype, 1))
        step["count"] = 3
    return [], outputs, [step]


def _points(data: st.DataObject, first_dtype: str, second_dtype: str) -> Any:
    """Draw a case of ``RANDOM_CASES``."""
    count, values = data.draw(st.integers(1, 20)), data.draw(st.integers(2, 5))
    step: dict[str, Any] = {
        "do": "points",
        "values": values,
        "unit": data.draw(st.sampled_from(["pixels", "fractions"])),
    }
    step["order"] = data.draw(st.sampled_from(["xy", "yx"]))
    if values > 2 and data.draw(st.booleans()):
        step |= {"score": data.draw(st.integers(2, values - 1)), "logits": data.draw(st.booleans())}
    outputs = [tensor(first_dtype, 1, 1, count, values), tensor(second_dtype, 1, 1)]
    if data.draw(st.booleans()):
        step |= {"presence": 1, "presence_logits": data.draw(st.booleans())}
    return [tensor("uint8", 1, 3, 5, 3)], outputs, [step]


def _mask(data: st.DataObject, first_dtype: str, second_dtype: str) -> Any:
    """Draw a case of ``RANDOM_CASES``."""
    height, width, channels = (data.draw(st.integers(1, high)) for high in (9, 9, 5))
    planes = data.draw(st.booleans())
    if data.draw(st.booleans()):
        kind = data.draw(st.sampled_from(["int32", "int64"]))
        return [], [Tensor(0, "t", (1, height, width), kind)], [{"do": "mask"}]
    step: dict[str, Any] = {"do": "mask", "planes": planes, "threshold": data.draw(st.floats(0.1, 0.9))}
    if data.draw(st.booleans()):
        step |= {"channel": data.draw(st.integers(0, channels - 1)), "logits": data.draw(st.booleans())}
    shape = (1, channels, height, width) if planes else (1, height, width, channels)
    return [], [tensor(first_dtype, *shape)], [step]


#: For each kind of postprocessing: a function that draws a random case from Hypothesis for two tensor types, and
#: returns (input tensors, output tensors, steps).
RANDOM_CASES = {
    "top_k": _top_k,
    "mse": _mse,
    "boxes": _boxes,
    "yolo": _yolo,
    "detections": _detections,
    "points": _points,
    "mask": _mask,
}


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ([], "has no steps, expected"),
        ([{"do": "top_k", "k": 0}], "k is 0"),
        ([{"do": "top_k", "k": 1, "best": 2}], "does not take 'best'"),
        ([{"do": "top_k", "output": 3}], "reads output 3"),
        ([{"do": "boxes"}], "has the steps boxes, expected"),
        ([{"do": "boxes", "grid": [[2, 2]]}, {"do": "nms"}], "three numbers from 1 to 1,024"),
        ([{"do": "top_k", "threshold": 1.5, "logits": True}], "expected a probability"),
        ([{"do": "boxes", "boxes": 0, "scores": 0, "grid": [[3, 3, 1]]}, {"do": "nms"}], "9 anchors"),
    ],
)
def test_an_invalid_step_is_an_error(steps: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        plan_post(Postprocessing.from_json({"steps": steps}), [], [tensor("int8", 1, 5)])


@pytest.mark.parametrize(
    ("shape", "steps", "problem"),
    [
        ((1, 5, 1), [{"do": "boxes", "boxes": 1, "scores": 0, "background": True}, {"do": "nms"}], "at least 2 scores"),
        ((1, 5, 4), [{"do": "boxes", "grid": [[1024, 1024, 1024]]}, {"do": "nms"}], "1,073,741,824 anchors"),
        ((1, 3, 70_000), [{"do": "yolo", "layout": "rows", "unit": "fractions"}, {"do": "nms"}], "at most 65,535"),
    ],
)  # fmt: skip
def test_steps_that_would_read_or_store_too_much_are_an_error(
    shape: tuple[int, ...], steps: list[dict[str, Any]], problem: str
) -> None:
    tensors = [tensor("int8", *shape), tensor("int8", 1, 5, 4)]
    with pytest.raises(UsageError, match=problem):
        plan_post(Postprocessing.from_json({"steps": steps}), [], tensors)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("step", [{"do": "top_k", "threshold": 0.5}, {"do": "top_k", "softmax": True}])
def test_an_invalid_scale_is_an_error(scale: float, step: dict[str, Any]) -> None:
    """Malformed models can have such scales."""
    with pytest.raises(UsageError):
        plan_post(spec(step), [], [tensor("int8", 1, 5, scale=scale)])


@pytest.mark.parametrize("seed", range(5))
def test_nms_keeps_the_boxes_that_opencv_keeps(seed: int) -> None:
    """OpenCV's NMSBoxes is an independent implementation in floating point."""
    cv2 = pytest.importorskip("cv2", reason="needs opencv-python-headless")
    rng = np.random.default_rng(seed)
    count = 60
    centers, sizes = rng.random((count, 2)), rng.uniform(0.1, 0.4, (count, 2))
    scores = rng.permutation(count).astype(np.float32) / count  # no two scores are equal
    raw = np.concatenate([centers, sizes], axis=1).astype(np.float32).reshape(1, count, 4)
    steps = ({"do": "boxes", "threshold": 0.25}, {"do": "nms", "iou": 0.4, "most": 100})
    tensors = [tensor("float32", 1, count, 4), tensor("float32", 1, count, 1)]
    boxes = classes_or_boxes(plan_post(spec(*steps), [], tensors), [], [raw, scores.reshape(1, count, 1)])
    corners = np.concatenate([centers - sizes / 2, sizes], axis=1)
    expected = cv2.dnn.NMSBoxes(corners.tolist(), scores.tolist(), 0.25 - 1e-6, 0.4)
    assert [b.anchor for b in boxes] == [int(i) for i in np.asarray(expected).reshape(-1)]
    assert 5 < len(boxes) < 45
