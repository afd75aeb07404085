"""Predict the memory that a language model takes on a host.

Weights and cache are exact. Activations and overhead are estimates: their constants were measured with SmolLM2-135M on
x86-64, with llama-cpp-python 0.3.36, onnxruntime-genai 0.18.0 and litert-lm-api 0.18.1 (docs/language-models.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from arenite.host.llm.cache_types import DEFAULT_CACHE_TYPE
from arenite.host.llm.kv_cache import BATCH, CELL_BLOCK, cells, kv_bytes
from arenite.host.llm.language_model import LITERT_LM, LLAMA_CPP, ONNX_GENAI, LanguageModel
from arenite.profiles.hosts import HostProfile

#: A Python process with NumPy and llama-cpp-python: interpreter, libraries, and the context without its buffers.
PROCESS_BYTES = 46_500_000
#: The tables of a tokenizer, per entry of the vocabulary.
TOKENIZER_BYTES = 391
#: A Python process with onnxruntime-genai, and its tokenizer per entry of the vocabulary.
ONNX_PROCESS_BYTES = 70_000_000
ONNX_TOKENIZER_BYTES = 440
#: The same with litert-lm-api.
LITERT_PROCESS_BYTES = 86_500_000
LITERT_TOKENIZER_BYTES = 1100
_GIB = 1 << 30


@dataclass(frozen=True)
class MemoryNeed:
    """The memory of a model in bytes: ``weights``, ``kv`` (the cache), ``activations`` (buffers of the computation),
    ``overhead`` (process and tokenizer). ``available``: what the host has besides its operating system."""

    weights: int
    kv: int
    activations: int
    overhead: int
    available: int

    @property
    def total(self) -> int:
        return self.weights + self.kv + self.activations + self.overhead

    @property
    def headroom(self) -> int:
        """The bytes that stay free. A negative number is missing."""
        return self.available - self.total

    @property
    def fits(self) -> bool:
        return self.headroom >= 0


def predict_memory(
    model: LanguageModel,
    host: HostProfile,
    context: int,
    cache_type: str = DEFAULT_CACHE_TYPE,
    size_gib: float | None = None,
) -> MemoryNeed:
    """Return the memory of ``model`` on ``host`` with a context of ``context`` tokens. ``size_gib``: the memory of the
    host, if it is not that of its profile."""
    size = host.memory.size_gib if size_gib is None else size_gib
    return MemoryNeed(
        weights=model.weight_bytes,
        kv=kv_bytes(model.architecture, context, cache_type, model.cache_block),
        activations=_activation_bytes(model, context, host.compute.processor),
        overhead=_overhead_bytes(model),
        available=max(round((size - host.memory.reserved_gib) * _GIB), 0),
    )


def _activation_bytes(model: LanguageModel, context: int, processor: str) -> int:
    """Return the bytes of the buffers for a batch of the prompt.

    llama.cpp reserves room for the logits of a whole batch. On a GPU these bytes are taken. On a CPU the pages are
    never touched, because only the last token's logits are computed; the layers' values are touched.
    """
    shape = model.architecture
    if model.runtime == ONNX_GENAI:
        # The graph computes the logits of every token of a batch.
        inner = 3 * shape.feed_forward + 4 * shape.hidden
        return 4 * min(BATCH, context) * (shape.vocabulary + inner)
    if processor == "gpu":
        return 4 * BATCH * (shape.vocabulary + 2 * shape.hidden)
    mask = BATCH * cells(context)
    return 4 * BATCH * (3 * shape.feed_forward + 4 * shape.hidden) + mask


def _overhead_bytes(model: LanguageModel) -> int:
    vocabulary = model.architecture.vocabulary
    if model.runtime == LLAMA_CPP:
        return PROCESS_BYTES + TOKENIZER_BYTES * vocabulary
    if model.runtime == LITERT_LM:
        return LITERT_PROCESS_BYTES + LITERT_TOKENIZER_BYTES * vocabulary
    return ONNX_PROCESS_BYTES + ONNX_TOKENIZER_BYTES * vocabulary + model.copied_bytes


def longest_context(
    model: LanguageModel,
    host: HostProfile,
    cache_type: str = DEFAULT_CACHE_TYPE,
    size_gib: float | None = None,
) -> int:
    """Return the longest context that fits, at most that of the model's training, or 0 if none fits."""

    def fits(context: int) -> bool:
        return predict_memory(model, host, context, cache_type, size_gib).fits

    trained = model.architecture.context
    if fits(trained):
        return trained
    low, high = 0, -(-trained // CELL_BLOCK)  # in blocks: low fits or is 0, high does not fit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle * CELL_BLOCK) else (low, middle)
    return low * CELL_BLOCK
