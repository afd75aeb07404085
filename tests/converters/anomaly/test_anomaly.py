"""The anomaly head: C and NumPy give equal bytes, statistics are those of real numbers, and settings are checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.anomaly import native, reference
from arenite.converters.anomaly.head import AnomalyHead, load_anomaly_head
from arenite.converters.anomaly.plan import BITS, MAX_U32, AnomalyPlan, Units, plan_anomaly
from arenite.converters.anomaly.reference import ReferenceHead
from arenite.converters.graph.tensor import Quantization, Tensor
from arenite.errors import UsageError
from tests.converters.anomaly.heads import checked_code
from tests.example_count import example_count

ONE = 1 << BITS


def tensor(shape: tuple[int, ...], scale: float = 0.1, zero: int = 3, dtype: str = "int8") -> Tensor:
    return Tensor(0, "values", shape, dtype, Quantization((scale,), (zero,)) if dtype == "int8" else None)


@st.composite
def embeddings(draw: st.DrawFn, size: int) -> np.ndarray:
    """Draw one embedding: noise about a center, one value everywhere, or extreme values."""
    kind = draw(st.sampled_from(("noise", "constant", "extreme", "any")))
    if kind == "constant":
        return np.full(size, draw(st.integers(-128, 127)), np.int8)
    if kind == "extreme":
        return np.array(draw(st.lists(st.sampled_from((-128, 127)), min_size=size, max_size=size)), np.int8)
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    if kind == "any":
        return random.integers(-128, 128, size, dtype=np.int8)
    return np.clip(np.rint(random.normal(20, 4, size)), -128, 127).astype(np.int8)


@st.composite
def heads(draw: st.DrawFn) -> AnomalyHead:
    memory = draw(st.sampled_from((16, 32, 4096)))
    return AnomalyHead(
        warmup=draw(st.integers(2, min(memory, 20))),
        memory=memory,
        sigmas=draw(st.sampled_from((0.5, 3.3, 16.0))),
        floor=draw(st.sampled_from((0.001, 0.25, 1000.0))),
        learn=draw(st.sampled_from(("normal", "all"))),
        rank=draw(st.integers(0, 3)),
        classes=draw(st.integers(0, 3)),
        max_distance=draw(st.sampled_from((None, 2.5))),
    )


@settings(max_examples=example_count(80), deadline=None)
@given(st.data())
def test_c_and_numpy_give_equal_bytes(data: st.DataObject) -> None:
    head, size = data.draw(heads()), data.draw(st.integers(4, 9))
    plan = AnomalyPlan(head, size, None)
    both = ReferenceHead(plan), native.CompiledHead(checked_code(), plan)
    actions = data.draw(
        st.lists(
            st.sampled_from(("update",) * 12 + ("classify", "teach", "forget", "freeze", "thaw", "reset")),
            max_size=60,
        )
    )
    for action in actions:
        values = data.draw(embeddings(size))
        index = data.draw(st.integers(0, 3))
        results: list[Any] = []
        for one in both:
            if action == "update":
                results.append((one.score(values), one.threshold(), one.update(values), one.threshold()))
            elif action == "classify":
                results.append(one.classify(values))
            elif action == "teach":
                results.append(one.teach(index, values))
            elif action == "forget":
                results.append(one.forget(index))
            elif action == "reset":
                results.append(one.reset())
            else:
                results.append(one.freeze(action == "freeze"))
        assert results[0] == results[1], action
        assert both[0].state.tobytes() == both[1].state.tobytes(), action


@pytest.mark.parametrize("memory", [16, 256, 4096])
def test_the_statistics_are_those_of_real_numbers(memory: int) -> None:
    random = np.random.default_rng(1)
    center, spread = random.normal(0, 40, 8), np.array([0.6, 1, 2, 5, 10, 20, 30, 40])
    samples = np.clip(np.rint(random.normal(center, spread, (3000, 8))), -128, 127).astype(np.int8)
    plan = AnomalyPlan(AnomalyHead(warmup=16, memory=memory, learn="all"), 8, None)
    head = native.CompiledHead(checked_code(), plan)
    mean = variance = np.zeros(8)
    for k, x in enumerate(samples.astype(float)):
        expected = 0.0 if k == 0 else float(np.mean((x - mean) ** 2 / (variance + 0.25)))
        assert head.update(samples[k]).score / ONE == pytest.approx(expected, rel=0.03, abs=1e-3)
        n = min(k + 1, memory)
        before = x - mean
        mean = mean + before / n
        variance = variance + (before * (x - mean) - variance) / n
    state = head.state[0]
    assert np.abs(state["mean"] / ONE - mean).max() < 0.04
    assert np.abs(state["variance"] / ONE - variance).max() < 0.05 + 0.004 * variance.max()


def test_the_threshold_separates_and_follows() -> None:
    random = np.random.default_rng(2)
    plan = AnomalyPlan(AnomalyHead(warmup=100, memory=256), 16, None)
    head = ReferenceHead(plan)

    def normal() -> np.ndarray:
        return np.clip(np.rint(random.normal(10, 6, 16)), -128, 127).astype(np.int8)

    first = [head.update(normal()) for _ in range(100)]
    assert all(j.threshold == MAX_U32 and not j.alarm for j in first)
    later = [head.update(normal()) for _ in range(2000)]
    assert sum(j.alarm for j in later) <= 4
    strange = normal() + np.int8(30)
    before = head.state.tobytes()
    assert head.update(strange).alarm and head.state.tobytes() == before, "an anomaly was learned"
    head.freeze()
    before = head.state.tobytes()
    assert not head.update(normal()).alarm and head.state.tobytes() == before, "a frozen head learned"
    head.reset()
    assert not head.state.view(np.uint8).any()
    assert head.update(strange).threshold == MAX_U32


def test_learn_all_gets_used_to_a_change() -> None:
    random = np.random.default_rng(3)
    alarms = {}
    for learn in ("normal", "all"):
        head = ReferenceHead(AnomalyPlan(AnomalyHead(warmup=64, memory=64, learn=learn), 8, None))
        for k in range(700):
            values = np.rint(random.normal(0 if k < 300 else 60, 5, 8)).astype(np.int8)
            alarms[learn] = head.update(values).alarm
    assert alarms == {"normal": True, "all": False}


def test_classes_are_taught_from_a_few_examples() -> None:
    random = np.random.default_rng(4)
    centers = random.integers(-80, 80, (3, 12))
    head = native.CompiledHead(
        checked_code(), AnomalyPlan(AnomalyHead(classes=4, max_distance=400), 12, None)
    )

    def example(index: int) -> np.ndarray:
        return np.rint(centers[index] + random.normal(0, 8, 12)).astype(np.int8)

    assert head.classify(example(0)) == reference.Nearest(-1, MAX_U32)
    assert [head.teach(k, example(k)) for k in (0, 1, 2) for _ in range(5)] == [1, 2, 3, 4, 5] * 3
    assert head.teach(4, example(0)) == 0
    assert [head.classify(example(k)).index for k in (0, 1, 2) * 20] == [0, 1, 2] * 20
    far = head.classify(np.full(12, 127, np.int8))
    assert far.index == -1 and far.distance > 400 * ONE
    head.forget(1)
    assert head.classify(example(1)).index != 1
    means = [np.mean([example(0) for _ in range(k)], axis=0) for k in (1, 1000)]
    assert np.abs(head.state[0]["prototypes"][:12] / 256 - means[1]).max() < 12


@settings(max_examples=example_count(60), deadline=None)
@given(st.data())
def test_differences_of_an_autoencoder(data: st.DataObject) -> None:
    scales = st.floats(1e-3, 0.12)
    source, output = (tensor((1, 7), data.draw(scales), data.draw(st.integers(-128, 127))) for _ in range(2))
    plan = plan_anomaly(AnomalyHead(input=0), [source], [output])
    assert plan.units is not None and plan.size == 7
    x, y = data.draw(embeddings(7)), data.draw(embeddings(7))
    gap = reference.difference(plan.units, x, y)
    np.testing.assert_array_equal(gap, native.difference(checked_code(), plan.units, x, y))
    real = (y - float(output.zero_point)) * output.scale - (x - float(source.zero_point)) * source.scale
    assert np.abs(gap - np.clip(real / source.scale, -128, 127)).max() <= 0.51


@settings(max_examples=example_count(200), deadline=None)
@given(st.integers(1, MAX_U32))
def test_the_logarithm_increases_and_has_an_inverse(value: int) -> None:
    log = reference.logarithm(value)
    assert log <= reference.logarithm(min(value + 1, MAX_U32))
    assert reference.exponential(log) <= value < reference.exponential(log) * (1 + 2**-15) + 2


def test_the_record_is_read_from_a_file_and_written(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(
        "[anomaly]\nwarmup = 64\nmemory = 128\nclasses = 2\nmax_distance = 9.5\n"
    )
    head = load_anomaly_head(tmp_path / "a.toml")
    assert head == AnomalyHead(warmup=64, memory=128, classes=2, max_distance=9.5)
    assert AnomalyHead.from_json(head.to_json()) == head
    assert AnomalyHead.from_json(AnomalyHead().to_json()) == AnomalyHead()


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"memory": 100}, "memory is 100, expected a power of two from 16 to 4,096"),
        ({"memory": 8192}, "expected 16 to 4096"),
        ({"warmup": 300, "memory": 256}, "warmup is 300, expected 2 to 256"),
        ({"sigmas": 0}, "sigmas is 0, expected 0.5 to 16"),
        ({"learn": "some"}, "learn is 'some', expected one of normal, all"),
        ({"classes": 65}, "classes is 65, expected 0 to 64"),
        ({"input": 0, "classes": 1}, "classes cannot be taught"),
        ({"window": 3}, "does not take 'window'"),
        ({"floor": "x"}, "floor: is 'x', expected a finite number"),
        ({"schema": "arenite.anomaly/2"}, "expected arenite.anomaly/1"),
        ([], "expected a table of fields"),
    ],
)
def test_wrong_settings_are_refused(fields: Any, problem: str) -> None:
    with pytest.raises(UsageError) as error:
        AnomalyHead.from_json(fields)
    assert problem in str(error.value)


def test_heads_that_do_not_suit_the_model_are_refused() -> None:
    for head, inputs, outputs, problem in (
        (AnomalyHead(output=1), [], [tensor((1, 4))], "output is 1, but the model has 1"),
        (AnomalyHead(), [], [tensor((1, 4), dtype="float32")], "is float32, expected int8"),
        (AnomalyHead(input=0), [tensor((1, 5))], [tensor((1, 4))], "has 5 values and output 0 has 4"),
        (AnomalyHead(input=0), [tensor((1, 4), 0.001)], [tensor((1, 4), 0.5)], "500 times that of the input"),
    ):
        with pytest.raises(UsageError) as error:
            plan_anomaly(head, inputs, outputs)
        assert problem in str(error.value)


def test_states_of_other_settings_or_images_have_another_tag() -> None:
    plans = [
        AnomalyPlan(AnomalyHead(**fields), size, units)  # type: ignore[arg-type]
        for fields, size, units in (
            ({}, 4, None),
            ({"sigmas": 3.0}, 4, None),
            ({}, 5, None),
            ({}, 4, Units(65536, 0, 0)),
        )
    ]
    tags = [plan.tag(image) for plan in plans for image in (bytes(32), b"\1" * 32)]
    assert len(set(tags)) == len(tags) and tags[0] == plans[0].tag(bytes(32))
