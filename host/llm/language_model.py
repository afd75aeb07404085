"""A language model as a file describes it: its architecture, and how many bytes its weights take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arenite.errors import UsageError
from arenite.host.llm.architecture import Architecture
from arenite.host.llm.cache_types import DEFAULT_CACHE_TYPE
from arenite.host.llm.kv_cache import CELL_BLOCK

#: The runtimes, by the names that people give them.
LLAMA_CPP, ONNX_GENAI, LITERT_LM = "llama.cpp", "ONNX Runtime GenAI", "LiteRT-LM"

#: The context if none is asked for, in tokens.
DEFAULT_CONTEXT = 4096


@dataclass(frozen=True)
class LanguageModel:
    """A model. ``weight_bytes``: all tensors. ``active_bytes``: the tensors that are read for each token: without the
    embedding unless it is the output too, and with only the experts that run. ``active_parameters``: the elements of
    the latter. ``exact``: the bytes are those of a file, else they are computed for the quantization.

    ``runtime``: what runs the model. ``fixed_cache_type``: the type of the cache, if the file decides it.
    ``cache_block``: the tokens for which the cache has room are a multiple of this. ``copied_bytes``: the weights of
    which the runtime keeps a second copy."""

    path: Path
    architecture: Architecture
    quantization: str
    parameters: int
    active_parameters: int
    weight_bytes: int
    active_bytes: int
    exact: bool
    runtime: str = LLAMA_CPP
    fixed_cache_type: str | None = None
    cache_block: int = CELL_BLOCK
    copied_bytes: int = 0

    def context_length(self, asked: int | None) -> int:
        """Return the context in tokens: ``asked``, or ``DEFAULT_CONTEXT`` or that of the training if it is shorter.
        Raises ``UsageError`` if ``asked`` is longer than that of the training."""
        trained = self.architecture.context
        if asked is None:
            return min(DEFAULT_CONTEXT, trained)
        if asked > trained:
            raise UsageError(
                f"{self.path.name} was made for a context of {trained:,} tokens, so it cannot use {asked:,}.",
                f"Give --context {trained} or less.",
            )
        return asked

    def cache_type(self, asked: str | None) -> str:
        """Return the type of the cache if ``asked`` is the one that the user wants, or None. Raises ``UsageError`` if
        the file decides another one."""
        if self.fixed_cache_type is None:
            return asked or DEFAULT_CACHE_TYPE
        if asked not in (None, self.fixed_cache_type):
            raise UsageError(
                f"The cache of {self.path.name} has the type {self.fixed_cache_type}, which its graph decides.",
                "Leave out --cache-type.",
            )
        return self.fixed_cache_type
