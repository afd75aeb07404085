"""Read prompts and decode tokens with llama.cpp in short requests, so that it rests between them.

llama.cpp decodes in its own thread and does not wait until somebody takes the tokens. It only stops at the end of a
request, so work that must pause is divided into requests. Each begins with the tokens so far, which llama.cpp still has
in its cache: it computes only the last one of them, which no request has computed before.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException
from typing import Any

from arenite.errors import ToolError
from arenite.host.llm.budget.pieces import NextTokens
from arenite.host.llm.runtime import ContextFullError, Message

_HOST = "127.0.0.1"


class LlamaCppTokens:
    """Requests to llama.cpp's own server at ``port`` on 127.0.0.1, which takes requests with ``key``. It has one slot.
    All methods raise ``ToolError`` if llama.cpp refuses."""

    def __init__(self, port: int, key: str) -> None:
        self._port, self._key = port, key

    def prompt_of(self, conversation: Sequence[Message]) -> list[int]:
        """Return the tokens of ``conversation`` in the form that the model was trained with."""
        messages = [message.to_json() for message in conversation]
        text = self._post("/apply-template", {"messages": messages})["prompt"]
        request = {"content": text, "add_special": True, "parse_special": True}
        return list(self._post("/tokenize", request)["tokens"])

    def text_of(self, tokens: Sequence[int]) -> str:
        """Return the text of ``tokens``. A character of which a part is missing is U+FFFD."""
        return str(self._post("/detokenize", {"tokens": list(tokens)})["content"])

    def next_tokens(self, context: Sequence[int], count: int, *, ignores_end: bool) -> NextTokens:
        """Return the likeliest next tokens after ``context``, at most ``count``, fewer at the end of the text or of the
        cache. With ``ignores_end`` the end of the text does not stop it. Raises ``ContextFullError`` if the cache has
        no room for one."""
        request = {"prompt": list(context), "n_predict": count, "ignore_eos": ignores_end}
        answer = self._post("/completion", {**request, "temperature": 0.0, "return_tokens": True})
        tokens = tuple(answer["tokens"])
        # The token that ends a text is the last one, and has no text.
        is_end = answer["stop_type"] == "eos"
        return NextTokens(tokens[:-1] if is_end else tokens, is_end or len(tokens) < count)

    def _post(self, path: str, request: dict[str, Any]) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        try:
            with contextlib.closing(HTTPConnection(_HOST, self._port)) as connection:
                connection.request("POST", path, json.dumps(request), headers)
                answer: dict[str, Any] = json.loads(connection.getresponse().read())
        except (OSError, HTTPException, ValueError) as error:
            raise ToolError("llama.cpp does not answer.", "Try again.") from error
        if failure := answer.get("error"):
            if failure.get("type") == "exceed_context_size_error":
                raise ContextFullError
            raise ToolError(
                f"llama.cpp refuses the request: {failure.get('message', failure)}.", "Update xllamacpp."
            )
        return answer
