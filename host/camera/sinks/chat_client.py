"""Ask a language model over the chat requests of OpenAI's API, as ``arenite serve`` answers them."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from arenite.errors import ToolError, UsageError
from arenite.input_files import parse_json

#: The default path of the API, which the requests' names follow.
_API = "/v1"
_MAX_ANSWER_BYTES = 1 << 20
_MAX_REASON = 200
_START = "Start a server: arenite serve MODEL.gguf --port 8080."
_BUSY = "Ask it less often, or start it with more --slots."


class ChatClient:
    """Sends one request at a time to a server. Each has a connection of its own, so the server may be restarted."""

    def __init__(self, address: str, *, timeout_s: float = 60.0) -> None:
        """``address`` is ``http://HOST:PORT``, with or without ``/v1``; https is possible. A server that is silent for
        ``timeout_s`` seconds fails. Raises ``UsageError`` if it is another text."""
        example = "Give the address that `arenite serve MODEL.gguf` prints, such as http://127.0.0.1:8080/v1."
        try:
            parts = urlsplit(address)
            host, self._port = parts.hostname, parts.port
        except ValueError as error:
            raise UsageError(f"'{address}' is not the address of a server: {error}.", example) from error
        if parts.scheme not in ("http", "https") or not host or parts.username or parts.query:
            raise UsageError(f"'{address}' is not the address of a language model's server.", example)
        self._host, self._timeout_s = host, timeout_s
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._path = (parts.path.rstrip("/") or _API) + "/chat/completions"
        self.address = f"{parts.scheme}://{parts.netloc}"
        self._lock = threading.Lock()
        self._connection: HTTPConnection | None = None

    def ask(self, system: str, question: str, max_tokens: int) -> str:
        """Return the model's answer, without line breaks. Each token is the likeliest one.

        Raises ``ToolError`` if the server cannot be reached, is silent, refuses the request or answers without a text.
        """
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        body = json.dumps({"messages": messages, "max_tokens": max_tokens, "temperature": 0, "stream": False})
        connection = self._kind(self._host, self._port, timeout=self._timeout_s)
        with self._lock:
            self._connection = connection
        try:
            connection.request("POST", self._path, body.encode(), {"Content-Type": "application/json"})
            with connection.getresponse() as response:
                return self._text(response)
        except TimeoutError as error:
            raise ToolError(
                f"{self.address} did not answer within {self._timeout_s:g} s.",
                "Take a smaller language model, or start its server with fewer other programs.",
            ) from error
        except (OSError, HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise ToolError(f"{self.address} cannot be reached: {reason}.", _START) from error
        finally:
            with self._lock:
                self._connection = None
            connection.close()

    def abort(self) -> None:
        """Make a request that another thread waits for fail now."""
        with self._lock:
            if self._connection is not None and self._connection.sock is not None:
                with contextlib.suppress(OSError):
                    self._connection.sock.shutdown(socket.SHUT_RDWR)

    def _text(self, response: HTTPResponse) -> str:
        """Return the text of the answer. Raises ``ToolError``."""
        try:
            record: Any = parse_json(response.read(_MAX_ANSWER_BYTES))
        except ValueError:
            record = None
        if response.status != 200:
            error = record.get("error") if isinstance(record, dict) else None
            message = error.get("message") if isinstance(error, dict) else None
            reason = f": {_one_line(message)[:_MAX_REASON].rstrip('.')}" if isinstance(message, str) else ""
            hint = _BUSY if response.status == 429 else "Look at the messages of the server."
            raise ToolError(f"{self.address} answers with status {response.status}{reason}.", hint)
        try:
            text = record["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            text = None
        if not isinstance(text, str) or not text.strip():
            raise ToolError(f"{self.address} answers without a text.", _START)
        return _one_line(text)


def _one_line(text: str) -> str:
    return " ".join(text.split())
