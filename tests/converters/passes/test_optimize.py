"""The optimization passes, run together, do not change the outputs of a model, whatever operators it has."""

from __future__ import annotations

import pytest

from arenite.converters.passes.constant_channels import constant_channels
from arenite.converters.passes.optimize import run_passes
from arenite.firmware.generator.operator_needs import check_supported
from tests.converters.passes.constant_channel_models import assert_same, dead_channel_model
from tests.converters.passes.layer_models import conv, quant
from tests.fuzz.campaign import random_model
from tests.fuzz.cases import load_all
from tests.fuzz.comparison import compare
from tests.fuzz.graph_builder import GraphBuilder


def test_a_fused_activation_lets_the_next_pass_remove_a_constant_channel() -> None:
    """The RELU makes channel 1 constant zero, because its bias is very negative. The pass for constant channels only
    finds this because the pass before it has fused the RELU into the convolution."""
    b = GraphBuilder()
    x = b.input((1, 4, 4, 1), "int8", quant(0))
    y = conv(b, x, [[[[1]]], [[[2]]]], [0, -(1 << 20)], zero=-128, activation=0)
    z = b.tensor(b[y].shape, "int8", b[y].quant)
    b.op("RELU", [y], [z], version=2)
    conv(b, z, [[[[1, 3]]]], [4])
    model = b.build()
    optimized, reports = run_passes(model)
    assert [r.name for r in reports] == ["fused activations", "constant channels"]
    assert [optimized.main.tensors[op.outputs[0]].shape[3] for op in optimized.main.ops] == [1, 1]
    assert reports[1].to_json() == {
        "pass": "constant channels",
        "notes": [
            "Constant channels: layer 0 CONV_2D loses 1 of 2 output channels, MACs 32 -> 16.",
            "Constant channels: layer 1 CONV_2D loses input channels, MACs 32 -> 16.",
        ],
        "layers": [
            {
                "index": 0,
                "op": "CONV_2D",
                "channels": 2,
                "channels_removed": 1,
                "macs_before": 32,
                "macs_after": 16,
            },
            {
                "index": 1,
                "op": "CONV_2D",
                "channels": 1,
                "channels_removed": 0,
                "macs_before": 32,
                "macs_after": 16,
            },
        ],
    }
    assert_same(model, optimized)


def test_a_model_that_cannot_be_optimized_is_returned_unchanged() -> None:
    b = GraphBuilder()
    conv(b, b.input((1, 4, 4, 1), "int8", quant(0)), [[[[1]]]], [0])
    model = b.build()
    assert run_passes(model) == (model, ())


@pytest.mark.parametrize("seed", range(30))
def test_passes_do_not_change_the_outputs_of_random_graphs(seed: int) -> None:
    """The graphs also contain variable tensors (state) and float tensors."""
    model = random_model(43, seed, sorted(load_all()), 10)
    optimized, reports = run_passes(model)
    if reports:
        check_supported(optimized)
        assert_same(model, optimized, seed, runs=2)


@pytest.mark.parametrize("seed", range(10))
def test_optimizing_a_second_time_changes_nothing(seed: int) -> None:
    optimized, _ = run_passes(dead_channel_model([44, seed]))
    assert run_passes(optimized) == (optimized, ())


@pytest.mark.slow
def test_the_engine_runs_optimized_models() -> None:
    """With ``multiple`` 1, the number of remaining channels need not be divisible by 4, so layers with odd numbers of
    channels, and with a single channel, occur."""
    models = [constant_channels(dead_channel_model([45, seed]), multiple=1)[0] for seed in range(10)]
    assert compare(models, runs=2) == []
