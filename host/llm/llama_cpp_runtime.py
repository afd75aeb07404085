"""Run GGUF files with llama.cpp, through the package xllamacpp."""

from __future__ import annotations

import contextlib
import importlib
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from arenite.errors import ToolError, UsageError
from arenite.host.llm.cache_types import DEFAULT_CACHE_TYPE
from arenite.host.llm.kv_cache import BATCH
from arenite.host.llm.runtime import ContextFullError, Message, reason_of

#: The verbosity of llama.cpp's log: nothing, and everything that tells sizes and threads.
_SILENT, _DETAILED = 0, 4


@dataclass(frozen=True)
class LlamaCppOptions:
    """How llama.cpp runs a model. ``context``: tokens that each of the ``slots`` remembers. ``threads``: None for
    llama.cpp's choice. ``prompt_cache_mib``: memory for the caches of earlier prompts. ``has_log``: write llama.cpp's
    log to standard error."""

    path: Path
    context: int
    cache_type: str = DEFAULT_CACHE_TYPE
    threads: int | None = None
    slots: int = 1
    prompt_cache_mib: int = 0
    has_log: bool = False


class LlamaCppRuntime:
    """A model in llama.cpp's server, whose handlers are called in this process.

    Raises:
        UsageError: The package xllamacpp is not installed.
        ToolError: llama.cpp cannot load the file.
    """

    def __init__(self, options: LlamaCppOptions) -> None:
        try:
            package: Any = importlib.import_module("xllamacpp")
        except ImportError as error:
            raise UsageError(
                "Running a language model needs the package xllamacpp, which is not installed.",
                "Install it: pip install 'arenite[llm]'.",
            ) from error
        # llama.cpp's port on 127.0.0.1, which the package always opens, takes requests with this key only.
        self.key = secrets.token_urlsafe(32)
        self._has_answered = False
        try:
            self._server: Any = package.Server(_parameters(package, options, self.key))
        except RuntimeError as error:
            raise ToolError(
                f"llama.cpp cannot load {options.path.name}.",
                "Update xllamacpp, give a smaller --context, or try another file.",
            ) from error

    @property
    def port(self) -> int:
        """The port of llama.cpp's own server on 127.0.0.1."""
        return int(self._server.listening_address.rpartition(":")[2])

    @property
    def threads(self) -> int | None:
        """None: the log tells them."""
        return None

    def cache_bytes(self) -> int | None:
        """Return None: the log tells them."""
        return None

    def reply(self, conversation: Sequence[Message], max_tokens: int) -> Iterator[str]:
        messages = [message.to_json() for message in conversation]
        # Temperature 0 takes the likeliest token, so the same conversation has the same answer again.
        request = {"messages": messages, "max_tokens": max_tokens, "temperature": 0.0}
        for piece in self._stream(self._server.handle_chat_completions, request):
            for choice in piece.get("choices", ()):
                if text := choice["delta"].get("content"):
                    yield text

    def decode(self, prompt: Sequence[int], tokens: int) -> Iterator[int]:
        """Decode ``tokens`` tokens after the tokens ``prompt``, and yield their number so far whenever llama.cpp tells
        it: after each token, except within characters of several tokens. The end of a text does not stop it. The part
        of a prompt that the last one had too is not computed again.

        Raises ``ContextFullError`` if the prompt leaves no room.
        """
        request = {"prompt": list(prompt), "n_predict": tokens, "temperature": 0.0, "ignore_eos": True}
        request["timings_per_token"] = True
        for piece in self._stream(self._server.handle_completions, request):
            if "prompt_progress" not in piece and piece["choices"][0]["finish_reason"] is None:
                yield piece["timings"]["predicted_n"]

    def close(self) -> None:
        """Free the memory of the model. The object cannot be used afterwards."""
        if not self._has_answered:
            # The end of a server whose loop has not begun yet is lost, and its destructor waits forever. An answer
            # shows that the loop runs.
            with contextlib.suppress(ToolError, ContextFullError):
                for _ in self.decode((0,), 1):
                    pass
        self._server = None

    def _stream(
        self, handle: Callable[[Any, Callable[[Any], bool]], None], request: dict[str, Any]
    ) -> Iterator[dict[str, Any]]:
        """Yield the parts of the response, which a thread receives. If the caller stops reading, llama.cpp stops."""
        # With the progress of the prompt, llama.cpp calls after each batch of it, so it can be stopped there too.
        request = {**request, "stream": True, "return_progress": True}
        parts: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        stopped = threading.Event()

        def receive(part: dict[str, Any]) -> bool:
            parts.put(part)
            return stopped.is_set()

        def work() -> None:
            try:
                handle(request, receive)
            except RuntimeError as error:  # such as a text that is not valid Unicode
                parts.put({"error": {"message": reason_of(error).rstrip(".")}})
            finally:
                parts.put(None)

        thread = threading.Thread(target=work, name="llama.cpp", daemon=True)
        thread.start()
        try:
            while (part := parts.get()) is not None:
                self._has_answered = True
                if error := part.get("error"):
                    if error.get("type") == "exceed_context_size_error":
                        raise ContextFullError
                    raise ToolError(
                        f"llama.cpp refuses the request: {error.get('message', error)}.", "Update xllamacpp."
                    )
                yield part
        finally:
            stopped.set()
            thread.join()


def _parameters(package: Any, options: LlamaCppOptions, key: str) -> Any:
    """Return the parameters of llama.cpp's server."""
    parameters = package.CommonParams()
    parameters.model.path = str(options.path)
    parameters.n_ctx = options.context * options.slots  # llama.cpp divides it
    parameters.n_parallel = options.slots
    parameters.n_batch = parameters.n_ubatch = BATCH
    cache_type = getattr(package.ggml_type, f"GGML_TYPE_{options.cache_type.upper()}")
    parameters.cache_type_k = parameters.cache_type_v = cache_type
    # llama.cpp quantizes the values of the cache only with flash attention.
    parameters.flash_attn_type = package.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    if options.threads is not None:
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = options.threads
    parameters.swa_full = False
    parameters.fit_params = False  # which would shrink the context instead of failing
    parameters.cache_ram_mib = options.prompt_cache_mib
    parameters.n_ctx_checkpoints = 0
    parameters.verbosity = _DETAILED if options.has_log else _SILENT
    parameters.api_keys = [key]
    parameters.model_alias = {options.path.stem}
    # Besides the answers that are written, short requests such as the list of models need a thread.
    parameters.n_threads_http = options.slots + 2
    parameters.cors_origins = "http://127.0.0.1"
    parameters.endpoint_slots = parameters.ui = False
    return parameters
