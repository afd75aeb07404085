"""Tests of the decoder with JPEG pictures as cameras send them: intact, padded, truncated and damaged."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Format
from arenite.host.camera.sources.mjpeg_decoder import MjpegDecoder
from tests.example_count import example_count

pytest.importorskip("simplejpeg", reason="needs simplejpeg")
Image = pytest.importorskip("PIL.Image", reason="needs Pillow")

WIDTH, HEIGHT = 320, 184


def jpeg(seed: int = 0) -> np.ndarray:
    """Return a JPEG file of a smooth picture, which looks the same when it is decoded at a fraction of its size."""
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 255, (6, 8, 3), dtype=np.uint8), "RGB")
    file = io.BytesIO()
    small.resize((WIDTH, HEIGHT), Image.BICUBIC).save(file, "JPEG", quality=92)
    return np.frombuffer(file.getvalue(), np.uint8)


DATA = jpeg()


def decoded(decoder: MjpegDecoder, data: np.ndarray) -> np.ndarray | None:
    """Return the decoded picture, uint8 [height, width, channels], or None if the decoder rejects it."""
    frame = decoder.decode(data.ctypes.data, data.size, 30.0)
    if frame is None:
        return None
    f = frame.format
    assert frame.planes == (frame.owner.ctypes.data,)
    picture = frame.owner.reshape(f.height, f.width, -1).copy()
    frame.release()
    return picture


@pytest.mark.parametrize("pixels", ["rgb", "bgr", "grey"])
def test_the_full_picture_agrees_with_pillow(pixels: str) -> None:
    picture = decoded(MjpegDecoder(pixels), DATA)
    expected = np.asarray(Image.open(io.BytesIO(DATA.tobytes())).convert("L" if pixels == "grey" else "RGB"))
    expected = expected[:, :, None] if pixels == "grey" else expected
    expected = expected[:, :, ::-1] if pixels == "bgr" else expected
    assert picture is not None and picture.shape == expected.shape
    # Pillow and simplejpeg contain different builds of libjpeg-turbo.
    assert np.abs(picture.astype(int) - expected).max() <= 3


@pytest.mark.parametrize(
    ("min_size", "size"),
    [(None, (320, 184)), ((40, 23), (40, 23)), ((41, 1), (80, 46)), ((96, 92), (160, 92)), ((161, 90), (320, 184)),
     ((640, 480), (320, 184))],
)  # fmt: skip
def test_the_smallest_sufficient_scale_is_used(
    min_size: tuple[int, int] | None, size: tuple[int, int]
) -> None:
    decoder = MjpegDecoder("rgb", min_size)
    picture = decoded(decoder, DATA)
    assert picture is not None and picture.shape[1::-1] == size
    format = decoder.set_camera_size(Format("mjpeg", WIDTH, HEIGHT, (), 30.0))
    assert (format.width, format.height, format.strides, format.fps) == (*size, (3 * size[0],), 30.0)
    reference = Image.open(io.BytesIO(DATA.tobytes())).resize(size, Image.BOX)
    assert np.abs(picture.astype(int) - np.asarray(reference)).mean() < 3


def test_only_released_memory_is_reused() -> None:
    decoder = MjpegDecoder()
    first, second = (decoder.decode(DATA.ctypes.data, DATA.size, 30.0) for _ in range(2))
    assert first is not None and second is not None and first.planes != second.planes
    assert first.format is second.format
    first.release()
    third = decoder.decode(DATA.ctypes.data, DATA.size, 30.0)
    assert third is not None and third.planes == first.planes


def test_bytes_after_the_end_are_ignored() -> None:
    padded = np.concatenate([DATA, np.zeros(500, np.uint8)])
    expected, picture = decoded(MjpegDecoder(), DATA), decoded(MjpegDecoder(), padded)
    assert expected is not None and picture is not None and (picture == expected).all()


@given(st.integers(0, DATA.size - 1))
def test_truncated_pictures_are_rejected(length: int) -> None:
    assert decoded(MjpegDecoder(), DATA[:length]) is None


@settings(max_examples=example_count(150))
@given(st.lists(st.tuples(st.integers(0, DATA.size - 1), st.integers(0, 255)), max_size=30))
def test_damaged_bytes_give_a_picture_or_none(changes: list[tuple[int, int]]) -> None:
    data = DATA.copy()
    for offset, value in changes:
        data[offset] = value
    picture = decoded(MjpegDecoder("rgb", (64, 48)), data)
    assert picture is None or picture.ndim == 3


def test_unsupported_pixels_raise_an_error() -> None:
    with pytest.raises(UsageError, match="cannot be decoded to yuyv"):
        MjpegDecoder("yuyv")


@pytest.mark.parametrize("negotiated", [False, True])
def test_a_header_with_a_far_too_large_size_is_rejected(negotiated: bool) -> None:
    data = DATA.copy()
    start = data.tobytes().index(b"\xff\xc0") + 5  # height and width in the frame header
    claimed = 2000 if negotiated else 20_000
    data[start : start + 4] = np.frombuffer(np.array([claimed, claimed], ">u2").tobytes(), np.uint8)
    decoder = MjpegDecoder()
    if negotiated:
        decoder.set_camera_size(Format("mjpeg", WIDTH, HEIGHT, (), 30.0))
    assert decoder.decode(data.ctypes.data, data.size, 30.0) is None
