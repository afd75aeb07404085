"""What can be named as a source."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.host.camera.sources import factory as opening
from arenite.host.camera.sources import photos, v4l2_discovery
from arenite.host.camera.sources.base import EndOfSource
from arenite.host.camera.sources.factory import open_source
from arenite.host.camera.sources.v4l2_discovery import CameraDevice


@pytest.mark.parametrize("spec", ["nothing", "", "/dev/null/video", "clip.mp4", "csi:", "picture.png"])
def test_names_of_nothing(spec: str) -> None:
    with pytest.raises(UsageError) as told:
        open_source(spec)
    assert told.value.hint


def test_paces() -> None:
    assert open_source("synthetic").live and not open_source("synthetic", pace="file").live
    with pytest.raises(UsageError, match="'slow' is not a pace"):
        open_source("synthetic", pace="slow")


def test_what_is_asked_for_is_made() -> None:
    source = open_source("synthetic", width=320, height=200, fps=12, pixels="nv12", index=2)
    format = source.open()
    assert (format.pixels, format.width, format.height, format.fps) == ("nv12", 320, 200, 12)
    frame = source.read(1)
    assert frame is not None and frame.source == 2


def test_auto_takes_the_photographs_else_the_pattern_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(v4l2_discovery, "list_cameras", list)
    monkeypatch.setattr(photos, "unavailable", lambda *asked: "")
    messages: list[str] = []
    assert open_source("auto", on_message=messages.append).name == "photos"
    monkeypatch.setattr(photos, "unavailable", lambda *asked: "There is no network.")
    assert open_source("auto", on_message=messages.append).name == "synthetic"
    assert "no camera" in messages[0] and "There is no network." in messages[1]


def test_auto_takes_the_first_camera_that_captures(monkeypatch: pytest.MonkeyPatch) -> None:
    """/dev/null stands for the device: only which one is taken is looked at."""
    found = [CameraDevice("/dev/video0", "metadata", False), CameraDevice("/dev/null", "Webcam", True)]
    monkeypatch.setattr(v4l2_discovery, "list_cameras", lambda: found)
    monkeypatch.setattr(opening.os, "listdir", lambda path: ["video0"])  # type: ignore[attr-defined]
    messages: list[str] = []
    assert open_source("auto", on_message=messages.append).name == "/dev/null"
    assert messages == ["The source is /dev/null (Webcam)."]


def test_an_uncompressed_recording_is_not_decoded(tmp_path: Path) -> None:
    picture = bytes(range(24)) * 4  # 4:2:0 of 8x8
    (tmp_path / "film.y4m").write_bytes(b"YUV4MPEG2 W8 H8 F25:1 C420jpeg\n" + 3 * (b"FRAME\n" + picture))
    source = open_source(str(tmp_path / "film.y4m"))
    format = source.open()
    assert (format.pixels, format.strides, format.fps) == ("yu12", (8, 4, 4), 25.0)
    frame = source.read(0)
    assert frame is not None and frame.rows().tobytes() == picture[:64]
    frames = [source.read(0), source.read(0)]
    assert [each.sequence for each in frames if each] == [1, 2]
    with pytest.raises(EndOfSource):
        source.read(0)


def test_a_number_is_a_camera() -> None:
    with pytest.raises(UsageError, match="/dev/video77"):
        open_source("77")


def test_the_loop_starts_without_what_it_does_not_need() -> None:
    """No OpenCV, Pillow, downloader or decoder before the first frame of what needs none."""
    code = (
        "import sys\n"
        "from arenite.host.camera.sources.factory import open_source\n"
        "import arenite.host.camera.sources.v4l2, arenite.host.camera.sources.reconnect\n"
        "s = open_source('synthetic', width=64, height=64); s.open(); s.read(1)\n"
        "print(*sorted({m.split('.')[0] for m in sys.modules} & "
        "{'cv2', 'PIL', 'rich', 'simplejpeg', 'subprocess', 'tomllib', 'click', 'ai_edge_litert'}))\n"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert process.returncode == 0, process.stderr
    assert process.stdout.strip() == ""
