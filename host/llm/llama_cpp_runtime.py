"""Run GGUF files with llama.cpp, through the package llama-cpp-python."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from arenite.errors import ToolError, UsageError
from arenite.host.llm.ggml_types import GGML_TYPES
from arenite.host.llm.kv_cache import BATCH
from arenite.host.llm.runtime import ContextFullError, Message


class LlamaCppRuntime:
    """A model in llama.cpp. ``cache_type`` is a key of ``CACHE_TYPES``, and ``threads`` None for llama.cpp's choice.

    Raises:
        UsageError: The package llama-cpp-python is not installed.
        ToolError: llama.cpp cannot load the file.
    """

    def __init__(self, path: Path, context: int, cache_type: str, threads: int | None = None) -> None:
        try:
            llama_cpp: Any = importlib.import_module("llama_cpp")
        except ImportError as error:
            raise UsageError(
                "Running a language model needs the package llama-cpp-python, which is not installed.",
                "Install it: pip install 'arenite[llm]'. It compiles llama.cpp, so it needs a C++ compiler.",
            ) from error
        number = next(number for number, kind in GGML_TYPES.items() if kind.name == cache_type.upper())
        try:
            self._model: Any = llama_cpp.Llama(
                str(path),
                n_ctx=context,
                n_ubatch=BATCH,
                n_threads=threads,
                n_threads_batch=threads,
                type_k=number,
                type_v=number,
                flash_attn=True,  # llama.cpp quantizes the values of the cache only with it
                swa_full=False,
                verbose=False,
            )
        except (ValueError, RuntimeError) as error:
            raise ToolError(
                f"llama.cpp cannot load {path.name}: {error}.",
                "Update llama-cpp-python, or try another file.",
            ) from error

    def reply(self, conversation: Sequence[Message], max_tokens: int) -> Iterator[str]:
        messages = [{"role": message.role, "content": message.text} for message in conversation]
        try:
            # Temperature 0 takes the likeliest token, so the same conversation has the same answer again.
            pieces = self._model.create_chat_completion(
                messages=messages, max_tokens=max_tokens, temperature=0.0, stream=True
            )
            for piece in pieces:
                text = piece["choices"][0]["delta"].get("content")
                if text:
                    yield text
        except ValueError as error:
            # The package has no class of its own for this error, which it raises before it decodes.
            if "exceed context window" in str(error):
                raise ContextFullError from error
            raise

    def close(self) -> None:
        self._model.close()
