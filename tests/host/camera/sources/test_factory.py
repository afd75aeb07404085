"""Tests of ``open_source``, which opens every kind of source by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.host.camera.sources import factory as opening
from arenite.host.camera.sources import photos
from arenite.host.camera.sources.base import EndOfSource
from arenite.host.camera.sources.factory import open_source
from arenite.host.camera.sources.v4l2 import discovery
from arenite.host.camera.sources.v4l2.discovery import CameraDevice


@pytest.mark.parametrize("spec", ["nothing", "", "/dev/null/video", "clip.mp4", "csi:", "picture.png"])
def test_unknown_sources_raise_an_error(spec: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_source(spec)
    assert caught.value.hint


def test_the_pace_decides_whether_a_source_is_live() -> None:
    assert open_source("synthetic").live and not open_source("synthetic", pace="file").live
    with pytest.raises(UsageError, match="'slow' is not a pace"):
        open_source("synthetic", pace="slow")


def test_the_given_format_is_used() -> None:
    source = open_source("synthetic", width=320, height=200, fps=12, pixels="nv12", index=2)
    format = source.open()
    assert (format.pixels, format.width, format.height, format.fps) == ("nv12", 320, 200, 12)
    frame = source.read(1)
    assert frame is not None and frame.source == 2


def test_auto_without_a_camera_uses_photos_or_the_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "list_cameras", list)
    monkeypatch.setattr(photos, "unavailable_reason", lambda *arguments: "")
    messages: list[str] = []
    assert open_source("auto", on_message=messages.append).name == "photos"
    monkeypatch.setattr(photos, "unavailable_reason", lambda *arguments: "There is no network.")
    assert open_source("auto", on_message=messages.append).name == "synthetic"
    assert "no camera" in messages[0] and "There is no network." in messages[1]


def test_auto_uses_the_first_camera_that_captures(monkeypatch: pytest.MonkeyPatch) -> None:
    """/dev/null replaces the device, because the test only checks which device is chosen."""
    cameras = [CameraDevice("/dev/video0", "metadata", False), CameraDevice("/dev/null", "Webcam", True)]
    monkeypatch.setattr(discovery, "list_cameras", lambda: cameras)
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
    assert [later_frame.sequence for later_frame in frames if later_frame] == [1, 2]
    with pytest.raises(EndOfSource):
        source.read(0)


def test_a_number_is_a_camera_device() -> None:
    with pytest.raises(UsageError, match="/dev/video77"):
        open_source("77")


def test_optional_packages_are_imported_late() -> None:
    """A source that needs no OpenCV, Pillow, downloader or decoder does not import them."""
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
