"""A server of chat requests for tests, whose answers the test decides one by one."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: Returns the status and the body of the answer to a request.
Respond = Callable[[dict[str, Any]], tuple[int, bytes]]


def completion(text: object) -> tuple[int, bytes]:
    """Return a complete answer with ``text`` in the form of OpenAI's API."""
    return 200, json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()


@contextmanager
def chat_server(respond: Respond, port: int = 0) -> Iterator[str]:
    """Serve on a port of loopback in threads, and yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, data = respond(body) if self.path == "/v1/chat/completions" else (404, b"{}")
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            with contextlib.suppress(OSError):  # the client has left
                self.wfile.write(data)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
