"""Arenite's images run in stock TensorFlow Lite Micro with the planned arena. Their outputs have the same bytes as
LiteRT's, except for known operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.importers.load import load_any
from arenite.converters.planner import OpRequirements, Plan, plan
from arenite.converters.tflite.image import image_bytes, to_flatbuffer
from arenite.errors import ModelError, UsageError
from arenite.host.bench.reference import Reference
from arenite.host.bench.tflm import document, runner
from arenite.host.bench.tflm.check import KNOWN_DIFFERENCES, all_values, check_all, random_runs
from arenite.host.bench.tflm.runner import TflmJob, TflmResult, run_tflm
from tests.converters import small_models
from tests.development_models import shared_model
from tests.fuzz.cases import load_all
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.bench.tflm.tflm_models import AGREEING, DIFFERING

needs_tflm = pytest.mark.skipif(
    not runner.available(),
    reason="the package tflite-micro is not installed (pip install --pre tflite-micro)",
)
ALIASES = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
#: TFLM itself crashes on an SVDF without bias; other tests check an SVDF with a bias.
SMALL = tuple(name for name in small_models.ALL if name != "svdf")
SHARED = ("ad01_int8", "ic01_int8", "kws01_int8", "vww01_int8", "sww01_int8", "person_detect_int8")


def planned(model: Model) -> Plan:
    """Return a plan of the arena with the alignment of TFLM, 16 bytes."""
    needs = [OpRequirements(alias=((0, 0),) if op.name in ALIASES else ()) for op in model.main.ops]
    stateful = any(op.name == "VAR_HANDLE" for op in model.main.ops)
    return plan(model.main, needs, alignment=16, persistent={"/state": 4} if stateful else {})


def differing_bytes(model: Model, image: bytes, result: TflmResult, runs: list[list[np.ndarray]]) -> int:
    """Return the number of output bytes in which TFLM differs from LiteRT."""
    assert result.runs is not None, result.error
    reference = Reference(image)
    different = 0
    for inputs, actual in zip(runs, result.runs, strict=True):
        # A reset in LiteRT runs CALL_ONCE again, as a new TFLM interpreter does.
        for a, b in zip(reference.run(inputs), actual, strict=True):
            different += int(
                np.count_nonzero(np.frombuffer(a.tobytes(), "u1") != np.frombuffer(b.tobytes(), "u1"))
            )
    return different


def _run(models: Mapping[str, Model]) -> dict[str, tuple[Model, bytes, list[list[np.ndarray]], TflmResult]]:
    """Run all models in TFLM. Return (model, image, inputs of each run, result) by name."""
    images = {name: image_bytes(model, planned(model)) for name, model in models.items()}
    inputs = {name: random_runs(model, 3) for name, model in models.items()}
    jobs = [TflmJob(images[name], inputs[name], len(model.main.outputs)) for name, model in models.items()]
    results = run_tflm(jobs)
    return {
        name: (model, images[name], inputs[name], result)
        for (name, model), result in zip(models.items(), results, strict=True)
    }


def _runs(name: str, model: Model) -> list[list[np.ndarray]]:
    """Return the inputs of four runs, with values for which the operator ``name`` is defined."""
    runs = random_runs(model, 4)
    if name == "RSQRT":  # defined for positive values only
        return [[np.clip(a, 1, None).astype(a.dtype) for a in run] for run in runs]
    return runs


@needs_tflm
def test_small_images_give_the_same_bytes() -> None:
    for name, (model, image, runs, result) in _run({n: small_models.ALL[n]() for n in SMALL}).items():
        assert differing_bytes(model, image, result, runs) == 0, name


@pytest.mark.slow
@needs_tflm
def test_real_images_give_the_same_bytes_but_for_known_operators() -> None:
    models = {name: load_any(shared_model(name)) for name in SHARED}
    for name, (model, image, runs, result) in _run(models).items():
        different = differing_bytes(model, image, result, runs)
        if {op.name for op in model.main.ops} & set(KNOWN_DIFFERENCES):
            assert (different > 0) == (name == "ad01_int8"), (
                "only in a row of ten such layers does a difference reach the output"
            )
        else:
            assert different == 0, name


@pytest.mark.slow
@needs_tflm
def test_in_real_models_only_fully_connected_layers_differ() -> None:
    """Each operator runs alone, so that a difference is assigned to the right operator."""
    models = [load_any(shared_model(name)) for name in SHARED]
    verdicts = [v for vs in check_all([(m, random_runs(m, 2)) for m in models]) for v in vs]
    assert not [v for v in verdicts if v.refused]
    assert {v.name for v in verdicts if v.different} == {"FULLY_CONNECTED"}
    assert max(v.largest for v in verdicts) == 1.0


@needs_tflm
def test_documented_differences_exist() -> None:
    """For each documented difference, a model shows that it exists. If a change of TFLM removes a difference, this test
    fails and names it."""
    built = {name: make() for name, make in DIFFERING.items()}
    verdicts = check_all([(model, _runs(name, model)) for name, model in built.items()])
    by_name = {name: vs[0] for name, vs in zip(built, verdicts, strict=True)}
    assert {name for name, v in by_name.items() if not v.different} == set()
    assert {v.name for v in by_name.values()} == set(KNOWN_DIFFERENCES)
    assert {n: v.largest for n, v in by_name.items() if "at most 1" in KNOWN_DIFFERENCES[v.name]} == {
        "FULLY_CONNECTED": 1.0, "FULLY_CONNECTED int16": 1.0, "RELU": 1.0,
    }  # fmt: skip


@needs_tflm
def test_the_same_operators_agree_outside_the_documented_cases() -> None:
    built = {name: make() for name, make in AGREEING.items()}
    verdicts = check_all([(model, random_runs(model, 4)) for model in built.values()])
    differences = {name: (v.different, v.refused) for name, (v,) in zip(built, verdicts, strict=True)}
    assert differences == dict.fromkeys(built, (0, ""))


@pytest.mark.slow
@needs_tflm
def test_no_other_operator_differs() -> None:
    """The test runs two random models of each operator that Arenite supports, except for models that TFLM cannot
    run."""
    models = []
    for name, case in load_all().items():
        if name.startswith("CUSTOM"):  # SignalEnergy leaves the energies outside its range undefined in TFLM
            continue  # tests/converters/graph/signal compares chains of these operators
        for seed in range(2):
            builder = GraphBuilder(np.random.default_rng([seed, len(name)]))
            case(builder)
            model = builder.build()
            runs = random_runs(model, 1)
            try:
                all_values(model, runs[0])
            except ModelError:  # values without a result, such as the root of a negative number
                continue
            models.append((model, runs))
    verdicts = [v for vs in check_all(models) for v in vs]
    assert {v.name for v in verdicts if v.different} <= set(KNOWN_DIFFERENCES)
    assert len({v.name for v in verdicts if not v.refused}) > 20


@needs_tflm
def test_tflm_follows_the_plan() -> None:
    """TFLM's arena has the planned size. If all planned offsets are increased, the arena grows by the same number of
    bytes."""
    model = small_models.reshapes()
    original = planned(model)
    assert original.offsets
    moved = replace(
        original,
        offsets={i: offset + 4096 for i, offset in original.offsets.items()},
        arena_bytes=original.arena_bytes + 4096,
    )
    runs = random_runs(model, 2)
    images = [image_bytes(model, p) for p in (original, moved)]
    stays, moves = run_tflm([TflmJob(image, runs, 1) for image in images])
    assert stays.head_bytes == original.arena_bytes
    assert moves.head_bytes == original.arena_bytes + 4096
    assert (
        differing_bytes(model, images[0], stays, runs) == differing_bytes(model, images[1], moves, runs) == 0
    )


@pytest.mark.slow
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
    working_model, crashing_model = small_models.conv_net(), small_models.svdf()
    jobs = [
        TflmJob(to_flatbuffer(m), random_runs(m, 1), 1)
        for m in (working_model, crashing_model, working_model)
    ]
    first, crashed, last = run_tflm(jobs)
    assert crashed.runs is None and "the process ended with exit code -" in crashed.error
    assert first.runs is not None and last.runs is not None
    np.testing.assert_array_equal(first.runs[0][0], last.runs[0][0])


def test_a_missing_package_raises_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner.importlib.util, "find_spec", lambda _name: None)  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="tflite-micro is not installed") as caught:
        run_tflm([])
    assert "pip install --pre tflite-micro" in caught.value.hint


def test_the_page_is_up_to_date() -> None:
    assert document.PAGE.read_text(encoding="utf-8") == document.page()
