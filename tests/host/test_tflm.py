"""Images in stock TensorFlow Lite Micro: the same bytes, in the planned arena; and which operators differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from arenite.converters.errors import UsageError
from arenite.converters.graph import Model, Quantization
from arenite.converters.image import image_bytes, to_flatbuffer
from arenite.converters.load import load_any
from arenite.converters.planner import OpNeeds, Plan, plan
from arenite.host.bench import tflm
from arenite.host.bench.reference import Reference
from arenite.host.bench.tflm import TflmJob, TflmResult, run_tflm
from arenite.host.bench.tflm_check import KNOWN_DIFFERENCES, OpVerdict, check, random_runs

from tests.converters import small_models
from tests.shared import shared_model

needs_tflm = pytest.mark.skipif(
    not tflm.available(), reason="the package tflite-micro is not installed (pip install --pre tflite-micro)"
)
ALIASES = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
#: TFLM itself crashes on an SVDF without bias; the one with a bias is judged.
SMALL = tuple(name for name in small_models.ALL if name != "svdf")
SHARED = ("ad01_int8", "ic01_int8", "kws01_int8", "vww01_int8", "sww01_int8", "person_detect_int8")


def planned(model: Model) -> Plan:
    needs = [OpNeeds(alias=((0, 0),) if op.name in ALIASES else ()) for op in model.main.ops]
    stateful = any(op.name == "VAR_HANDLE" for op in model.main.ops)
    return plan(model.main, needs, alignment=16, persistent={"/state": 4} if stateful else {})


def differing_bytes(model: Model, image: bytes, result: TflmResult, runs: list[list[np.ndarray]]) -> int:
    assert result.runs is not None, result.error
    reference = Reference(image)
    different = 0
    for inputs, got in zip(runs, result.runs, strict=True):
        # A reset in LiteRT runs CALL_ONCE again, as a new TFLM interpreter does.
        for a, b in zip(reference.run(inputs), got, strict=True):
            different += int(
                np.count_nonzero(np.frombuffer(a.tobytes(), "u1") != np.frombuffer(b.tobytes(), "u1"))
            )
    return different


def _run(models: Mapping[str, Model]) -> dict[str, tuple[Model, bytes, list[list[np.ndarray]], TflmResult]]:
    images = {name: image_bytes(model, planned(model)) for name, model in models.items()}
    inputs = {name: random_runs(model, 3) for name, model in models.items()}
    jobs = [TflmJob(images[name], inputs[name], len(model.main.outputs)) for name, model in models.items()]
    results = run_tflm(jobs)
    return {
        name: (model, images[name], inputs[name], result)
        for (name, model), result in zip(models.items(), results, strict=True)
    }


@needs_tflm
def test_small_images_give_the_same_bytes() -> None:
    for name, (model, image, runs, result) in _run({n: small_models.ALL[n]() for n in SMALL}).items():
        assert differing_bytes(model, image, result, runs) == 0, name


@needs_tflm
def test_real_images_give_the_same_bytes_but_for_known_operators() -> None:
    models = {name: load_any(shared_model(name)) for name in SHARED}
    for name, (model, image, runs, result) in _run(models).items():
        different = differing_bytes(model, image, result, runs)
        if {op.name for op in model.main.ops} & set(KNOWN_DIFFERENCES):
            assert (different > 0) == (name == "ad01_int8"), (
                "only its ten layers in a row make a difference visible"
            )
        else:
            assert different == 0, name


@needs_tflm
def test_real_operators_that_differ_are_the_known_ones() -> None:
    """Each operator alone, so that a difference is laid at its own door."""
    verdicts: list[OpVerdict] = []
    for name in SHARED:
        model = load_any(shared_model(name))
        verdicts += check(model, random_runs(model, 2))
    assert not [v for v in verdicts if v.refused]
    assert {v.name for v in verdicts if v.different} == {"FULLY_CONNECTED"}
    assert max(v.largest for v in verdicts) == 1.0


def fully_connected() -> Model:
    """Small sums and a multiplier near 1/50: about one result in sixty lies where rounding twice shows."""
    n = small_models.Net(21)
    x = n.input((1, 2))
    w = n.tensor((64, 2), data=n.rng.integers(-127, 128, (64, 2)), quant=Quantization((0.01,), (0,)))
    y = n.op(
        "FULLY_CONNECTED", [x, w, n.bias(x, w, 64)], (1, 64), options="FullyConnectedOptions",
        quant=Quantization((0.0103,), (4,)),
    )  # fmt: skip
    return n.model([y])


@needs_tflm
def test_fully_connected_rounds_otherwise_in_tflm() -> None:
    """The difference that is documented is there, and it is one step at most."""
    model = fully_connected()
    (verdict,) = check(model, random_runs(model, 40))
    assert verdict.different > 0 and verdict.largest == 1.0
    assert "rounds once" in KNOWN_DIFFERENCES["FULLY_CONNECTED"]


@needs_tflm
def test_tflm_follows_the_plan() -> None:
    """Its arena holds what the plan says; moving the whole plan up moves its arena by the same number of bytes."""
    model = small_models.reshapes()
    made = planned(model)
    assert made.offsets
    moved = replace(
        made, offsets={i: at + 4096 for i, at in made.offsets.items()}, arena_bytes=made.arena_bytes + 4096
    )
    runs = random_runs(model, 2)
    images = [image_bytes(model, p) for p in (made, moved)]
    stays, moves = run_tflm([TflmJob(image, runs, 1) for image in images])
    assert stays.head_bytes == made.arena_bytes
    assert moves.head_bytes == made.arena_bytes + 4096
    assert (
        differing_bytes(model, images[0], stays, runs) == differing_bytes(model, images[1], moves, runs) == 0
    )


@needs_tflm
def test_tflm_needs_no_more_arena_with_the_plan_than_without() -> None:
    models = {name: load_any(shared_model(name)) for name in SHARED}
    plans = {name: planned(model) for name, model in models.items()}
    jobs = []
    for name, model in models.items():
        runs = random_runs(model, 1)
        jobs += [TflmJob(image_bytes(model, plans[name]), runs, 1), TflmJob(to_flatbuffer(model), runs, 1)]
    results = run_tflm(jobs)
    for name, ours, theirs in zip(models, results[::2], results[1::2], strict=True):
        assert plans[name].arena_bytes <= ours.head_bytes <= theirs.head_bytes, name


@needs_tflm
def test_an_abort_names_the_model_and_spares_the_others() -> None:
    good, bad = small_models.conv_net(), small_models.svdf()
    jobs = [TflmJob(to_flatbuffer(m), random_runs(m, 1), 1) for m in (good, bad, good)]
    first, crashed, last = run_tflm(jobs)
    assert crashed.runs is None and "the process ended with -" in crashed.error
    assert first.runs is not None and last.runs is not None
    np.testing.assert_array_equal(first.runs[0][0], last.runs[0][0])


def test_missing_package_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tflm.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(UsageError, match="tflite-micro is not installed") as caught:
        run_tflm([])
    assert "pip install --pre tflite-micro" in caught.value.hint
