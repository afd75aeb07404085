"""A camera application on an emulated board sends its pictures: they are shown, recorded, and make a better model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from arenite.converters.processing.specification.pixel_formats import unpack
from arenite.host.app.camera.frames import frame_of, read_frames
from arenite.host.app.camera.generate import CameraApp, generate_camera_app
from arenite.host.app.camera.play import play_frames
from arenite.host.app.sensor_file import LOST, Fault
from arenite.host.cli.main import main
from arenite.host.live.connection import Ended
from arenite.host.live.continuous_samples import SENSOR, Gap
from arenite.host.live.emulated import emulated_app, emulated_messages
from arenite.host.live.live_view import LiveView
from arenite.host.live.messages import EventMessage, Health, Lost, MissingFrames, Row
from arenite.host.live.recorder import Recorder
from arenite.profiles.boards import load_board
from tests.host.app.camera.camera_models import DECISION, SIZE, YUYV, picture_model, pictures
from tests.host.live.recorded_data import write_float_model, write_pictures

pytestmark = [pytest.mark.slow, pytest.mark.qemu]
BOARD = "qemu_mps2_an386"
COUNT = 40
PREPROCESSING = """
[source]
kind = "image"
format = "rgb"
[[steps]]
do = "normalise"
divide = 127.5
mean = 1.0
"""


@pytest.fixture(scope="module")
def watcher(tmp_path_factory: pytest.TempPathFactory) -> CameraApp:
    """An application in the folder ``app``, beside a folder ``pictures``."""
    folder = tmp_path_factory.mktemp("watcher")
    write_pictures(folder / "pictures", pictures(COUNT, SIZE))
    return generate_camera_app(picture_model(folder / "eye.tflite"), load_board(BOARD), folder / "app")


def _messages(app: Path, played: Path, *faults: Fault) -> list[object]:
    return list(
        emulated_messages(
            emulated_app(app, BOARD), [played], lambda: False, is_real_time=False, faults=faults
        )
    )


def test_every_row_arrives_and_the_events_are_those_of_text(watcher: CameraApp) -> None:
    folder = watcher.directory.parent
    messages = _messages(watcher.directory, folder / "pictures")
    frames = read_frames([folder / "pictures"], watcher.pictures.plan)
    sent = [b"" for _ in frames]
    for message in messages:
        if isinstance(message, Row):
            assert message.start == 0 and message.row * SIZE * 3 == len(sent[message.picture])
            sent[message.picture] += message.data
    assert sent == [frame.tobytes() for frame in frames]
    events = [(m.at, m.index, m.is_start, m.percent) for m in messages if isinstance(m, EventMessage)]
    names = list(watcher.scores.names)
    expected = play_frames(watcher, frames).expected
    assert len(expected) > 4
    assert [event[:3] for event in events] == [(e.frame, names.index(e.label), e.is_start) for e in expected]
    assert [e[3] for e in events if e[2]] == [e.percent for e in expected if e.is_start]
    health = [m for m in messages if isinstance(m, Health)][-1]
    assert health.windows >= COUNT - 10  # it is sent once per second, and there are ten frames per second
    assert health.late == health.lost == health.gated == health.silent == health.dropped_frames == 0
    period = 100_000 * 25  # ticks
    assert 0 < health.worst < period and health.busy < health.windows * period
    assert not [m for m in messages if isinstance(m, Lost | MissingFrames)]


def test_rows_of_several_messages_and_of_another_format(tmp_path: Path) -> None:
    """A row of 160 YUYV pixels has 320 bytes, of which a message takes 192. The model needs neither all rows nor every
    frame."""
    source = YUYV["source"] | {"width": 160}
    prepared = picture_model(tmp_path / "eye.tflite", replace(DECISION, hop=2), YUYV | {"source": source})
    application = generate_camera_app(prepared, load_board(BOARD), tmp_path / "app")
    write_pictures(tmp_path / "pictures", pictures(6, 160))
    recorder = Recorder(tmp_path / "field", "scene")
    view = LiveView(BOARD)
    messages = _messages(tmp_path / "app", tmp_path / "pictures")
    for message in messages:
        recorder.take(message)  # type: ignore[arg-type]
        view.take(message)  # type: ignore[arg-type]
    assert max(len(m.data) for m in messages if isinstance(m, Row)) == 192
    frames = [frame_of(picture, application.pictures.plan) for picture in pictures(6, 160)]
    stored = sorted((tmp_path / "field" / "scene").iterdir())
    assert [int(path.stem.split("-")[1]) for path in stored] == [0, 2, 4]
    for path, frame in zip(stored, frames[::2], strict=True):
        assert (np.asarray(Image.open(path)) == unpack(frame, "yuyv", 160, 30)).all()
    assert view.picture is not None and view.picture.number == 4
    assert recorder.seconds == pytest.approx(0.6) and not recorder.check().gaps


def test_pictures_that_the_camera_loses_are_told_and_recorded(watcher: CameraApp, tmp_path: Path) -> None:
    faults = (Fault(LOST, 5 * SIZE + 3, 1), Fault(LOST, 10 * SIZE, 2 * SIZE))
    recorder = Recorder(tmp_path / "field", "scene")
    messages: list[object] = _messages(watcher.directory, watcher.directory.parent / "pictures", *faults)
    for message in messages:
        recorder.take(message)  # type: ignore[arg-type]
    assert [m for m in messages if isinstance(m, Lost)] == [Lost(5, 1), Lost(10, 2)]
    assert recorder.check().gaps == [Gap(5, 1, SENSOR), Gap(10, 2, SENSOR)]
    assert len(list((tmp_path / "field" / "scene").iterdir())) == COUNT - 3
    health = [m for m in messages if isinstance(m, Health)][-1]
    assert health.lost == 3 and COUNT - 13 <= health.windows <= COUNT - 3
    assert isinstance(messages[-1], Ended)


def test_commands_change_between_text_and_messages(watcher: CameraApp) -> None:
    """`text` ends the messages in the middle of a run, and `binary` sends no rows."""
    from arenite.host.app.camera.camera_file import CAMERA_FILE, camera_records
    from arenite.host.app.emulated_run import run_with_file
    from arenite.host.flash.build import direct_build

    frames = read_frames([watcher.directory.parent / "pictures"], watcher.pictures.plan)
    records = camera_records(frames, watcher.settings)
    elf = direct_build(watcher.directory)
    lines = list(run_with_file(elf, watcher.board, CAMERA_FILE, records, ["binary", "text", "other"]))
    assert any("scores" in line for line in lines)
    assert any(line.endswith("The commands are: status, scores, binary, text") for line in lines)


def test_record_convert_and_bench(
    watcher: CameraApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = watcher.directory.parent
    arguments = [str(folder / "app"), "--board", BOARD, "--play", str(folder / "pictures")]
    assert main(["record", *arguments, "-o", "field", "--label", "thing 3", "--json"]) == 0
    clips = json.loads(capsys.readouterr().out)["clips"]
    recorded = sorted(Path("field").rglob("*.png"))
    assert len(recorded) == sum(clips.values()) > 2
    played = pictures(COUNT, SIZE)
    for path in recorded:
        assert (np.asarray(Image.open(path)) == played[int(path.stem.split("-")[1])]).all()
    write_float_model(Path("float.tflite"), (1, SIZE, SIZE, 3), len(watcher.scores.names))
    Path("steps.toml").write_text(PREPROCESSING)
    Path("labels.txt").write_text("".join(f"{name}\n" for name in watcher.scores.names))
    convert = ["convert", "float.tflite", "--calibration", "field", "--preprocessing", "steps.toml"]
    assert main([*convert, "--labels", "labels.txt", "-o", "better.tflite"]) == 0
    capsys.readouterr()
    assert main(["bench", "better.tflite", "--board", BOARD, "--data", "field", "--json"]) == 0
    samples = json.loads(capsys.readouterr().out)["samples"]
    assert samples["bit_exact"] == samples["count"] == len(recorded)
    assert samples["accuracy"] is not None


def test_lines_and_json_of_live(watcher: CameraApp, capfd: pytest.CaptureFixture[str]) -> None:
    folder = watcher.directory.parent
    arguments = ["live", str(folder / "app"), "--board", BOARD, "--play", str(folder / "pictures")]
    assert main([*arguments, "--json"]) == 0
    entries = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    starts = [e["at"] for e in entries if e["kind"] == "EventMessage" and e["is_start"]]
    assert starts and not {"Row", "Lost", "MissingFrames"} & {e["kind"] for e in entries}
    assert main(arguments) == 0
    assert [line for line in capfd.readouterr().out.splitlines() if line.endswith(f"% (frame {starts[0]})")]
