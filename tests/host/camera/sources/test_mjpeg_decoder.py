"""JPEG pictures as cameras send them, whole, padded, cut and broken."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Format
from arenite.host.camera.sources.mjpeg_decoder import MjpegDecoder

pytest.importorskip("simplejpeg", reason="needs simplejpeg")
Image = pytest.importorskip("PIL.Image", reason="needs Pillow")

WIDE, HIGH = 320, 184


def jpeg(seed: int = 0) -> np.ndarray:
    """A smooth picture, so that a fraction of its size has the same content."""
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 255, (6, 8, 3), dtype=np.uint8), "RGB")
    file = io.BytesIO()
    small.resize((WIDE, HIGH), Image.BICUBIC).save(file, "JPEG", quality=92)
    return np.frombuffer(file.getvalue(), np.uint8)


DATA = jpeg()


def decoded(decoder: MjpegDecoder, data: np.ndarray) -> np.ndarray | None:
    made = decoder.decode(data.ctypes.data, data.size, 30.0)
    if made is None:
        return None
    f = made.format
    assert made.planes == (made.owner.ctypes.data,)
    picture = made.owner.reshape(f.height, f.width, -1).copy()
    made.release()
    return picture


@pytest.mark.parametrize("pixels", ["rgb", "bgr", "grey"])
def test_the_whole_picture_is_what_pillow_reads(pixels: str) -> None:
    found = decoded(MjpegDecoder(pixels), DATA)
    expected = np.asarray(Image.open(io.BytesIO(DATA.tobytes())).convert("L" if pixels == "grey" else "RGB"))
    expected = expected[:, :, None] if pixels == "grey" else expected
    expected = expected[:, :, ::-1] if pixels == "bgr" else expected
    assert found is not None and found.shape == expected.shape
    assert np.abs(found.astype(int) - expected).max() <= 3  # two builds of the same library


@pytest.mark.parametrize(
    ("least", "size"),
    [(None, (320, 184)), ((40, 23), (40, 23)), ((41, 1), (80, 46)), ((96, 92), (160, 92)), ((161, 90), (320, 184)),
     ((640, 480), (320, 184))],
)  # fmt: skip
def test_the_smallest_fraction_that_suffices(least: tuple[int, int] | None, size: tuple[int, int]) -> None:
    decoder = MjpegDecoder("rgb", least)
    found = decoded(decoder, DATA)
    assert found is not None and found.shape[1::-1] == size
    told = decoder.expected(Format("mjpeg", WIDE, HIGH, (), 30.0))
    assert (told.width, told.height, told.strides, told.fps) == (*size, (3 * size[0],), 30.0)
    whole = Image.open(io.BytesIO(DATA.tobytes())).resize(size, Image.BOX)
    assert np.abs(found.astype(int) - np.asarray(whole)).mean() < 3


def test_memory_is_used_again_when_it_is_given_back_and_only_then() -> None:
    decoder = MjpegDecoder()
    one, two = (decoder.decode(DATA.ctypes.data, DATA.size, 30.0) for _ in range(2))
    assert one is not None and two is not None and one.planes != two.planes
    assert one.format is two.format
    one.release()
    three = decoder.decode(DATA.ctypes.data, DATA.size, 30.0)
    assert three is not None and three.planes == one.planes


def test_bytes_behind_the_end_do_no_harm() -> None:
    padded = np.concatenate([DATA, np.zeros(500, np.uint8)])
    whole, found = decoded(MjpegDecoder(), DATA), decoded(MjpegDecoder(), padded)
    assert whole is not None and found is not None and (found == whole).all()


@given(st.integers(0, DATA.size - 1))
def test_what_is_cut_short_is_damaged(length: int) -> None:
    assert decoded(MjpegDecoder(), DATA[:length]) is None


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(0, DATA.size - 1), st.integers(0, 255)), max_size=30))
def test_broken_bytes_give_a_picture_or_none(broken: list[tuple[int, int]]) -> None:
    data = DATA.copy()
    for at, value in broken:
        data[at] = value
    found = decoded(MjpegDecoder("rgb", (64, 48)), data)
    assert found is None or found.ndim == 3


def test_pixels_that_are_not_made() -> None:
    with pytest.raises(UsageError, match="cannot be decoded to yuyv"):
        MjpegDecoder("yuyv")


@pytest.mark.parametrize("agreed", [False, True])
def test_a_header_that_claims_much_more_than_was_agreed_on(agreed: bool) -> None:
    data = DATA.copy()
    start = data.tobytes().index(b"\xff\xc0") + 5  # of the frame header: height, width
    claimed = 2000 if agreed else 20_000
    data[start : start + 4] = np.frombuffer(np.array([claimed, claimed], ">u2").tobytes(), np.uint8)
    decoder = MjpegDecoder()
    if agreed:
        decoder.expected(Format("mjpeg", WIDE, HIGH, (), 30.0))
    assert decoder.decode(data.ctypes.data, data.size, 30.0) is None
