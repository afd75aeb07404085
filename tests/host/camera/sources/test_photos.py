"""The synthetic pattern and the photographs: endless, the same for the same number, in every format."""

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
from arenite.host.camera.sources.photos import SHOT, SHOTS
from arenite.host.camera.sources.pixel_encoding import PIXELS
from arenite.models.manifest import manifest
from arenite.models.package_members import package_members


def picture(frame: Frame) -> np.ndarray:
    f = frame.format
    row = f.width * PIXELS[f.pixels]
    data = np.concatenate([frame.rows(k)[:, :row].reshape(-1) for k in range(len(frame.planes))])
    made = unpack(data, f.pixels, f.width, f.height)
    return made[:, :, ::-1] if f.pixels in ("bgr", "bgra") else made


def frames(spec: str, count: int, **asked: object) -> list[np.ndarray]:
    source = open_source(spec, pace="file", **asked)  # type: ignore[arg-type]
    try:
        source.open()
    except ToolError as error:
        pytest.skip(f"needs the package index once: {error.problem}")
    made = []
    for _ in range(count):
        frame = source.read(0)
        assert frame is not None
        made.append(picture(frame).copy())
        frame.release()
    source.close()
    return made


def digest(pictures: list[np.ndarray]) -> str:
    return hashlib.sha256(b"".join(p.tobytes() for p in pictures)).hexdigest()[:16]


@pytest.mark.parametrize("pixels", sorted(PIXELS))
def test_the_pattern_moves_and_comes_again(pixels: str) -> None:
    made = frames("synthetic", 17, width=320, height=240, pixels=pixels)
    assert all((a != b).any() for a, b in itertools.pairwise(made))
    assert (made[0] == made[8]).all() and (made[8] == made[16]).all()
    # Only the square moves, a sixteenth of the picture and less.
    assert (made[0] == made[1]).all(axis=-1).mean() > 0.8


def test_the_pattern_is_the_same_in_every_format() -> None:
    yuyv, nv12, rgb = (
        frames("synthetic", 3, width=320, height=240, pixels=p) for p in ("yuyv", "nv12", "rgb")
    )
    for other in (nv12, rgb):
        assert np.abs(np.stack(yuyv).astype(int) - np.stack(other)).mean() < 3


def test_each_picture_of_the_pattern_has_memory_of_its_own() -> None:
    source = open_source("synthetic", width=64, height=64, pace="file")
    source.open()
    addresses = {frame.planes for frame in (source.read(0) for _ in range(16)) if frame}
    assert len(addresses) == 8


@pytest.mark.parametrize("pixels", ["yuyv", "nv12", "rgb", "grey"])
def test_photographs_are_the_same_everywhere(pixels: str) -> None:
    made = frames("photos", SHOT * len(SHOTS), width=64, height=36, pixels=pixels)
    expected = {
        "yuyv": "e316ddf174814eaf",
        "nv12": "29ab8919d4c6325f",
        "rgb": "8f7e9acb7f532bb4",
        "grey": "0a4d78fa1cf822a7",
    }
    assert digest(made) == expected[pixels]
    # Panned by two pixels at a time: each shot shows several windows.
    shots = [made[k : k + SHOT] for k in range(0, len(made), SHOT)]
    assert all(len({p.tobytes() for p in shot}) >= 3 for shot in shots)
    assert len({shot[0].tobytes() for shot in shots}) == len(SHOTS)


def test_photographs_are_windows_of_one_file() -> None:
    source = open_source("photos", width=320, height=180, pace="file")
    try:
        format = source.open()
    except ToolError as error:
        pytest.skip(f"needs the package index once: {error.problem}")
    assert format.strides[0] > 2 * 320 and format.strides[0] % 64 == 0
    owners = set()
    for _ in range(SHOT * len(SHOTS)):
        frame = source.read(0)
        assert frame is not None and frame.format is format
        owners.add(id(frame.owner))
        assert frame.rows().shape == (180, format.strides[0])  # its last row ends inside the file
    assert len(owners) == 1


def test_a_window_is_where_another_library_finds_it() -> None:
    """The first frame of each shot, against Pillow's own resampling and cropping."""
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    made = frames("photos", SHOT * len(SHOTS), width=320, height=180, pixels="rgb")
    files = package_members(manifest().pictures["photos"], "pictures")
    for k, shot in enumerate(SHOTS):
        photo = image.open(io.BytesIO(files[shot.photo])).convert("RGB")
        scale = max(320 / photo.width, 180 / photo.height) * shot.zoom
        wide, high = (round(n * scale / 2) * 2 for n in photo.size)
        left, top = (
            int(free * part) // 2 * 2 for free, part in zip((wide - 320, high - 180), shot.start, strict=True)
        )
        # Pillow takes wider means where it shrinks: reducing_gap and antialiasing are avoided by an affine map.
        expected = photo.transform(
            (wide, high), image.AFFINE, (photo.width / wide, 0, 0, 0, photo.height / high, 0), image.BILINEAR
        ).crop((left, top, left + 320, top + 180))
        found = made[k * SHOT].astype(int)
        assert np.abs(found - np.asarray(expected)).mean() < 4, k
        # Nothing else fits as well.
        shifted = np.roll(found, 8, axis=1)
        assert np.abs(shifted - np.asarray(expected)).mean() > 2 * np.abs(found - np.asarray(expected)).mean()


def test_photographs_differ_little_between_formats() -> None:
    yuyv, rgb = (frames("photos", 5, width=320, height=180, pixels=p) for p in ("yuyv", "rgb"))
    assert np.abs(np.stack(yuyv).astype(int) - np.stack(rgb)).mean() < 3


@pytest.mark.parametrize("spec", ["synthetic", "photos"])
def test_sizes_that_cannot_be_made(spec: str) -> None:
    with pytest.raises(UsageError):
        open_source(spec, width=321, height=240).open()
