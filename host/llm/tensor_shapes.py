"""List the weights of a transformer by its architecture, as llama.cpp's converter writes them into GGUF files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from arenite.host.llm.architecture import Architecture

#: The layer of weights that belong to no layer.
NO_LAYER = -1


@dataclass(frozen=True)
class Weight:
    """A weight. ``role`` is its name without layer, such as ``attn_v``. A matrix has ``rows`` rows of ``columns``
    elements; a vector has 1 row and is stored in F32."""

    role: str
    layer: int
    columns: int
    rows: int = 1


def weights(architecture: Architecture) -> Iterator[Weight]:
    """Yield the weights of ``architecture``, which has no experts and gated feed-forward networks."""
    name, hidden = architecture.name, architecture.hidden
    yield Weight("token_embd", NO_LAYER, hidden, architecture.vocabulary)
    yield Weight("output_norm", NO_LAYER, hidden)
    if not architecture.tied:
        yield Weight("output", NO_LAYER, hidden, architecture.vocabulary)
    for index, layer in enumerate(architecture.layers):
        queries = architecture.heads * layer.key_dim
        keys, values = layer.kv_heads * layer.key_dim, layer.kv_heads * layer.value_dim
        yield Weight("attn_norm", index, hidden)
        yield Weight("ffn_norm", index, hidden)
        if name == "phi3":
            yield Weight("attn_qkv", index, hidden, queries + keys + values)
            yield Weight("ffn_up", index, hidden, 2 * architecture.feed_forward)
        else:
            yield Weight("attn_q", index, hidden, queries)
            yield Weight("attn_k", index, hidden, keys)
            yield Weight("attn_v", index, hidden, values)
            yield Weight("ffn_gate", index, hidden, architecture.feed_forward)
            yield Weight("ffn_up", index, hidden, architecture.feed_forward)
        yield Weight("attn_output", index, architecture.heads * layer.value_dim, hidden)
        yield Weight("ffn_down", index, architecture.feed_forward, hidden)
        if name == "qwen2":
            for size in (queries, keys, values):
                yield Weight("attn_bias", index, size)
        if name in ("qwen3", "gemma3"):
            yield Weight("attn_q_norm", index, layer.key_dim)
            yield Weight("attn_k_norm", index, layer.key_dim)
        if name in ("gemma2", "gemma3"):
            yield Weight("post_attention_norm", index, hidden)
            yield Weight("post_ffw_norm", index, hidden)
