"""Tests of the sources "synthetic" (a moving pattern) and "photos": they repeat without end, and give the same
pictures in every run, in every format."""

from __future__ import annotations

import hashlib
import io
import itertools

import numpy as np
import pytest

from arenite.converters.processing.specification.pixel_formats import unpack
from arenite.errors import ToolError, UsageError
from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.sources.factory import open_source
from arenite.host.camera.sources.photos import FRAMES_PER_SHOT, SHOTS
from arenite.host.camera.sources.pixel_encoding import PIXELS
from arenite.models.manifest import manifest
from arenite.models.package_members import package_members


def picture(frame: Frame) -> np.ndarray:
    """Return the pixels of a frame, uint8 [height, width, channels] in the order red, green, blue."""
    f = frame.format
    row = f.width * PIXELS[f.pixels]
    data = np.concatenate([frame.rows(k)[:, :row].reshape(-1) for k in range(len(frame.planes))])
    pixels = unpack(data, f.pixels, f.width, f.height)
    return pixels[:, :, ::-1] if f.pixels in ("bgr", "bgra") else pixels


def frames(spec: str, count: int, **options: object) -> list[np.ndarray]:
    """Return the first ``count`` pictures of a source. Skip the test if its photographs cannot be fetched."""
    source = open_source(spec, pace="file", **options)  # type: ignore[arg-type]
    try:
        source.open()
    except ToolError as error:
        pytest.skip(f"needs to download from the package index once: {error.problem}")
    pictures = []
    for _ in range(count):
        frame = source.read(0)
        assert frame is not None
        pictures.append(picture(frame).copy())
        frame.release()
    source.close()
    return pictures


def digest(pictures: list[np.ndarray]) -> str:
    """Return the beginning of the hash of all pixels."""
    return hashlib.sha256(b"".join(p.tobytes() for p in pictures)).hexdigest()[:16]


@pytest.mark.parametrize("pixels", sorted(PIXELS))
def test_the_pattern_moves_and_repeats(pixels: str) -> None:
    pictures = frames("synthetic", 17, width=320, height=240, pixels=pixels)
    assert all((a != b).any() for a, b in itertools.pairwise(pictures))
    assert (pictures[0] == pictures[8]).all() and (pictures[8] == pictures[16]).all()
    # Only the square moves. It covers at most a sixteenth of the picture.
    assert (pictures[0] == pictures[1]).all(axis=-1).mean() > 0.8


def test_the_pattern_is_the_same_in_every_format() -> None:
    yuyv, nv12, rgb = (
        frames("synthetic", 3, width=320, height=240, pixels=p) for p in ("yuyv", "nv12", "rgb")
    )
    for pictures in (nv12, rgb):
        assert np.abs(np.stack(yuyv).astype(int) - np.stack(pictures)).mean() < 3


def test_each_picture_of_the_pattern_has_its_own_memory() -> None:
    source = open_source("synthetic", width=64, height=64, pace="file")
    source.open()
    addresses = {frame.planes for frame in (source.read(0) for _ in range(16)) if frame}
    assert len(addresses) == 8


@pytest.mark.parametrize("pixels", ["yuyv", "nv12", "rgb", "grey"])
def test_photographs_are_reproducible(pixels: str) -> None:
    pictures = frames("photos", FRAMES_PER_SHOT * len(SHOTS), width=64, height=36, pixels=pixels)
    expected = {
        "yuyv": "e316ddf174814eaf",
        "nv12": "29ab8919d4c6325f",
        "rgb": "8f7e9acb7f532bb4",
        "grey": "0a4d78fa1cf822a7",
    }
    assert digest(pictures) == expected[pixels]
    # In each shot, the shown window of the photograph moves by two pixels at a time, so the pictures differ.
    shots = [pictures[k : k + FRAMES_PER_SHOT] for k in range(0, len(pictures), FRAMES_PER_SHOT)]
    assert all(len({p.tobytes() for p in shot}) >= 3 for shot in shots)
    assert len({shot[0].tobytes() for shot in shots}) == len(SHOTS)


def test_photographs_are_windows_of_one_file() -> None:
    source = open_source("photos", width=320, height=180, pace="file")
    try:
        format = source.open()
    except ToolError as error:
        pytest.skip(f"needs to download from the package index once: {error.problem}")
    assert format.strides[0] > 2 * 320 and format.strides[0] % 64 == 0
    owners = set()
    for _ in range(FRAMES_PER_SHOT * len(SHOTS)):
        frame = source.read(0)
        assert frame is not None and frame.format is format
        owners.add(id(frame.owner))
        assert frame.rows().shape == (180, format.strides[0])  # the last row ends inside the file
    assert len(owners) == 1


def test_windows_agree_with_pillow() -> None:
    """The first frame of each shot agrees with Pillow's resampling and cropping."""
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    pictures = frames("photos", FRAMES_PER_SHOT * len(SHOTS), width=320, height=180, pixels="rgb")
    files = package_members(manifest().pictures["photos"], "pictures")
    for k, shot in enumerate(SHOTS):
        photo = image.open(io.BytesIO(files[shot.photo])).convert("RGB")
        scale = max(320 / photo.width, 180 / photo.height) * shot.zoom
        wide, high = (round(n * scale / 2) * 2 for n in photo.size)
        left, top = (
            int(margin * fraction) // 2 * 2
            for margin, fraction in zip((wide - 320, high - 180), shot.start, strict=True)
        )
        # When Pillow shrinks pictures, it averages over more pixels. An affine transform avoids that.
        expected = photo.transform(
            (wide, high), image.AFFINE, (photo.width / wide, 0, 0, 0, photo.height / high, 0), image.BILINEAR
        ).crop((left, top, left + 320, top + 180))
        actual = pictures[k * FRAMES_PER_SHOT].astype(int)
        assert np.abs(actual - np.asarray(expected)).mean() < 4, k
        # A shifted window differs more.
        shifted = np.roll(actual, 8, axis=1)
        assert (
            np.abs(shifted - np.asarray(expected)).mean() > 2 * np.abs(actual - np.asarray(expected)).mean()
        )


def test_photographs_differ_little_between_formats() -> None:
    yuyv, rgb = (frames("photos", 5, width=320, height=180, pixels=p) for p in ("yuyv", "rgb"))
    assert np.abs(np.stack(yuyv).astype(int) - np.stack(rgb)).mean() < 3


@pytest.mark.parametrize("spec", ["synthetic", "photos"])
def test_odd_sizes_raise_an_error(spec: str) -> None:
    with pytest.raises(UsageError):
        open_source(spec, width=321, height=240).open()
