"""Tests of the predicted memory, speed and energy, and of the changes that would help."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.errors import UsageError
from arenite.host.llm.architecture import Architecture, AttentionLayer
from arenite.host.llm.cache_types import CACHE_TYPES
from arenite.host.llm.kv_cache import kv_bytes, kv_bytes_per_token, kv_read_bytes
from arenite.host.llm.memory import longest_context, predict_memory
from arenite.host.llm.prediction import fit_language_model
from arenite.host.llm.quantizations import quantized_model
from arenite.host.llm.remedies import find_remedies
from arenite.host.llm.speed import predict_speed
from arenite.profiles.hosts import host_names, load_host

SMOLLM2 = Architecture("llama", 576, 9, 1536, 49152, 8192, (AttentionLayer(3, 64, 64),) * 30, tied=True)
MODEL = quantized_model(Path("model.gguf"), SMOLLM2, "Q4_1")
PI5 = load_host("raspberry_pi_5")


@pytest.mark.parametrize(("cache_type", "bits"), [("f16", 16), ("q8_0", 8.5), ("q4_0", 4.5)])
def test_a_token_takes_the_bytes_of_its_keys_and_values(cache_type: str, bits: float) -> None:
    assert kv_bytes_per_token(SMOLLM2, cache_type) == 2 * 30 * 3 * 64 * bits / 8


#: What llama.cpp's log tells of its cache for SmolLM2-135M (llama-cpp-python 0.3.36), in MiB.
@pytest.mark.parametrize(
    ("context", "cache_type", "mib"),
    [(512, "f16", 11.25), (512, "q8_0", 5.98), (2048, "f16", 45.0), (2048, "q8_0", 23.91), (8192, "f16", 180.0),
     (8192, "q8_0", 95.62)],
)  # fmt: skip
def test_the_cache_has_the_bytes_that_llama_cpp_allocates(context: int, cache_type: str, mib: float) -> None:
    assert kv_bytes(SMOLLM2, context, cache_type) / 2**20 == pytest.approx(mib, abs=0.0051)


#: The resident set of runs of SmolLM2-135M Q4_1 after a prompt that almost fills the context, in KiB (as above).
@pytest.mark.parametrize(
    ("context", "cache_type", "kib"),
    [(512, "f16", 184_520), (512, "q8_0", 178_140), (2048, "f16", 222_808), (2048, "q8_0", 200_184),
     (8192, "f16", 362_836), (8192, "q8_0", 275_536)],
)  # fmt: skip
def test_the_memory_is_within_three_percent_of_measured_runs(context: int, cache_type: str, kib: int) -> None:
    assert predict_memory(MODEL, PI5, context, cache_type).total / 1024 == pytest.approx(kib, rel=0.03)


def test_a_window_bounds_the_cache_of_its_layers() -> None:
    layer, windowed = AttentionLayer(1, 64, 64), AttentionLayer(1, 64, 64, window=512)
    shape = replace(SMOLLM2, layers=(layer, windowed))
    token = 2 * 64 * 2
    assert kv_bytes(shape, 8192, "f16") == token * (8192 + 1024)  # the window and a batch of 512
    assert kv_bytes(shape, 300, "f16") == token * (512 + 512)  # both hold the context, in blocks of 256
    assert kv_read_bytes(shape, 2000, "f16") == token * (2000 + 512)


@pytest.mark.parametrize("host", host_names())
@given(context=st.integers(1, 8192), cache_type=st.sampled_from(list(CACHE_TYPES)))
def test_rates_are_ordered_and_below_the_bound(host: str, context: int, cache_type: str) -> None:
    speed = predict_speed(MODEL, load_host(host), context, cache_type)
    assert 0 < speed.decode_low < speed.decode < speed.decode_high < speed.decode_bound
    assert 0 < speed.prefill_low < speed.prefill < speed.prefill_high
    assert speed.joules_per_token * speed.tokens_per_wh == pytest.approx(3600)
    assert speed.first_token_s(100) > 1 / speed.decode


def test_the_bound_is_bandwidth_over_the_bytes_read() -> None:
    read = MODEL.active_bytes + 1000 * kv_bytes_per_token(SMOLLM2, "f16")
    assert predict_speed(MODEL, PI5, 1000).decode_bound == pytest.approx(17.1e9 / read)


@pytest.mark.parametrize("gib", [0.7, 0.75, 0.8, 1.0])
def test_the_longest_context_is_the_last_that_fits(gib: float) -> None:
    longest = longest_context(MODEL, PI5, size_gib=gib)
    assert longest == 0 or predict_memory(MODEL, PI5, longest, size_gib=gib).fits
    assert longest == 8192 or not predict_memory(MODEL, PI5, longest + 256, size_gib=gib).fits
    assert not math.remainder(longest, 256)


def test_changes_that_make_the_model_fit_are_found() -> None:
    need = predict_memory(MODEL, PI5, 4096, size_gib=0.75)
    assert not need.fits
    remedies = {r.kind: r for r in find_remedies(MODEL, PI5, 4096, "f16", 0.75)}
    assert set(remedies) == {"quantization", "cache", "context"} and all(r.fits for r in remedies.values())
    cache = predict_memory(MODEL, PI5, 4096, remedies["cache"].value, 0.75)
    assert need.total - cache.total == remedies["cache"].saved > 0
    assert predict_memory(MODEL, PI5, int(remedies["context"].value), "f16", 0.75).fits


def test_nothing_helps_a_host_without_memory() -> None:
    remedies = find_remedies(MODEL, load_host("jetson_nano"), 4096, "f16", 0.25)
    assert remedies and not any(remedy.fits for remedy in remedies)


def test_a_context_longer_than_the_training_is_refused() -> None:
    with pytest.raises(UsageError, match="8,192 tokens") as caught:
        fit_language_model(MODEL, ["phone"], context=8193)
    assert "--context 8192" in caught.value.hint
    assert fit_language_model(MODEL, ["phone"]).context == 4096
