"""Run LiteRT-LM bundles (.litertlm) through the package litert-lm-api."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from arenite.errors import ToolError, UsageError
from arenite.files import cache_directory
from arenite.host.llm.runtime import ContextFullError, Message, reason_of

#: The template of a measured prompt: its text alone.
_PLAIN = "{% for message in messages %}{% for part in message['content'] %}{{ part['text'] }}{% endfor %}{% endfor %}"
#: What LiteRT-LM says of a prompt that is longer than the context, or than what is left of it.
_TOO_LONG = ("Exceeding the maximum number of tokens", "exceeds available state entries")
#: The texts of which a measured prompt consists. In most tokenizers, each of the first is one token.
_WORDS = (" a", "a", "1")


class LiteRtLmRuntime:
    """The model in the bundle ``path`` with a context of ``context`` tokens. ``threads``: None for one per processor.

    Raises:
        UsageError: The package litert-lm-api is not installed.
        ToolError: The package cannot load the bundle.
    """

    def __init__(self, path: Path, context: int, threads: int | None = None, has_log: bool = False) -> None:
        try:
            package: Any = importlib.import_module("litert_lm")
        except ImportError as error:
            raise UsageError(
                "Running a .litertlm file needs the package litert-lm-api, which is not installed.",
                "Install it: pip install 'arenite[llm-litert]'.",
            ) from error
        self._package, self._path, self._context = package, path, context
        self.threads = threads or os.cpu_count() or 1
        severity = package.LogSeverity
        package.set_min_log_severity(severity.WARNING if has_log else severity.SILENT)
        # LiteRT-LM keeps rearranged weights in this folder, which is that of the model by default.
        cache = cache_directory() / "language-models" / "litert-lm"
        try:
            cache.mkdir(parents=True, exist_ok=True)
            self._engine: Any = package.Engine(
                str(path),
                backend=package.Backend.CPU(thread_count=self.threads),
                max_num_tokens=context,
                cache_dir=str(cache),
            )
        except (RuntimeError, OSError) as error:
            raise ToolError(
                f"LiteRT-LM cannot load {path.name}.",
                f"Update litert-lm-api, download the bundle again, or check that {cache} can be written.",
            ) from error
        self._conversation: Any = None
        self._known: list[Message] = []

    def reply(self, conversation: Sequence[Message], max_tokens: int) -> Iterator[str]:
        if self._conversation is None or self._known != list(conversation[:-1]):
            self._open(messages=[message.to_json() for message in conversation[:-1]])
        pieces = list[str]()
        for piece in self._send(conversation[-1].to_json(), max_output_tokens=max_tokens):
            pieces.append(piece)
            yield piece
        self._known = [*conversation, Message("assistant", "".join(pieces))]

    def decode(self, prompt: Sequence[int], tokens: int) -> Iterator[int]:
        """Decode ``tokens`` tokens after as many tokens as ``prompt`` has, and yield their number so far after each.

        LiteRT-LM takes texts, not tokens, so the prompt is a text of that many tokens. Its end tokens are suppressed.
        Raises ``ContextFullError`` if the prompt leaves no room.
        """
        self._open(chat_template=_PLAIN)
        ends = sorted({ids[0] for ids in self._engine.eos_token_ids if len(ids) == 1})
        suppressed = self._package.SuppressTokensConfig(ends)
        message = {"role": "user", "content": self._text(len(prompt))}
        pieces = self._send(message, max_output_tokens=tokens, suppress_tokens_config=suppressed)
        for number, _ in enumerate(pieces, 1):
            yield number

    def cache_bytes(self) -> int | None:
        """Return None: LiteRT-LM does not tell it."""
        return None

    def close(self) -> None:
        """Free the memory of the model. The object cannot be used afterwards."""
        self._drop()
        self._engine.close()

    def _text(self, length: int) -> str:
        """Return a text of ``length`` tokens, or almost, one of which may be the token that begins every prompt."""
        wanted = max(length - (self._engine.bos_token_id is not None), 1)
        found: dict[int, str] = {}
        for word in _WORDS:
            words = wanted
            for _ in range(4):
                count = len(self._engine.tokenize(word * words))
                found.setdefault(abs(count - wanted), word * words)
                if count == wanted:
                    return word * words
                words = max(round(words * wanted / count), 1)
        return found[min(found)]

    def _open(self, **options: Any) -> None:
        self._drop()
        greedy = self._package.SamplerConfig(top_k=1, temperature=0.0)
        self._conversation = self._engine.create_conversation(sampler_config=greedy, **options)

    def _drop(self) -> None:
        if self._conversation is not None:
            self._conversation.close()
        self._conversation, self._known = None, []

    def _send(self, message: dict[str, str], **options: Any) -> Iterator[str]:
        """Yield the pieces of the answer. If the caller stops reading, LiteRT-LM stops, and the conversation ends."""
        conversation, has_ended = self._conversation, False
        stream = conversation.send_message_async(message, **options)
        try:
            for part in stream:
                yield str(part)
            has_ended = True
        except RuntimeError as error:
            if any(text in str(error) for text in _TOO_LONG):
                raise ContextFullError from error
            raise ToolError(
                f"LiteRT-LM cannot answer with {self._path.name}: {reason_of(error)}",
                "Its chat template may not suit texts. Try another bundle, or update litert-lm-api.",
            ) from error
        finally:
            if not has_ended:
                conversation.cancel_process()
                for _ in stream:
                    pass
                self._drop()
