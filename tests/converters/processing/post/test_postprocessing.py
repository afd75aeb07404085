"""Postprocessing: what it means, and that C and Python agree to the byte."""

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


def tensor(dtype: str, *shape: int, scale: float = 0.05, zero: int = 3) -> Tensor:
    quant = None if dtype == "float32" else Quantization((scale,), (zero,))
    return Tensor(0, "t", shape, dtype, quant)


def spec(*steps: dict[str, Any]) -> Postprocessing:
    made = Postprocessing.from_json({"steps": list(steps)})
    assert Postprocessing.from_json(made.to_json()) == made
    return made


def stored(t: Tensor, real: list[float]) -> np.ndarray:
    values = np.array(real, np.float64)
    if t.dtype != "float32":
        values = np.round(values / t.scale) + t.zero_point
    return values.astype(DTYPES[t.dtype]).reshape(t.shape)


def random_values(t: Tensor, rng: np.random.Generator) -> np.ndarray:
    if t.dtype == "float32":
        special = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30], t.shape)
        return np.where(rng.random(t.shape) < 0.05, special, rng.normal(0, 2, t.shape)).astype(np.float32)
    info = np.iinfo(t.dtype)
    return rng.integers(info.min, info.max, t.shape, t.dtype, endpoint=True)


def answers(*arguments: Any) -> list[Any]:
    found = postprocess(*arguments)
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "int16"])
def test_best_classes(dtype: str) -> None:
    t = tensor(dtype, 1, 5)
    outputs = [stored(t, [0.1, 2.0, 0.6, 2.0, 1.0])]
    plan = plan_post(spec({"do": "top_k", "k": 4, "threshold": 0.5}), [], [t])
    assert [s.index for s in answers(plan, [], outputs)] == [1, 3, 4, 2]
    plan = plan_post(spec({"do": "top_k", "k": 5, "threshold": 0.7, "logits": True}), [], [t])
    assert [s.index for s in answers(plan, [], outputs)] == [1, 3, 4]  # ln(0.7 / 0.3) = 0.85


def test_mean_squared_error() -> None:
    a, b = tensor("int8", 1, 4, scale=0.5, zero=-3), tensor("int8", 1, 4, scale=0.25, zero=7)
    plan = plan_post(spec({"do": "mse"}), [a], [b])
    inputs, outputs = [stored(a, [1, 2, 3, 4])], [stored(b, [1, 2.5, 3, 2])]
    assert postprocess(plan, inputs, outputs) == pytest.approx((0.25 + 4) / 4)


def test_boxes_of_a_tensorflow_head() -> None:
    """The formula of TensorFlow's box coder, in floating point."""
    anchors = [[0.5, 0.5, 0.2, 0.4], [0.52, 0.5, 0.2, 0.4], [0.2, 0.2, 0.1, 0.1]]
    raw = np.array([[1.0, -2.0, 0.5, -0.5, 1.0, -2.0, 0.5, -0.5, 0, 0, 0, 0]], np.float32).reshape(1, 3, 4)
    scores = np.array([[[0, 3.0], [0, 2.0], [0, 2.5]]], np.float32)
    steps = (
        {"do": "boxes", "centre_scale": 10, "size_scale": 5, "exponential": True, "anchors": anchors}
        | {"threshold": 0.6, "logits": True, "background": True},
        {"do": "nms", "iou": 0.5},
    )
    plan = plan_post(spec(*steps), [], [tensor("float32", 1, 3, 4), tensor("float32", 1, 3, 2)])
    found = answers(plan, [], [raw, scores])
    assert [b.anchor for b in found] == [0, 2]  # the second overlaps the first
    best = found[0]
    assert isinstance(best, Box) and best.index == 1
    y, x = 1.0 / 10 * 0.2 + 0.5, -2.0 / 10 * 0.4 + 0.5
    h, w = math.exp(0.5 / 5) * 0.2, math.exp(-0.5 / 5) * 0.4
    want = (y - h / 2, x - w / 2, y + h / 2, x + w / 2)
    got = [v / 65536 for v in (best.top, best.left, best.bottom, best.right)]
    assert got == pytest.approx(want, abs=1e-4)


def test_anchors_of_blazeface() -> None:
    """896 anchors: the middles of 16x16 cells twice, then of 8x8 cells six times; boxes in pixels of 128."""
    steps = (
        {"do": "boxes", "order": "xywh", "centre_scale": 128, "size_scale": 128}
        | {"grid": [[16, 16, 2], [8, 8, 6]], "threshold": 0.5, "logits": True},
        {"do": "nms", "iou": 0.3},
    )
    boxes, scores = tensor("float32", 1, 896, 16), tensor("float32", 1, 896, 1)
    plan = plan_post(spec(*steps), [], [boxes, scores])
    raw = np.zeros((1, 896, 16), np.float32)
    raw[0, 512 + 6 * 9, :4] = [4.0, -2.0, 32.0, 64.0]  # row 1, column 1 of the 8x8 cells
    hit = np.full((1, 896, 1), -5, np.float32)
    hit[0, 512 + 6 * 9] = 3
    [found] = answers(plan, [], [raw, hit])
    x, y, w, h = 1.5 / 8 + 4 / 128, 1.5 / 8 - 2 / 128, 32 / 128, 64 / 128
    got = [v / 65536 for v in (found.left, found.top, found.right, found.bottom)]
    assert got == pytest.approx([x - w / 2, y - h / 2, x + w / 2, y + h / 2], abs=1e-4)


@pytest.mark.parametrize("value", [-10.0, -3.3, -0.01, 0.0, 0.01, 1.0, 9.99])
def test_exponential(value: float) -> None:
    assert exponential(round(value * 65536)) / 65536 == pytest.approx(math.exp(value), rel=4e-5, abs=4e-5)


TYPES = st.sampled_from(["float32", "int8", "uint8", "int16"])


@settings(max_examples=120, deadline=None)
@given(st.data(), TYPES, TYPES, st.integers(0, 2**32))
def test_c_and_python_agree(data: st.DataObject, first: str, second: str, seed: int) -> None:
    library = native.library()
    if library is None:
        pytest.skip(native.unavailable_reason())
    rng = np.random.default_rng(seed)
    what = data.draw(st.sampled_from(sorted(MADE)))
    inputs, outputs, steps = MADE[what](data, first, second)
    made = spec(*steps)
    plan = plan_post(made, inputs, outputs)
    given_, got = ([random_values(t, rng) for t in ts] for ts in (inputs, outputs))
    want, have = postprocess(plan, given_, got), CompiledPost(library, plan).run(given_, got)
    if isinstance(want, list):
        assert have == want
    else:
        assert np.array(want).tobytes() == np.array(have).tobytes()
        assert np.array(want).dtype == np.array(have).dtype


def _top_k(data: st.DataObject, first: str, second: str) -> Any:
    count, threshold = data.draw(st.integers(1, 80)), data.draw(st.none() | st.floats(-1, 1, width=32))
    step = {"do": "top_k", "k": data.draw(st.integers(1, 10)), "threshold": threshold}
    if data.draw(st.booleans()):
        step |= {"softmax": True, "threshold": data.draw(st.none() | st.floats(0.01, 0.5))}
    return [], [tensor(first, 1, count)], [step]


def _mse(data: st.DataObject, first: str, second: str) -> Any:
    count = data.draw(st.integers(1, 20))
    return [tensor(first, 1, count)], [tensor(second, 1, count)], [{"do": "mse"}]


def _nms(data: st.DataObject) -> dict[str, Any]:
    flags = {name: data.draw(st.booleans()) for name in ("by_class", "average")}
    return {"do": "nms", "iou": data.draw(st.floats(0, 1)), "most": data.draw(st.integers(1, 20)), **flags}


def _boxes(data: st.DataObject, first: str, second: str) -> Any:
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
    outputs = [tensor(first, 1, count, 5 + 2 * points), tensor(second, 1, count, classes)]
    return [], outputs, [step, _nms(data)]


def _yolo(data: st.DataObject, first: str, second: str) -> Any:
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
    return [tensor("uint8", 1, 3, 5, 3)], [tensor(first, *shape)], [step, _nms(data)]


def _detections(data: st.DataObject, first: str, second: str) -> Any:
    count = data.draw(st.integers(1, 40))
    step: dict[str, Any] = {"do": "detections", "order": data.draw(st.sampled_from(["yxyx", "xyxy"]))}
    step["threshold"], step["most"] = data.draw(st.floats(-1, 1)), data.draw(st.integers(1, 50))
    if data.draw(st.booleans()):
        return [], [tensor(first, 1, count, 6)], [step | {"output": 0}]
    shapes = ((1, count, 4), (1, count), (1, count))
    outputs = [tensor(t, *shape) for t, shape in zip((first, second, first), shapes, strict=True)]
    if data.draw(st.booleans()):
        outputs.append(tensor(second, 1))
        step["count"] = 3
    return [], outputs, [step]


def _points(data: st.DataObject, first: str, second: str) -> Any:
    count, values = data.draw(st.integers(1, 20)), data.draw(st.integers(2, 5))
    step: dict[str, Any] = {
        "do": "points",
        "values": values,
        "unit": data.draw(st.sampled_from(["pixels", "fractions"])),
    }
    step["order"] = data.draw(st.sampled_from(["xy", "yx"]))
    if values > 2 and data.draw(st.booleans()):
        step |= {"score": data.draw(st.integers(2, values - 1)), "logits": data.draw(st.booleans())}
    outputs = [tensor(first, 1, 1, count, values), tensor(second, 1, 1)]
    if data.draw(st.booleans()):
        step |= {"presence": 1, "presence_logits": data.draw(st.booleans())}
    return [tensor("uint8", 1, 3, 5, 3)], outputs, [step]


def _mask(data: st.DataObject, first: str, second: str) -> Any:
    height, width, channels = (data.draw(st.integers(1, high)) for high in (9, 9, 5))
    planes = data.draw(st.booleans())
    if data.draw(st.booleans()):
        kind = data.draw(st.sampled_from(["int32", "int64"]))
        return [], [Tensor(0, "t", (1, height, width), kind)], [{"do": "mask"}]
    step: dict[str, Any] = {"do": "mask", "planes": planes, "threshold": data.draw(st.floats(0.1, 0.9))}
    if data.draw(st.booleans()):
        step |= {"channel": data.draw(st.integers(0, channels - 1)), "logits": data.draw(st.booleans())}
    shape = (1, channels, height, width) if planes else (1, height, width, channels)
    return [], [tensor(first, *shape)], [step]


MADE = {
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
        ([], "is a step top_k"),
        ([{"do": "top_k", "k": 0}], "k is 0"),
        ([{"do": "top_k", "k": 1, "best": 2}], "does not take 'best'"),
        ([{"do": "top_k", "output": 3}], "reads output 3"),
        ([{"do": "boxes"}], "boxes or yolo and then nms"),
        ([{"do": "boxes", "grid": [[2, 2]]}, {"do": "nms"}], "is not rows, columns"),
        ([{"do": "top_k", "threshold": 1.5, "logits": True}], "expected a probability"),
        ([{"do": "boxes", "boxes": 0, "scores": 0, "grid": [[3, 3, 1]]}, {"do": "nms"}], "9 anchors"),
    ],
)
def test_what_cannot_be_done_is_said(steps: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        plan_post(Postprocessing.from_json({"steps": steps}), [], [tensor("int8", 1, 5)])


@pytest.mark.parametrize(
    ("shape", "steps", "problem"),
    [
        ((1, 5, 1), [{"do": "boxes", "boxes": 1, "scores": 0, "background": True}, {"do": "nms"}], "of the background"),
        ((1, 5, 4), [{"do": "boxes", "grid": [[1024, 1024, 1024]]}, {"do": "nms"}], "1,073,741,824 anchors"),
        ((1, 3, 70_000), [{"do": "yolo", "layout": "rows", "unit": "fractions"}, {"do": "nms"}], "at most 65,535"),
    ],
)  # fmt: skip
def test_records_that_would_read_or_keep_too_much(
    shape: tuple[int, ...], steps: list[dict[str, Any]], problem: str
) -> None:
    tensors = [tensor("int8", *shape), tensor("int8", 1, 5, 4)]
    with pytest.raises(UsageError, match=problem):
        plan_post(Postprocessing.from_json({"steps": steps}), [], tensors)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("step", [{"do": "top_k", "threshold": 0.5}, {"do": "top_k", "softmax": True}])
def test_scales_that_no_tensor_has(scale: float, step: dict[str, Any]) -> None:
    """As a malformed model may say."""
    with pytest.raises(UsageError):
        plan_post(spec(step), [], [tensor("int8", 1, 5, scale=scale)])


@pytest.mark.parametrize("seed", range(5))
def test_overlapping_boxes_as_opencv_drops_them(seed: int) -> None:
    """OpenCV's NMSBoxes, an implementation of others, in floating point."""
    cv2 = pytest.importorskip("cv2", reason="needs opencv-python-headless")
    rng = np.random.default_rng(seed)
    count = 60
    centres, sizes = rng.random((count, 2)), rng.uniform(0.1, 0.4, (count, 2))
    scores = rng.permutation(count).astype(np.float32) / count  # all different
    raw = np.concatenate([centres, sizes], axis=1).astype(np.float32).reshape(1, count, 4)
    steps = ({"do": "boxes", "threshold": 0.25}, {"do": "nms", "iou": 0.4, "most": 100})
    tensors = [tensor("float32", 1, count, 4), tensor("float32", 1, count, 1)]
    found = answers(plan_post(spec(*steps), [], tensors), [], [raw, scores.reshape(1, count, 1)])
    corners = np.concatenate([centres - sizes / 2, sizes], axis=1)
    want = cv2.dnn.NMSBoxes(corners.tolist(), scores.tolist(), 0.25 - 1e-6, 0.4)
    assert [b.anchor for b in found] == [int(i) for i in np.asarray(want).reshape(-1)]
    assert 5 < len(found) < 45
