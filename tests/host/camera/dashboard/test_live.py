"""Tests of ``arenite camera`` with its dashboard in a real browser, on real frames and a real model. The numbers of
served frames in the output, the metrics and the timeline agree."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.browser import Browser
from tests.host.camera.observe.trace_events import read

pytestmark = [pytest.mark.slow, pytest.mark.browser]

TOKEN = "sand-and-pressure"


def test_the_page_shows_faces_and_the_numbers_of_frames_agree(tmp_path: Path) -> None:
    lines, trace = tmp_path / "answers.jsonl", tmp_path / "trace.json"
    command = [sys.executable, "-m", "arenite.host.cli.main", "camera", "--source", "photos", "--json"]
    command += ["--output", str(lines), "--timeline", str(trace), "--budget", "latency=500ms"]
    command += ["--dashboard", "0.0.0.0:0"]
    environment = os.environ | {"ARENITE_TOKEN": TOKEN}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as child:
        try:
            assert child.stderr is not None
            messages: list[str] = []
            while (url_match := re.search(r"http://\S+:(\d+)/", messages[-1] if messages else "")) is None:
                messages.append(child.stderr.readline())
                assert messages[-1], messages
            base = f"http://127.0.0.1:{url_match[1]}/"
            with Browser(tmp_path / "profile") as page:
                page.size(1400, 900)
                page.open(f"{base}?token={TOKEN}")
                page.until("document.getElementById('answers').innerText.includes('face')")
                page.until("document.getElementById('status-text').innerText === 'Live'")
                page.until("document.querySelector('#stage-rows tr.invoke td').innerText !== '–'")
                about = page.value("document.getElementById('about').innerText")
                assert "litert" in about and "photos" in about
                assert page.errors == []
            request = urllib.request.Request(f"{base}metrics", headers={"Authorization": f"Bearer {TOKEN}"})
            with urllib.request.urlopen(request, timeout=30) as answer:
                metrics = answer.read().decode()
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=60)
        finally:
            child.kill()
    assert child.returncode == 0, err
    assert TOKEN not in "".join([*messages, out, err]) + lines.read_text() + trace.read_text()
    served = json.loads(out)["frames"]["served"]
    numbers = [json.loads(line)["number"] for line in lines.read_text().splitlines()]
    assert numbers == list(range(served))
    counted = re.search(r'^arenite_camera_frames_served_total\{by="model"\} (\d+)$', metrics, re.M)
    assert counted is not None and 0 < int(counted[1]) <= served
    frames_in_trace = {e["args"]["frame"] for e in read(trace.read_text()) if e["ph"] == "X"}
    assert frames_in_trace == set(numbers)
