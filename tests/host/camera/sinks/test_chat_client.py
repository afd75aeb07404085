"""The client of chat requests: what it sends, and each way in which a server can fail."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from arenite.errors import ToolError, UsageError
from arenite.host.camera.sinks.chat_client import ChatClient
from tests.free_port import free_port
from tests.host.camera.sinks.chat_server import chat_server, completion


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
def test_a_request_has_the_instruction_and_the_answer_is_one_line(ending: str) -> None:
    requests: list[dict[str, Any]] = []

    def respond(body: dict[str, Any]) -> tuple[int, bytes]:
        requests.append(body)
        return completion(" A face,\n in the  centre. ")

    with chat_server(respond) as address:
        assert ChatClient(address + ending).ask("Be short.", "What?", 7) == "A face, in the centre."
    (request,) = requests
    assert [(m["role"], m["content"]) for m in request["messages"]] == [
        ("system", "Be short."),
        ("user", "What?"),
    ]
    assert (request["max_tokens"], request["temperature"], request["stream"]) == (7, 0, False)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ((429, b'{"error": {"message": "All slots\\n are busy."}}'), "status 429: All slots are busy."),
        ((500, b"no JSON"), r"status 500\."),
        ((200, b"no JSON"), "answers without a text"),
        ((200, b'{"choices": []}'), "answers without a text"),
        ((200, b'[{"choices": 1}]'), "answers without a text"),
        (completion("  "), "answers without a text"),
        (completion(None), "answers without a text"),
    ],
)
def test_answers_that_are_no_text_are_errors(answer: tuple[int, bytes], text: str) -> None:
    with chat_server(lambda body: answer) as address, pytest.raises(ToolError, match=text):
        ChatClient(address).ask("", "", 1)


def test_a_server_that_is_away_or_silent_is_an_error() -> None:
    with pytest.raises(ToolError, match=r"cannot be reached: .*refused") as error:
        ChatClient(f"http://127.0.0.1:{free_port()}").ask("", "", 1)
    assert "arenite serve" in error.value.hint
    end = threading.Event()

    def respond(body: dict[str, Any]) -> tuple[int, bytes]:
        end.wait()
        return completion("late")

    with chat_server(respond) as address, pytest.raises(ToolError, match=r"did not answer within 0\.2 s"):
        try:
            ChatClient(address, timeout_s=0.2).ask("", "", 1)
        finally:
            end.set()


@pytest.mark.parametrize(
    "address",
    ["model.gguf", "smollm2_135m", "127.0.0.1:8080", "ftp://host", "http://", "http://host:port",
     "http://name:word@host", "http://[::1", "http://host/?a=b"],
)  # fmt: skip
def test_other_texts_are_no_addresses(address: str) -> None:
    with pytest.raises(UsageError, match="is not the address") as error:
        ChatClient(address)
    assert "arenite serve" in error.value.hint
