"""Layers that run row by row give the bytes of LiteRT's reference kernels on this computer."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.tflite.image import to_flatbuffer
from arenite.firmware.generator.target import DSP, MVE, SCALAR, Target
from arenite.host.bench.native_model import NativeModel, build
from arenite.host.bench.reference import Reference
from arenite.host.build.prepare import prepare
from tests.development_models import shared_model
from tests.firmware.engine.random_chains import (
    ChainBuilder,
    chain,
    depthwise_1x1,
    depthwise_3x3,
    global_mean,
)
from tests.firmware.engine.streamed_models import lower_streamed
from tests.fuzz.comparison import CACHE, random_input

CHAINS = 40
MODELS = ("ic01_int8", "kws01_int8", "vww01_int8", "person_detect_int8")


def differences(model: Model, native: NativeModel, seed: int, runs: int = 2) -> int:
    """Return the number of output bytes that differ from LiteRT's over ``runs`` successive inferences.

    The arena is filled with 0xA5 before the first.
    """
    rng, reference = np.random.default_rng(seed), Reference(to_flatbuffer(model))
    native.fill_arena(0xA5)
    count = 0
    for _ in range(runs):
        inputs = [random_input(model.main.tensors[i], rng) for i in model.main.inputs]
        for expected, actual in zip(reference.run(inputs), native.run(inputs), strict=True):
            count += int((expected.view(np.uint8) != actual.view(np.uint8)).sum())
    return count


@pytest.mark.parametrize("tier", [SCALAR, DSP, MVE])
def test_1x1_convolutions_run_row_by_row(tier: str) -> None:
    """Without streaming, 1x1 convolutions treat all pixels of the image as one row."""
    b = ChainBuilder(np.random.default_rng(5))
    b.input((1, 20, 7, 16), "int8", b.quant("int8"))
    for kind in (depthwise_1x1, depthwise_3x3, depthwise_1x1, global_mean):
        kind(b)
    model = b.build()
    generated = lower_streamed(model, Target("", tier, "ram", stream_input=True), f"one_{tier}_")
    assert generated is not None and all(layer.streamed for layer in generated.calls)
    assert differences(model, build([generated], CACHE)[0], 0) == 0


@pytest.mark.slow
@pytest.mark.parametrize("tier", [SCALAR, DSP, MVE])
@pytest.mark.parametrize("stream_input", [False, True])
def test_random_chains_are_exact(tier: str, stream_input: bool) -> None:
    target = Target("", tier, "ram", stream_input)
    models = [chain(seed) for seed in range(CHAINS)]
    generated = [lower_streamed(model, target, f"c{k}_") for k, model in enumerate(models)]
    is_streamable = [(model, g) for model, g in zip(models, generated, strict=True) if g is not None]
    assert len(is_streamable) > CHAINS // 2
    natives = build([g for _, g in is_streamable], CACHE)
    wrong = {
        g.prefix: n
        for k, ((model, g), native) in enumerate(zip(is_streamable, natives, strict=True))
        if (n := differences(model, native, k))
    }
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("tier", [SCALAR, DSP, MVE])
def test_trained_models_are_exact_in_little_memory(name: str, tier: str) -> None:
    prepared = prepare(shared_model(name))
    balanced_bytes = prepared.retarget(Target("", tier, "balanced")).plan.arena_bytes
    for stream_input in (False, True):
        small = prepared.retarget(Target("", tier, "ram", stream_input))
        # Streaming saves at least 35 % of the arena of each of these models.
        assert small.plan.segments and small.plan.arena_bytes < 0.65 * balanced_bytes
        (native,) = build([small.generated], CACHE)
        reference = Reference(prepared.reference)
        rng = np.random.default_rng(1)
        native.fill_arena(0x5A)
        for _ in range(3):
            inputs = [
                random_input(t, rng)
                for t in (prepared.model.main.tensors[i] for i in prepared.model.main.inputs)
            ]
            for expected, actual in zip(reference.run(inputs), native.run(inputs), strict=True):
                np.testing.assert_array_equal(expected, actual)
