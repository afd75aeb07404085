"""A motion sensor of an emulated board: its traces are shown, and its clips are the windows of events."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from arenite.host.app.generate import generate_app
from arenite.host.cli.main import main
from arenite.host.live.emulated import emulated_app, emulated_messages
from arenite.host.live.live_view import LiveView
from arenite.host.live.messages import EventMessage, Health, Samples
from arenite.host.live.terminal_view import render
from arenite.host.report.console import stdout
from arenite.profiles.boards import load_board
from tests.host.app.motion_models import (
    EDGES,
    GATE,
    LABELS,
    RATE,
    STATISTICS,
    WINDOW,
    motion_model,
    motion_record,
    motions,
)
from tests.host.live.recorded_data import write_float_model

pytestmark = [pytest.mark.slow, pytest.mark.qemu]
BOARD = "qemu_mps2_an386"
SECONDS = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an application that has a gate, and recordings of its sensor."""
    folder = tmp_path_factory.mktemp("motion")
    prepared = motion_model(folder / "gesture.tflite", gate=GATE)
    generate_app(prepared, load_board(BOARD), folder / "app", sensor="imu")
    day = motions(SECONDS)
    np.save(folder / "day.npy", day)
    np.savetxt(folder / "day.csv", day[: 5 * RATE], "%d", ",")
    return folder


def test_traces_events_and_the_windows_that_the_gate_skipped(folder: Path) -> None:
    view = LiveView(BOARD)
    messages = []
    app = emulated_app(folder / "app", BOARD)
    for message in emulated_messages(app, [folder / "day.npy"], lambda: False, is_real_time=False):
        view.take(message)
        messages.append(message)
    snapshot = view.snapshot()
    assert snapshot["sensor"] == "motion" and snapshot["channels"] == 3 and snapshot["column_ms"] == 20
    shown = np.array([[column["low"], column["high"]] for column in snapshot["columns"]])
    samples = [message for message in messages if isinstance(message, Samples)]
    played = motions(SECONDS)
    assert all((played[part.at :][: len(part.values)] == part.values).all() for part in samples)
    # A column has two samples, from the first one on that arrived.
    arrived = np.concatenate([part.values for part in samples])
    pairs = arrived[: len(arrived) // 2 * 2].reshape(-1, 2, 3)[-len(shown) :]
    assert (shown == np.stack([pairs.min(1), pairs.max(1)], 1)).all()
    health = [message for message in messages if isinstance(message, Health)][-1]
    assert health.gated is not None and 0 < health.gated < health.windows
    assert snapshot["health"]["gated"] == health.gated
    assert snapshot["headroom_percent"] > 50
    assert any(isinstance(message, EventMessage) for message in messages)
    with stdout.capture() as capture:
        stdout.print(render(snapshot, 100))
    assert f"{health.gated} gated" in capture.get()


def test_a_csv_file_is_played_and_others_are_refused(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["live", str(folder / "app"), "--board", BOARD, "--json", "--play"]
    assert main([*arguments, str(folder / "day.csv")]) == 0
    entries = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert entries[-1]["kind"] == "Ended" and any(entry["kind"] == "Hello" for entry in entries)
    assert main([*arguments, str(folder / "gesture.tflite")]) == 2
    assert "is not a recording for the sensor 'imu'" in capfd.readouterr().err
    assert main([*arguments, "day.csv", "--play", "day.npy"]) == 2
    assert "--play is given several times" in capfd.readouterr().err


def test_clips_are_the_windows_of_events_and_make_a_better_model(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [str(folder / "app"), "--board", BOARD, "--play", str(folder / "day.npy")]
    assert main(["record", *arguments, "-o", "field", "--per-event"]) == 0
    recorded = sorted(Path("field").rglob("*.npy"))
    assert len(recorded) > 5
    played = motions(SECONDS)
    for path in recorded:
        at = int(path.stem.split("-")[1])
        assert (np.load(path) == played[at : at + WINDOW]).all()
    size = 3 * (len(STATISTICS) + len(EDGES) - 1)
    write_float_model(tmp_path / "float.tflite", (1, size), len(LABELS))
    Path("steps.json").write_text(json.dumps(motion_record(3, False)))
    Path("labels.txt").write_text("\n".join(LABELS) + "\n")
    convert = ["convert", "float.tflite", "--calibration", "field", "--preprocessing", "steps.json"]
    assert main([*convert, "--labels", "labels.txt", "-o", "better.tflite"]) == 0
    capfd.readouterr()
    assert (
        main(["bench", "better.tflite", "--board", BOARD, "--data", "field", "--samples", "5", "--json"]) == 0
    )
    result = json.loads(capfd.readouterr().out)
    assert result["samples"]["bit_exact"] == result["samples"]["count"] == 5
    assert result["samples"]["accuracy"] is not None
