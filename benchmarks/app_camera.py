"""Person detectors that look through a streamed camera: ``python -m benchmarks.app_camera``.

For each model, an application with a camera is generated, built and run on an emulated board, whose camera sees 500
pictures: cut from photographs, mirrored, with other brightness and noise, and small pictures of faces and of other
things, made larger. The program compares the scores of each frame, and all events, with LiteRT's reference kernels on
whole frames. It prints the RAM of the linked firmware and what the application counted. The exit code is 1 if a score
or an event differs.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from arenite.converters.decision.record import Decision
from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.host.app.camera.frames import frame_of
from arenite.host.app.camera.generate import generate_camera_app
from arenite.host.app.camera.play import FramePlayback, play_frames
from arenite.host.build.prepare import prepare
from arenite.host.camera.sources.photos import photographs
from arenite.host.flash.build import direct_build
from arenite.models.manifest import manifest
from arenite.models.package_members import package_members
from arenite.profiles.boards import load_board
from tests.development_models import SHARED
from tests.host.app.camera.elf_ram import ram_of

#: The development models, and the frames per second of their cameras.
MODELS = {"person_detect_int8": 1, "vww01_int8": 2}
DECISION = Decision(threshold=0.6, release=0.4, smooth="mean", hops=2)
#: The share of small pictures of faces and other things.
_SMALL = 0.3


def pictures(count: int, seed: int = 16) -> Iterator[np.ndarray]:
    """Yield ``count`` uint8 pictures [96, 96, 3]. Equal seeds give equal pictures."""
    rng = np.random.default_rng(seed)
    photos = photographs()
    (data,) = package_members(manifest().pictures["faces"], "pictures")
    small = np.load(io.BytesIO(data))
    small = np.rint(small * (255 / small.max())).astype(np.uint8)
    for _ in range(count):
        if rng.random() < _SMALL:
            gray = small[rng.integers(len(small))]
            cut = np.repeat(gray[:, :, np.newaxis], 3, axis=2)
        else:
            photo = photos[rng.integers(len(photos))]
            side = int(rng.integers(80, min(photo.shape[:2]) + 1))
            y, x = (int(rng.integers(0, n - side + 1)) for n in photo.shape[:2])
            cut = photo[y : y + side, x : x + side]
        resized = np.asarray(Image.fromarray(cut).resize((96, 96), Image.Resampling.BILINEAR), np.float64)
        mirrored = resized[:, ::-1] if rng.random() < 0.5 else resized
        noisy = mirrored * rng.uniform(0.5, 1.3) + rng.normal(0, rng.uniform(0, 25), mirrored.shape)
        yield np.clip(np.rint(noisy), 0, 255).astype(np.uint8)


def measure(path: Path, rate: int, board: str, optimise: str, seen: Sequence[np.ndarray]) -> FramePlayback:
    """Run one model, print its figures, and return the playback."""
    prepared = prepare(path)
    extra = {**prepared.extra, "decision": replace(DECISION, rate=rate).to_json()}
    with tempfile.TemporaryDirectory() as folder:
        application = generate_camera_app(
            replace(prepared, extra=extra), load_board(board), Path(folder) / "app", optimise=optimise
        )
        playback = play_frames(application, [frame_of(p, application.pictures.plan) for p in seen])
        ram = ram_of(direct_build(application.directory))
    settings = application.settings
    print(
        f"{path.stem} on {board}, --optimise {optimise}: RAM {ram:,} B (stack, arena and all data of the linked ELF), "
        f"room for {settings.room} rows of {settings.row_bytes} B"
    )
    print(
        f"  {playback.equal} of {playback.frames} frames have the scores of the whole frame, "
        f"{sum(a == b for a, b in zip(playback.events, playback.expected, strict=False))} of "
        f"{max(len(playback.events), len(playback.expected))} events are equal"
    )
    print(f"  {playback.lines[-1]}")
    return playback


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.app_camera", description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="pictures (default: %(default)s)")
    parser.add_argument("--board", default="qemu_mps2_an386", help="an emulated board (default: %(default)s)")
    parser.add_argument("--optimise", choices=OPTIMISE_MODES, default="ram")
    options = parser.parse_args(arguments)
    seen = list(pictures(options.count))
    results = []
    for name, rate in MODELS.items():
        path = SHARED / "models" / f"{name}.tflite"
        if not path.is_file():
            print(f"{path} does not exist (set ARENITE_SHARED to the folder that has models/): left out")
            continue
        results.append(measure(path, rate, options.board, options.optimise, seen))
    return int(not results or not all(r.is_equal and r.is_complete for r in results))


if __name__ == "__main__":
    sys.exit(main())
