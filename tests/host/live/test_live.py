"""The live view of a real emulated run: lines and JSON; and a port that disappears."""

from __future__ import annotations

import json
import os
import pty
import threading
from pathlib import Path

import numpy as np
import pytest

from arenite.host.app.generate import generate_app
from arenite.host.cli.main import main
from arenite.host.link.frames import encode_frame
from arenite.host.live.connection import Connected, Disconnected, port_messages
from arenite.host.live.live_view import LiveView
from arenite.host.live.messages import (
    ClassName,
    EventMessage,
    Health,
    Hello,
    Samples,
    Sensor,
    Text,
    Type,
    WindowScores,
)
from arenite.host.live.terminal_view import render
from arenite.host.report.console import stdout
from arenite.profiles.boards import load_board
from tests.host.app.sound_models import RATE, sound_model, sounds
from tests.host.live.recorded_data import write_wav

BOARD = "qemu_mps2_an386"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an application and a recording."""
    folder = tmp_path_factory.mktemp("live")
    generate_app(sound_model(folder / "ear.tflite"), load_board(BOARD), folder / "app")
    write_wav(folder / "street.wav", sounds(4), RATE)
    return folder


def _view() -> LiveView:
    view = LiveView("board")
    view.take(Connected("board", False))
    view.take(Hello(Sensor.SOUND, 1, 2, 16000, 2000, 1000, 1_000_000, 50_000))
    view.take(ClassName(0, "yes"))
    tone = (8000 * np.sin(np.arange(16000) * 2 * np.pi * 1062.5 / 16000)).astype(np.int16)
    view.take(Samples(0, tone[:, None]))
    view.take(WindowScores(1999, 12_500, (93, 7)))
    view.take(EventMessage(1999, 0, True, 93, 100))
    view.take(Health(16000, 100_000, 25_000, 8, 0, 3, 0, 0, 5, 0, 6))
    return view


def test_the_view_has_columns_scores_events_and_headroom() -> None:
    snapshot = _view().snapshot()
    assert len(snapshot["columns"]) == 50
    last = snapshot["columns"][-1]
    assert last["high"][0] > 7900 and last["low"][0] < -7900
    assert int(np.argmax(last["bands"])) == 1062.5 // 125
    assert snapshot["latency_ms"] == 12.5 and snapshot["period_ms"] == 50.0
    assert snapshot["headroom_percent"] == 50.0
    assert snapshot["events"][0]["class"] == "yes"
    assert snapshot["health"]["lost"] == 3 and snapshot["health"]["gated"] == 6
    assert len(_view().snapshot(after=48)["columns"]) == 2


def test_the_terminal_shows_bars_and_events() -> None:
    with stdout.capture() as capture:
        stdout.print(render(_view().snapshot(), 60))
    text = capture.get()
    assert "yes      93% ███" in text and "headroom 50.0%" in text and "█" * 40 in text


def test_an_unplugged_port_is_told_and_opened_again(tmp_path: Path) -> None:
    """The port is a link to a pseudo-terminal, as a udev rule makes it; the device comes back as another one."""
    port = tmp_path / "device"
    messages: list[object] = []
    terminals: list[int] = []
    is_done = threading.Event()

    def plug() -> int:
        device, terminal = pty.openpty()
        port.unlink(missing_ok=True)
        port.symlink_to(os.ttyname(terminal))
        terminals.append(terminal)  # reads of the device fail while nobody has opened its terminal
        return device

    def collect() -> None:
        for message in port_messages(str(port), 115200, "binary", is_done.is_set):
            if isinstance(message, Connected | Disconnected | Text):
                messages.append(message)

    def wait(count: int) -> None:
        assert any(len(messages) >= count or is_done.wait(0.05) for _ in range(1200)), messages

    def answer(device: int, line: bytes) -> None:
        received = b""
        while b"binary\n" not in received:
            received += os.read(device, 100)
        os.write(device, encode_frame(bytes([Type.TEXT, 0, 0, 0]) + line))

    device = plug()
    thread = threading.Thread(target=collect)
    thread.start()
    try:
        answer(device, b"first")
        wait(2)
        port.unlink()
        os.close(device)
        wait(3)
        device = plug()
        answer(device, b"second")
        wait(5)
    finally:
        is_done.set()
        thread.join(60)
        for descriptor in (device, *terminals):
            os.close(descriptor)
    assert [type(message) for message in messages] == [Connected, Text, Disconnected, Connected, Text]
    assert messages[3] == Connected(str(port), True)


@pytest.mark.slow
@pytest.mark.qemu
def test_json_has_the_events_of_the_application(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["live", str(folder / "app"), "--board", BOARD, "--play", str(folder / "street.wav")]
    assert main([*arguments, "--json"]) == 0
    entries = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    kinds = {entry["kind"] for entry in entries}
    assert {"Connected", "Hello", "ClassName", "WindowScores", "EventMessage", "Health", "Ended"} <= kinds
    assert not kinds & {"Lost", "MissingFrames", "Samples"}
    assert main(arguments) == 0
    lines = capfd.readouterr().out.splitlines()
    starts = [entry["at"] for entry in entries if entry["kind"] == "EventMessage" and entry["is_start"]]
    assert [line for line in lines if line.endswith(f"% (sample {starts[0]})")]
