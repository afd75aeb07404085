"""``--describe`` in a camera session, with a small server and with a real language model."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.session import CameraSession
from arenite.host.cli.main import main
from arenite.host.report.camera_tables import show_summary
from tests.docs.schemas import problems
from tests.free_port import free_port
from tests.host.camera.sinks.chat_server import chat_server, completion
from tests.host.cli.language_model.model_server import served
from tests.host.llm.smollm2 import smollm2


def described(address: str, output: Path, every_s: float = 5.0) -> tuple[CameraSession, list[str]]:
    """Serve frames until one has a description. Return the session, and what it reported."""
    reported: list[str] = []
    options = CameraOptions.of(
        sources=("synthetic",), describe=address, describe_every_s=every_s, output=str(output)
    )
    with CameraSession(options, reported.append) as session:
        for frame in session.stream():
            if "description" in frame.extra:
                break
    return session, reported


def test_a_description_is_in_lines_record_and_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    questions: list[str] = []

    def respond(body: dict[str, list[dict[str, str]]]) -> tuple[int, bytes]:
        questions.append(body["messages"][1]["content"])
        return completion("Nobody is here.")

    with chat_server(respond) as address:
        session, reported = described(address, tmp_path / "lines.jsonl")
    assert session.result is not None and questions == ["The camera found: nothing was found"]
    record = json.loads(json.dumps(session.result.to_json()))
    assert problems(record) == []
    descriptions, answered = record["descriptions"], record["frames"]["served"]
    assert descriptions["described"] + descriptions["skipped"] + descriptions["unchanged"] == answered
    assert (descriptions["failed"], descriptions["error"]) == (0, None)
    assert "Description of answer 0: Nobody is here." in reported
    lines = [json.loads(line) for line in (tmp_path / "lines.jsonl").read_text().splitlines()]
    (with_text,) = (line for line in lines if "description" in line)
    assert with_text["description"]["text"] == "Nobody is here." and with_text["description"]["number"] == 0
    show_summary(record)
    out = capsys.readouterr().out
    assert "Last description, of answer 0: Nobody is here." in out and "1 (measured: median" in out
    assert session.supervisor.state()["description"]["text"] == "Nobody is here."


def test_without_a_server_the_loop_serves_all_frames(capsys: pytest.CaptureFixture[str]) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    assert main(["camera", "--source", "synthetic", "--frames", "5", "--describe", address, "--json"]) == 0
    out, err = capsys.readouterr()
    record = json.loads(out)
    assert record["frames"]["served"] == 5 and record["descriptions"]["failed"] >= 1
    assert "cannot be reached" in record["descriptions"]["error"] and "arenite serve" in err


def test_other_values_are_refused() -> None:
    for options, text in (
        ({"describe": "model.gguf"}, "is not the address"),
        ({"describe_instruction": "Be short."}, "--describe-instruction is an option of --describe"),
        ({"describe_every_s": 1.0}, "--describe-every is an option of --describe"),
    ):
        with (
            pytest.raises(UsageError, match=text),
            CameraSession(CameraOptions.of(sources=("synthetic",), **options)),
        ):
            pass


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed")
def test_a_real_language_model_describes_answers(tmp_path: Path) -> None:
    with served(smollm2()) as (_, port):
        session, reported = described(f"http://127.0.0.1:{port}/v1", tmp_path / "lines.jsonl")
    assert session.result is not None
    descriptions = session.result.to_json()["descriptions"]
    assert descriptions["described"] >= 1 and descriptions["failed"] == 0 and descriptions["last"]["text"]
    assert any("Description of answer 0: " in line for line in reported)
    assert '"description":{"text":"' in (tmp_path / "lines.jsonl").read_text()
