"""Tests of ``choose_mode``, which chooses one of the modes that a camera offers."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.errors import UsageError
from arenite.host.camera.sources.v4l2 import modes as mode_module
from arenite.host.camera.sources.v4l2 import setup
from arenite.host.camera.sources.v4l2.api import (
    API,
    CAP_TIMEPERFRAME,
    CAPTURE,
    PIXELS,
    SIZE_DISCRETE,
    fourcc,
)
from arenite.host.camera.sources.v4l2.modes import Mode, RequestedMode, choose_mode

YUYV, MJPG, NV12, GREY = (fourcc(name) for name in ("YUYV", "MJPG", "NV12", "GREY"))

#: A webcam at USB 2: large uncompressed pictures have a low rate.
WEBCAM = [
    *[Mode(YUYV, w, h, fps) for w, h, fps in ((640, 480, 30), (1280, 720, 10), (1920, 1080, 5))],
    *[Mode(MJPG, w, h, 30.0) for w, h in ((640, 480), (1280, 720), (1920, 1080))],
]


@pytest.mark.parametrize(
    ("requested", "expected"),
    [
        (RequestedMode(), "yuyv 640x480 at 30 fps"),  # large enough for a model, without decoding
        (RequestedMode(1280, 720), "mjpeg 1280x720 at 30 fps"),
        (RequestedMode(1280, 720, 10), "yuyv 1280x720 at 10 fps"),
        (RequestedMode(1920, 1080, 5), "yuyv 1920x1080 at 5 fps"),
        (RequestedMode(1280, 720, pixels="yuyv"), "yuyv 1280x720 at 10 fps"),
        (RequestedMode(640, 480, pixels="rgb"), "mjpeg 640x480 at 30 fps"),
        (RequestedMode(600, 400), "yuyv 640x480 at 30 fps"),
        (RequestedMode(fps=5), "yuyv 1280x720 at 10 fps"),
    ],
)
def test_the_requested_or_the_best_mode_of_a_webcam_is_chosen(
    requested: RequestedMode, expected: str
) -> None:
    assert str(choose_mode(WEBCAM, requested)) == expected


def test_the_cheapest_format_of_equal_modes_is_chosen() -> None:
    modes = [Mode(code, 640, 480, 30.0) for code in (MJPG, GREY, NV12, YUYV)]
    assert choose_mode(modes, RequestedMode()).pixels == "yuyv"
    assert choose_mode(modes[:3], RequestedMode()).pixels == "nv12"
    assert choose_mode(modes[:1], RequestedMode()).pixels == "mjpeg"


def test_unsupported_pixels_raise_an_error() -> None:
    with pytest.raises(UsageError, match="no hsv; it has mjpeg, yuyv"):
        choose_mode(WEBCAM, RequestedMode(pixels="hsv"))
    with pytest.raises(UsageError, match="no supported format"):
        choose_mode([], RequestedMode())


modes = st.builds(
    Mode,
    st.sampled_from(sorted(PIXELS)),
    st.sampled_from([160, 320, 640, 1280, 1920, 4056]),
    st.sampled_from([120, 240, 480, 720, 1080, 3040]),
    st.sampled_from([0.0, 5.0, 15.0, 30.0, 60.0]),
)


@given(st.lists(modes, min_size=1, max_size=20), st.data())
def test_an_offered_size_is_chosen_exactly(offered: list[Mode], data: st.DataObject) -> None:
    offered_mode = data.draw(st.sampled_from(offered))
    chosen = choose_mode(offered, RequestedMode(offered_mode.width, offered_mode.height))
    assert (chosen.width, chosen.height) == (offered_mode.width, offered_mode.height)


@given(st.lists(modes, min_size=1, max_size=20), st.sampled_from([None, 640]))
def test_uncompressed_modes_are_preferred(offered: list[Mode], width: int | None) -> None:
    chosen = choose_mode(offered, RequestedMode(width))
    if chosen.pixels == "mjpeg":
        assert not [
            mode
            for mode in offered
            if mode.pixels != "mjpeg"
            and (mode.width, mode.height, mode.fps) == (chosen.width, chosen.height, chosen.fps)
        ]


def test_very_low_rates_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulated driver accepts every rate, but the source requests no rate below 1/1001 frames per second."""

    def ioctl(device: int, request: int, parm: Any, change: bool) -> int:
        parm.parm.capture.capability = CAP_TIMEPERFRAME
        return 0

    monkeypatch.setattr(setup, "ioctl", ioctl)
    assert setup.set_interval(-1, CAPTURE, 0.0001) == (pytest.approx(1 / 1001), True)
    assert setup.set_interval(-1, CAPTURE, 29.97) == (pytest.approx(29.97), True)


def test_empty_sizes_are_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A camera lists three sizes of one format. Two of these sizes have a width of zero."""
    sizes = [(0, 480), (640, 480), (0, 0)]

    def ioctl(device: int, request: int, item: Any, change: bool) -> int:
        count = {API.ENUM_FMT: 1, API.ENUM_FRAMESIZES: len(sizes)}.get(request, 0)
        if item.index >= count:
            raise OSError(errno.EINVAL, "no more")
        if request == API.ENUM_FMT:
            item.pixelformat = YUYV
        else:
            item.type, size = SIZE_DISCRETE, getattr(item, "is").discrete
            size.width, size.height = sizes[item.index]
        return 0

    monkeypatch.setattr(mode_module, "ioctl", ioctl)
    modes, _ = mode_module.enumerate_modes(-1, CAPTURE, RequestedMode())
    assert [str(mode) for mode in modes] == ["yuyv 640x480"]
