"""Predict how fast a host decodes and reads prompts, and what energy a token takes.

A token is decoded by reading every active weight and the cache once. The time of that at the theoretical bandwidth of
the memory bounds the rate; so does the peak of computation, on processors that multiply slowly. Runtimes reach a part
of both. The parts are the extremes of published runs (benchmarks/language_models/published.toml), widened by a
twentieth: ``python -m benchmarks.language_models`` computes them, and a test compares them with the constants here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from arenite.host.llm.cache_types import DEFAULT_CACHE_TYPE
from arenite.host.llm.kv_cache import kv_read_bytes
from arenite.host.llm.language_model import LITERT_LM, LanguageModel
from arenite.profiles.hosts import HostProfile


@dataclass(frozen=True)
class Reached:
    """The lowest and the highest part of a bound that runtimes reach."""

    low: float
    high: float


#: The part of the memory's bandwidth, by the processor that runs the model.
BANDWIDTH = {"cpu": Reached(0.397, 0.759), "gpu": Reached(0.323, 0.946)}
#: The part of the peak of computation in decoding, from the runs that are bound by computation: those of the Raspberry
#: Pi 4, whose processor has no instruction for dot products.
DECODE_COMPUTE = Reached(0.0922, 0.113)
#: The part of the peak of computation in reading a prompt.
PREFILL_COMPUTE = Reached(0.0873, 0.355)
#: Seconds that the slowest runtime spends per layer and token besides, to start the work on a GPU.
GPU_LAYER_S = 100e-6


@dataclass(frozen=True)
class Speed:
    """Rates in tokens per second. ``decode_bound``: at the theoretical bandwidth. ``decode_low`` to ``decode_high`` and
    ``prefill_low`` to ``prefill_high``: what runtimes reach. ``watts``: the power of the host while it decodes."""

    decode_bound: float
    decode_low: float
    decode_high: float
    prefill_low: float
    prefill_high: float
    watts: float

    @property
    def decode(self) -> float:
        """The geometric mean of the range."""
        return math.sqrt(self.decode_low * self.decode_high)

    @property
    def prefill(self) -> float:
        """The geometric mean of the range."""
        return math.sqrt(self.prefill_low * self.prefill_high)

    @property
    def joules_per_token(self) -> float:
        """The energy of the complete host per decoded token, in J."""
        return self.watts / self.decode

    @property
    def tokens_per_wh(self) -> float:
        return 3600 / self.joules_per_token

    def first_token_s(self, prompt: int) -> float:
        """Return the seconds until the first token after a prompt of ``prompt`` tokens: the last token of the prompt
        gives it."""
        return prompt / self.prefill + 1 / self.decode


def predict_speed(
    model: LanguageModel, host: HostProfile, tokens: int, cache_type: str = DEFAULT_CACHE_TYPE
) -> Speed:
    """Return the rates of ``model`` on ``host`` with ``tokens`` tokens in a cache of type ``cache_type``. A graph of
    LiteRT-LM has fixed shapes, so it reads the complete cache for each token."""
    if model.runtime == LITERT_LM:
        tokens = model.architecture.context
    read = model.active_bytes + kv_read_bytes(model.architecture, tokens, cache_type)
    memory_s = read / (host.memory.bandwidth_gb_s * 1e9)
    compute_s = 2 * model.active_parameters / (host.compute.peak_gops * 1e9)
    reached = BANDWIDTH[host.compute.processor]
    start_s = GPU_LAYER_S * len(model.architecture.layers) if host.compute.processor == "gpu" else 0.0
    prompt_s = 2 * prompt_parameters(model) / (host.compute.peak_gops * 1e9)
    return Speed(
        decode_bound=1 / memory_s,
        decode_low=1 / (max(memory_s / reached.low, compute_s / DECODE_COMPUTE.low) + start_s),
        decode_high=1 / max(memory_s / reached.high, compute_s / DECODE_COMPUTE.high),
        prefill_low=PREFILL_COMPUTE.low / prompt_s,
        prefill_high=PREFILL_COMPUTE.high / prompt_s,
        watts=decode_watts(host),
    )


def prompt_parameters(model: LanguageModel) -> int:
    """Return the number of weights that multiply each token of a prompt: the output matrix multiplies only the last."""
    architecture = model.architecture
    return max(model.active_parameters - architecture.hidden * architecture.vocabulary, 1)


def decode_watts(host: HostProfile) -> float:
    """Return the power of ``host`` in W while it decodes: all cores are busy, or the GPU and one core that feeds it."""
    if host.compute.processor == "gpu":
        return host.idle_w + host.accelerator_w + host.core_watts()
    return host.idle_w + host.cores * host.core_watts()
