"""The shape of a decoder-only transformer, as far as memory and speed depend on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arenite.errors import ModelError, UnsupportedModelError

#: Limits of what a file may declare. Each is far above the largest published model.
MAX_LAYERS = 1024
MAX_WIDTH = 1 << 20
MAX_VOCABULARY = 1 << 22
MAX_CONTEXT = 1 << 24


@dataclass(frozen=True)
class AttentionLayer:
    """The attention of one layer. It has ``kv_heads`` pairs of heads of keys and values, which groups of query heads
    share, with ``key_dim`` and ``value_dim`` elements. ``window``: the number of last tokens that the layer sees, or
    None if it sees all."""

    kv_heads: int
    key_dim: int
    value_dim: int
    window: int | None = None


@dataclass(frozen=True)
class Architecture:
    """A transformer. ``name`` is the architecture's name in GGUF files. ``tied``: the matrix of the output is that of
    the embedding. ``experts_used`` of ``experts`` feed-forward networks run for a token; both are 0 without experts.

    Raises ``ModelError`` if a size is not possible."""

    name: str
    hidden: int
    heads: int
    feed_forward: int
    vocabulary: int
    context: int  # the context with which the model was trained, in tokens
    layers: tuple[AttentionLayer, ...]
    tied: bool
    experts: int = 0
    experts_used: int = 0

    def __post_init__(self) -> None:
        sizes = {
            "hidden size": (self.hidden, MAX_WIDTH),
            "number of heads": (self.heads, MAX_WIDTH),
            "size of the feed-forward network": (self.feed_forward, MAX_WIDTH),
            "vocabulary": (self.vocabulary, MAX_VOCABULARY),
            "context": (self.context, MAX_CONTEXT),
            "number of layers": (len(self.layers), MAX_LAYERS),
        }
        for layer in self.layers:
            sizes |= {
                "number of heads of keys": (layer.kv_heads, self.heads),
                "size of a key": (layer.key_dim, MAX_WIDTH),
                "size of a value": (layer.value_dim, MAX_WIDTH),
                "sliding window": (layer.window if layer.window is not None else 1, MAX_CONTEXT),
            }
        for name, (value, largest) in sizes.items():
            if not 1 <= value <= largest:
                raise ModelError(
                    f"The {name} is {value:,}, not from 1 to {largest:,}.", "Download the model again."
                )
        if not 0 <= self.experts_used <= self.experts <= 4096 or bool(self.experts) != bool(
            self.experts_used
        ):
            raise ModelError(f"{self.experts_used} of {self.experts} experts cannot run for a token.")

    @property
    def windowed(self) -> bool:
        """Whether a layer sees only the last tokens."""
        return any(layer.window is not None for layer in self.layers)


def _never(_layer: int) -> bool:
    return False


def _all_but_every(period: int) -> Callable[[int], bool]:
    """Return the pattern in which every ``period``-th layer sees all tokens and the others a window."""
    return lambda layer: layer % period < period - 1


#: The known architectures by their names in GGUF files: which layers have a sliding window. The patterns are those that
#: llama.cpp runs (src/llama-model.cpp). It gives Mistral and Phi 3 no window, although their papers have one.
WINDOW_PATTERNS: dict[str, Callable[[int], bool]] = {
    "llama": _never,
    "qwen2": _never,
    "qwen2moe": _never,
    "qwen3": _never,
    "qwen3moe": _never,
    "gemma": _never,
    "gemma2": _all_but_every(2),
    "gemma3": _all_but_every(6),
    "phi2": _never,
    "phi3": _never,
    "smollm3": _never,
    "olmo2": _never,
    "olmoe": _never,
    "granite": _never,
    "stablelm": _never,
    "starcoder2": _never,
    "internlm2": _never,
    "exaone": _never,
    "gpt-oss": _all_but_every(2),
}


def window_pattern(name: str, source: str) -> Callable[[int], bool]:
    """Return the function that tells whether a layer of architecture ``name`` has a sliding window. Raises
    ``UnsupportedModelError``, which begins with ``source``, for an unknown architecture."""
    if name not in WINDOW_PATTERNS:
        raise UnsupportedModelError(
            f"{source} has the architecture '{name[:80]}', whose cache is not known here. A wrong formula would give "
            "wrong bytes.",
            f"Known architectures: {', '.join(WINDOW_PATTERNS)}.",
        )
    return WINDOW_PATTERNS[name]
