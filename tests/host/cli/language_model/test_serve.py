"""``arenite serve``: refusals, and 200 requests to a real model: clients that leave, long prompts and a full queue."""

from __future__ import annotations

import importlib.util
import json
import random
import re
import socket
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.host.cli.conftest import Arenite
from tests.host.cli.language_model.model_server import LIMIT_S, served
from tests.host.llm.genai_folders import small_folder
from tests.host.llm.gguf_files import small_llama
from tests.host.llm.smollm2 import smollm2

HAS_RUNTIME = importlib.util.find_spec("xllamacpp") is not None
SLOTS, QUEUE = 2, 3


def test_contexts_that_do_not_fit_are_refused(arenite: Arenite, tmp_path: Path) -> None:
    path = small_llama().write(tmp_path / "model.gguf")
    arenite("serve", path, "--context", 4096).refused(2, "context of 2,048 tokens")
    arenite("serve", path, "--prompt-cache", 1 << 20).refused(1, "model.gguf needs about", "are free")


def test_a_port_that_is_taken_is_told_before_the_model_is_loaded(arenite: Arenite, tmp_path: Path) -> None:
    pytest.importorskip("h11", reason="h11 is not installed")
    path = small_llama().write(tmp_path / "model.gguf")  # llama.cpp refuses it with another error
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        arenite("serve", path, "--port", port).refused(2, f"cannot listen on 127.0.0.1, port {port}")


def test_models_for_other_runtimes_are_refused(arenite: Arenite, tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "m")
    arenite("serve", folder, "--context", 100).refused(2, "m is a model for ONNX Runtime GenAI", ".gguf")


@pytest.mark.skipif(HAS_RUNTIME, reason="xllamacpp is installed")
def test_a_missing_runtime_is_named(arenite: Arenite, tmp_path: Path) -> None:
    arenite("serve", small_llama().write(tmp_path / "model.gguf")).refused(2, "xllamacpp", "arenite[llm]")


def ask(port: int, words: int = 3, tokens: int = 2, *, stream: bool = False) -> HTTPConnection:
    client = HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
    message = {"role": "user", "content": "word " * words}
    body = {"messages": [message], "max_tokens": tokens, "temperature": 0, "stream": stream}
    client.request("POST", "/v1/chat/completions", json.dumps(body))
    return client


def answered(port: int) -> str:
    response = ask(port).getresponse()
    content = json.loads(response.read())
    if response.status == 200:
        assert content["usage"]["completion_tokens"] <= 2
        return "answered"
    assert response.status == 429 and "Try again later" in content["error"]["message"]
    return "refused"


def oversize(port: int) -> str:
    response = ask(port, words=400).getresponse()
    message = json.loads(response.read())["error"]["message"]
    if response.status == 429:
        return "refused"
    assert response.status == 400 and "exceeds the available context size (256 tokens)" in message
    return "oversize"


def leaves(port: int) -> str:
    """Leave after the first bytes of an answer that would be long."""
    client = ask(port, tokens=200, stream=True)
    response = client.getresponse()
    response.read(1)
    response.close()
    client.close()
    return "left" if response.status == 200 else "refused"


def breaks(port: int) -> str:
    """Reset the connection without a word, as the kernel does for a process that is killed."""
    client = ask(port, tokens=200)
    assert client.sock is not None
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.sock.close()
    return "broken"


def until_served(request: Callable[[int], str], port: int) -> list[str]:
    """Make ``request`` again while it is refused, as the header Retry-After suggests. Return all outcomes."""
    outcomes = [request(port)]
    while outcomes[-1] == "refused":
        time.sleep(0.2)
        outcomes.append(request(port))
    return outcomes


def resident_bytes(process: subprocess.Popen[str]) -> int:
    status = Path(f"/proc/{process.pid}/status").read_text()
    found = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
    assert found
    return int(found[1]) * 1024


def killed(port: int) -> None:
    """Kill a client process with SIGKILL while it waits for a long answer."""
    program = (
        "import sys; from tests.host.cli.language_model.test_serve import ask; "
        "r = ask(int(sys.argv[1]), tokens=200, stream=True).getresponse(); r.read(1); print(1, flush=True); r.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(port)], stdout=subprocess.PIPE, text=True
    ) as client:
        assert client.stdout is not None
        client.stdout.readline()
        client.kill()


@pytest.mark.slow
@pytest.mark.skipif(not HAS_RUNTIME, reason="xllamacpp is not installed")
@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process as Linux tells it")
def test_no_slot_is_lost_and_the_memory_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    path = smollm2()
    choices = random.Random(0).choices((answered, oversize, leaves, breaks), (3, 2, 2, 2), k=200)
    options = ("--slots", str(SLOTS), "--queue", str(QUEUE))
    with served(path, *options) as (process, port), ThreadPoolExecutor(2 * (SLOTS + QUEUE)) as clients:
        outcomes, after = list[str](), list[int]()
        for start in range(0, 200, 50):
            for done in clients.map(lambda request: until_served(request, port), choices[start : start + 50]):
                outcomes += done
            after.append(resident_bytes(process))
        counts = Counter(outcomes)
        expected = {"answered": answered, "oversize": oversize, "left": leaves, "broken": breaks}
        assert {name: counts[name] for name in expected} == {
            name: choices.count(request) for name, request in expected.items()
        }
        assert counts["refused"] > 0
        # The first 50 requests fill the buffers. A cache of one slot has 5.6 MiB.
        assert after[-1] - after[0] < 5 << 20, after
        killed(port)
        # Every slot and every place in the queue can be used again. llama.cpp notices within a second that a client has
        # left, so a first attempt may be too early; a lost slot or place would never come back.
        for _ in range(100):
            last = list(clients.map(lambda _: answered(port), range(SLOTS + QUEUE)))
            if "refused" not in last:
                break
        assert last == ["answered"] * (SLOTS + QUEUE)
