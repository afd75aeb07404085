"""Tests of the V4L2 source that need no camera. ``make test-vm`` tests with a virtual camera."""

from __future__ import annotations

import errno
import mmap
import os
import select
from pathlib import Path
from typing import Any

import pytest

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Format
from arenite.host.camera.sources.base import SourceLost
from arenite.host.camera.sources.factory import open_source
from arenite.host.camera.sources.v4l2 import buffers, discovery
from arenite.host.camera.sources.v4l2 import source as source_module
from arenite.host.camera.sources.v4l2.api import (
    API,
    CAPTURE,
    CAPTURE_MPLANE,
    EVENT_SOURCE_CHANGE,
    SOURCE_CHANGE_RESOLUTION,
)
from arenite.host.camera.sources.v4l2.buffers import MappedBuffer, V4l2Buffers
from arenite.host.camera.sources.v4l2.errors import lost_error, open_error
from arenite.host.camera.sources.v4l2.modes import RequestedMode
from arenite.host.camera.sources.v4l2.source import V4l2Camera


def test_opening_a_file_that_is_no_camera_raises_an_error(tmp_path: Path) -> None:
    for path in ("/dev/null", str(tmp_path / "file")):
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(UsageError, match="is not a camera"):
            V4l2Camera(path).open()
    with pytest.raises(SourceLost, match="no such device"):
        V4l2Camera(str(tmp_path / "video0")).open()


def test_reading_a_closed_camera_raises_an_error(tmp_path: Path) -> None:
    source = V4l2Camera(str(tmp_path / "video0"))
    with pytest.raises(UsageError, match="not open"):
        source.read(0)
    source.close()
    assert source.set_rate(12) == 12  # the rate is applied when the camera is opened
    with pytest.raises(UsageError):
        source.set_rate(0)


@pytest.mark.parametrize("error_number", [errno.ENODEV, errno.EBUSY, errno.EIO, errno.ENOSPC])
def test_errors_have_a_problem_and_a_hint(error_number: int) -> None:
    error = lost_error("/dev/video3", OSError(error_number, "text"))
    assert "/dev/video3" in error.problem and error.hint and error.exit_code == 3
    assert isinstance(open_error("/dev/video3", OSError(errno.EACCES, "text")), UsageError)


def test_the_error_of_a_missing_camera_lists_the_existing_cameras() -> None:
    with pytest.raises(UsageError, match="/dev/video77") as caught:
        open_source("/dev/video77")
    assert discovery.cameras_sentence() in caught.value.hint


def test_devices_without_capture_are_listed(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    assert discovery.cameras_sentence(tmp_path) == "This computer has no /dev/video*."
    for name in ("video10", "video2", "videocodec"):
        (tmp_path / "dev" / name).write_bytes(b"")
    cameras = discovery.list_cameras(tmp_path)
    assert [Path(camera.path).name for camera in cameras] == ["video2", "video10"]
    assert not any(camera.captures for camera in cameras)
    assert "video2" in discovery.cameras_sentence(tmp_path)


def test_the_stable_name_is_the_link_by_serial_number(tmp_path: Path) -> None:
    links = tmp_path / "dev/v4l/by-id"
    links.mkdir(parents=True)
    device = tmp_path / "dev/video0"
    device.write_bytes(b"")
    assert discovery.stable_name(str(device), tmp_path) == str(device)
    (links / "usb-Maker_Camera_SN1-video-index0").symlink_to("../../video0")
    stable = discovery.stable_name(str(device), tmp_path)
    assert stable == str(links / "usb-Maker_Camera_SN1-video-index0")
    assert discovery.stable_name(stable, tmp_path) == stable


def test_a_buffer_in_use_outlives_the_camera() -> None:
    """A buffer that is released after the camera was closed is unmapped, without an ioctl."""
    requests: list[int] = []
    buffers = V4l2Buffers.__new__(V4l2Buffers)
    buffers._open, buffers._buffer_records, buffers._device, buffers._held_indexes = True, [object()], -1, {0}

    def record_request(device: int, request: int, *rest: object) -> int:
        requests.append(request)
        return 0

    buffers._ioctl = record_request
    buffers._release(0)
    assert len(requests) == 1 and not buffers._held_indexes
    buffers._kind = 1
    in_use = MappedBuffer([mmap.mmap(-1, 4096)], [os.open("/dev/null", os.O_RDONLY)])
    unused = MappedBuffer([mmap.mmap(-1, 4096)], [])
    unused_map = unused._maps[0]
    buffers.memory, buffers._held_indexes = [in_use, unused], {0}
    buffers.close()
    assert unused_map.closed
    count = len(requests)
    assert in_use.fds and not in_use._maps[0].closed  # the frame is still in use
    mapped = in_use._maps[0]
    buffers._release(0)
    assert len(requests) == count and mapped.closed and not in_use.fds

    def raise_enodev(*_: object) -> int:
        raise OSError(errno.ENODEV, "gone")

    buffers._open, buffers._ioctl = True, raise_enodev
    buffers._release(0)  # the release raises no error, because the next read raises it


def test_a_new_rate_keeps_the_other_requests() -> None:
    source = V4l2Camera("/dev/video77", RequestedMode(640, 480, 30.0, "yuyv"))
    source.set_rate(10)
    assert source._request == RequestedMode(640, 480, 10, "yuyv")


def dequeued_buffer(planes: list[tuple[int, int]], picture_bytes: list[int]) -> V4l2Buffers:
    """Return a dequeued buffer with 4096 bytes of memory per plane.

    ``planes`` has the (bytesused, data_offset) that the driver reports for each plane, ``picture_bytes`` the size of a
    complete picture in each plane.
    """
    buffers = V4l2Buffers.__new__(V4l2Buffers)
    buffers._kind, buffers._mplane, buffers._picture_bytes = CAPTURE_MPLANE, True, picture_bytes
    buffers._format = Format("mjpeg", 64, 64, ())
    buffers.taken, buffers._areas = buffers._buffer_struct(0)
    buffers.memory = [MappedBuffer([mmap.mmap(-1, 4096) for _ in planes], [])]
    buffers._offsets, buffers.planes = [(0,) * len(planes)], [buffers.memory[0].addresses]
    for area, (bytes_used, offset) in zip(buffers._areas, planes, strict=False):
        area.bytesused, area.data_offset = bytes_used, offset
    return buffers


def test_reported_lengths_are_limited_to_the_memory() -> None:
    buffers = dequeued_buffer([(1064, 64)], [4])
    assert not buffers.is_damaged(0) and buffers.length(0) == 1000
    assert buffers.planes[0] == (buffers.memory[0].addresses[0] + 64,)
    buffers._areas[0].bytesused = 1 << 31
    assert buffers.length(0) == 4096 - 64
    buffers._mplane = False
    buffers.taken.bytesused = 5000
    assert buffers.length(0) == 4096
    # The memory ends before a complete picture does, because the picture begins at data_offset.
    assert dequeued_buffer([(4196, 100)], [4096]).is_damaged(0)
    assert not dequeued_buffer([(4096, 0)], [4096]).is_damaged(0)


def test_buffers_smaller_than_pictures_raise_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver may report a picture that is larger than its buffers."""

    def ioctl(device: int, request: int, item: Any, change: bool = True) -> int:
        if request == API.EXPBUF:
            raise OSError(errno.ENOTTY, "not by this driver")
        if request == API.QUERYBUF:
            item.length = 4096
        return 0

    monkeypatch.setattr(buffers, "ioctl", ioctl)
    with open("/dev/zero", "r+b", buffering=0) as device:
        arguments = (device.fileno(), CAPTURE, 2, Format("grey", 64, 64, (64,)), 1)
        assert V4l2Buffers(*arguments, [4096]).count == 2
        with pytest.raises(OSError, match="smaller than its pictures"):
            V4l2Buffers(*arguments, [4097])


def test_a_change_to_an_unknown_video_format_is_a_lost_camera() -> None:
    """The camera is opened again later, because its input may have changed to a known format by then."""

    class Camera(V4l2Camera):
        def _start(self) -> Format:
            raise UsageError("It has no format that can be read.")

    def ioctl(device: int, request: int, event: Any, change: bool = True) -> int:
        event.type, event.u.src_changes = EVENT_SOURCE_CHANGE, SOURCE_CHANGE_RESOLUTION
        return 0

    camera = Camera("/dev/video77")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SourceLost, match="no format"):
        patch.setattr(source_module, "ioctl", ioctl)
        camera._handle_events(select.POLLPRI)
