"""Run folders of ONNX Runtime GenAI through the package onnxruntime-genai."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from arenite.errors import ToolError, UsageError
from arenite.host.llm.kv_cache import BATCH
from arenite.host.llm.onnx_genai_model import cache_outputs
from arenite.host.llm.runtime import ContextFullError, Message, reason_of

#: The level of ONNX Runtime's log at which it is silent except for the end of the process.
_SILENT = 4


class OnnxGenAiRuntime:
    """The model in ``folder`` with a cache for ``context`` tokens. ``threads``: None for one per processor.

    Raises:
        UsageError: The package onnxruntime-genai is not installed.
        ToolError: The package cannot load the folder.
    """

    def __init__(self, folder: Path, context: int, threads: int | None = None) -> None:
        try:
            package: Any = importlib.import_module("onnxruntime_genai")
        except ImportError as error:
            raise UsageError(
                "Running an ONNX language model needs the package onnxruntime-genai, which is not installed.",
                "Install it: pip install 'arenite[llm-onnx]'.",
            ) from error
        self._package, self._folder, self._context = package, folder, context
        self.threads = threads or os.cpu_count() or 1
        session = {"intra_op_num_threads": self.threads, "log_severity_level": _SILENT}
        try:
            config = package.Config(str(folder))
            config.overlay(json.dumps({"model": {"decoder": {"session_options": session}}}))
            self._model: Any = package.Model(config)
            self._tokenizer: Any = package.Tokenizer(self._model)
        except RuntimeError as error:
            raise ToolError(
                f"ONNX Runtime GenAI cannot load {folder.name or folder}: {reason_of(error)}",
                "Download the folder again, or update onnxruntime-genai.",
            ) from error
        self._generator: Any = None
        self._options: dict[str, Any] = {}

    def reply(self, conversation: Sequence[Message], max_tokens: int) -> Iterator[str]:
        messages = [message.to_json() for message in conversation]
        try:
            text = self._tokenizer.apply_chat_template(
                messages=json.dumps(messages), add_generation_prompt=True
            )
        except RuntimeError as error:
            raise ToolError(
                f"{self._folder.name or self._folder} has no usable chat template: {reason_of(error)}",
                "Give a model that was trained for conversations, with its file tokenizer_config.json.",
            ) from error
        stream = self._tokenizer.create_stream()
        for token in self._tokens(self._tokenizer.encode(text).tolist(), max_tokens, 0):
            if piece := stream.decode(token):
                yield piece

    def decode(self, prompt: Sequence[int], tokens: int) -> Iterator[int]:
        """Decode ``tokens`` tokens after the tokens ``prompt``, and yield their number so far after each. The end of a
        text does not stop it. The part of a prompt that the last one had too is not computed again.

        Raises ``ContextFullError`` if the prompt leaves no room.
        """
        for number, _ in enumerate(self._tokens(list(prompt), tokens, self._context), 1):
            yield number

    def cache_bytes(self) -> int:
        """Return the bytes of the cache that the runtime has allocated for the last prompt."""
        return sum(self._generator.get_output(name).nbytes for name in cache_outputs(self._folder))

    def close(self) -> None:
        """Free the memory of the model. The object cannot be used afterwards."""
        self._generator = self._tokenizer = self._model = None

    def _tokens(self, prompt: list[int], tokens: int, min_length: int) -> Iterator[int]:
        """Yield at most ``tokens`` tokens after ``prompt``. The end of the text counts only after ``min_length``
        tokens, those of the prompt included."""
        if len(prompt) >= self._context:
            raise ContextFullError
        try:
            generator = self._start(prompt, min_length)
            for _ in range(tokens):
                if generator.is_done():
                    return
                generator.generate_next_token()
                token = int(generator.get_next_tokens()[0])
                if generator.is_done() and token in self._tokenizer.eos_token_ids:
                    return
                yield token
        except RuntimeError as error:
            raise ToolError(
                f"ONNX Runtime GenAI failed: {reason_of(error)}", "Update onnxruntime-genai."
            ) from error

    def _start(self, prompt: list[int], min_length: int) -> Any:
        """Return a generator that has read ``prompt``. What the last one has read of it is not read again."""
        options = {
            "max_length": self._context,
            "min_length": min_length,
            "do_sample": False,  # takes the likeliest token, so the same conversation has the same answer again
            "chunk_size": BATCH,  # bounds the activations
        }
        common = 0
        if self._generator is not None and self._options == options:
            known = self._generator.get_sequence(0).tolist()
            limit = min(len(known), len(prompt)) - 1
            while common < limit and known[common] == prompt[common]:
                common += 1
            self._generator.rewind_to(common)
        else:
            self._generator = None  # frees the other cache first
            parameters = self._package.GeneratorParams(self._model)
            parameters.set_search_options(**options)
            self._generator, self._options = self._package.Generator(self._model, parameters), options
        self._generator.append_tokens(prompt[common:])
        return self._generator
