"""Compare Arenite's loop with plain OpenCV code that uses a real ``VideoCapture``. Both play the same uncompressed
recording of the pictures.

The benchmark has no camera, so ``VideoCapture`` gets a recording. It reads raw YUYV through FFmpeg, which takes longer
than OpenCV's conversion of camera frames. Arenite's loop maps the file into memory. The recording is in the page cache,
so the times contain no disk access.
"""

from __future__ import annotations

import os
import struct
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from arenite.errors import ToolError
from arenite.host.camera.sources.recording import Recording
from benchmarks.camera.arenite_loop import AreniteLoop, LoopTimes
from benchmarks.camera.baseline_loop import BaselineLoop
from benchmarks.camera.cases import Case
from benchmarks.camera.comparison import FRAMES_PER_TURN, WARM_UP_FRAMES, LoopComparison, turns
from benchmarks.camera.interruptions import Interruptions
from benchmarks.camera.pictures import HEIGHT, LARGE_RING, WIDTH, ring

FPS = 30


def write_avi(path: Path, frames: list[np.ndarray]) -> None:
    """Write raw 1280x720 YUYV frames (uint8) to an AVI file. The file has an index at the end, which players
    require."""
    size = frames[0].nbytes
    # The fields of the structures avih and strh. The flag 0x10 means, in avih, that the file has an index.
    main = (1_000_000 // FPS, size * FPS, 0, 0x10, len(frames), 0, 1, size, WIDTH, HEIGHT, 0, 0, 0, 0)
    stream = (0, 0, 0, 0, 1, FPS, 0, len(frames), size, 0, 0, 0, 0, WIDTH, HEIGHT)
    header = _chunk(b"strh", b"vidsYUY2" + struct.pack("<IHHIIIIIIII4H", *stream))
    header += _chunk(
        b"strf", struct.pack("<IiiHH4sIiiII", 40, WIDTH, HEIGHT, 1, 16, b"YUY2", size, 0, 0, 0, 0)
    )
    lists = b"hdrl" + _chunk(b"avih", struct.pack("<14I", *main)) + _chunk(b"LIST", b"strl" + header)
    index = b"".join(
        b"00dc" + struct.pack("<III", 0x10, 4 + k * (size + 8), size) for k in range(len(frames))
    )
    with path.open("wb") as file:
        file.write(
            b"RIFF" + struct.pack("<I", 4 + len(lists) + 8 + 12 + len(frames) * (size + 8) + len(index) + 8)
        )
        file.write(b"AVI " + _chunk(b"LIST", lists))
        file.write(b"LIST" + struct.pack("<I", 4 + len(frames) * (size + 8)) + b"movi")
        for frame in frames:
            file.write(b"00dc" + struct.pack("<I", size))
            file.write(frame.tobytes())
        file.write(_chunk(b"idx1", index))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return kind + struct.pack("<I", len(data)) + data


class _CapturedLoop(BaselineLoop):
    """The baseline loop with a real ``VideoCapture.read``. ``rewind`` opens the file again; its time is not
    measured."""

    def __init__(self, case: Case, path: Path) -> None:
        super().__init__(case)
        self._path = path
        self._capture: Any = None
        # FFmpeg gets one thread, because all contenders use one thread.
        os.environ["OPENCV_FFMPEG_THREADS"] = "1"
        os.environ["OPENCV_FFMPEG_CAPTURE_OPTIONS"] = "threads;1"
        self.rewind()

    def rewind(self) -> None:
        import cv2

        self._capture = cv2.VideoCapture(str(self._path), cv2.CAP_FFMPEG)
        if not self._capture.isOpened():
            raise ToolError("OpenCV's FFmpeg cannot read the recording.", "Install opencv-python-headless.")

    def read(self, yuyv: np.ndarray) -> np.ndarray:
        assert self._capture is not None
        ok, picture = self._capture.read()
        if not ok:
            raise ToolError("OpenCV's VideoCapture stopped in the middle of the recording.", "")
        return picture


def compare_with_recording(case: Case, frames: int) -> LoopComparison:
    """Measure at least ``frames`` frames of both loops after a warm-up, and return their times."""
    ring_frames = [picture.yuyv for picture in ring(LARGE_RING)]
    with tempfile.TemporaryDirectory(prefix="arenite-bench-") as folder:
        path = Path(folder) / "recording.avi"
        write_avi(path, ring_frames)
        naive = _CapturedLoop(case, path)
        with AreniteLoop(case) as ours:
            comparison = LoopComparison(case, ours.times, runtime=ours.runtime.name)
            unused = ring_frames[0]
            for _ in range(WARM_UP_FRAMES // len(ring_frames)):
                for _ in ring_frames:
                    naive.run(unused)
                naive.rewind()
            source = Recording(str(path), loop=True)
            ours.run(WARM_UP_FRAMES, times=LoopTimes(), source=source)
            interruptions = Interruptions()
            for _ in turns(frames):
                naive.rewind()
                naive.run(unused)
                interruptions.begin()
                for _ in range(len(ring_frames) - 1):
                    start = time.perf_counter_ns()
                    naive.run(unused)
                    elapsed = time.perf_counter_ns() - start
                    if not interruptions.happened():
                        comparison.naive.append(elapsed)
                        comparison.naive_invoke.append(naive.invoke_ns)
                ours.run(FRAMES_PER_TURN, source=source)
                if min(len(comparison.naive), len(comparison.ours.frame_ns)) >= frames:
                    break
    return comparison
