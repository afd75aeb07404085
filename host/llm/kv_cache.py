"""The bytes of the cache of keys and values, as the runtimes allocate it."""

from __future__ import annotations

from arenite.host.llm.architecture import Architecture, AttentionLayer
from arenite.host.llm.ggml_types import TYPES_BY_NAME

#: llama.cpp rounds the number of tokens up to a multiple of this.
CELL_BLOCK = 256
#: The number of prompt tokens that are computed together. The cache of a layer with a window holds these besides the
#: window (llama.cpp's option ``--ubatch-size``).
BATCH = 512


def cells(context: int) -> int:
    """Return the number of tokens for which the cache of ``context`` tokens has room."""
    return -(-context // CELL_BLOCK) * CELL_BLOCK


def token_bytes(layer: AttentionLayer, cache_type: str) -> int:
    """Return the bytes of the keys and values of one token in ``layer``.

    A type with blocks stores a row of all heads. If that is no multiple of a block, llama.cpp refuses the type, and the
    row is counted with its last block full.
    """
    kind = TYPES_BY_NAME[cache_type.upper()]
    rows = (layer.kv_heads * layer.key_dim, layer.kv_heads * layer.value_dim)
    return sum(-(-row // kind.block_elements) * kind.block_bytes for row in rows)


def kv_bytes_per_token(architecture: Architecture, cache_type: str) -> int:
    """Return the bytes that a token takes while every layer sees it: for equal layers,
    2 × layers × kv_heads × head_dim × bytes of an element."""
    return sum(token_bytes(layer, cache_type) for layer in architecture.layers)


def kv_bytes(architecture: Architecture, context: int, cache_type: str, block: int = CELL_BLOCK) -> int:
    """Return the bytes that are allocated for ``context`` tokens, rounded up to a multiple of ``block``. A layer with a
    window holds at most the window and one batch."""
    full = -(-context // block) * block
    return sum(_layer_cells(layer, full) * token_bytes(layer, cache_type) for layer in architecture.layers)


def _layer_cells(layer: AttentionLayer, full: int) -> int:
    return full if layer.window is None else min(full, cells(layer.window + BATCH))


def kv_read_bytes(architecture: Architecture, tokens: int, cache_type: str) -> int:
    """Return the bytes that are read to decode the token after ``tokens`` others."""
    return sum(
        (tokens if layer.window is None else min(tokens, layer.window)) * token_bytes(layer, cache_type)
        for layer in architecture.layers
    )
