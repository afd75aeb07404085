"""Run MediaPipe Tasks' FaceDetector in its own Python environment and process. One request measures one round of
frames."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.importers.environments import Environment, EnvironmentSpec, make
from arenite.errors import ToolError
from benchmarks.camera.pictures import HEIGHT, WIDTH, ring

#: MediaPipe's environment, with its newest release. This release can be installed on Python 3.11 and accepts a model as
#: bytes.
SPEC = EnvironmentSpec(
    "mediapipe",
    modules=("mediapipe",),
    requires=("mediapipe==1.2.2",),
    lock=Path(__file__).with_name("mediapipe.txt"),
    disk_mb=600,
)
CHILD = Path(__file__).parent / "children" / "face_detector.py"


@dataclass(frozen=True)
class DetectorRound:
    """The result of a round.

    ``ns`` has the time of each frame in nanoseconds. If MediaPipe's threads may use all processors, interrupted frames
    are left out. ``faces`` has the best face of each picture as [left, top, right, bottom, score], or None."""

    ns: list[int]
    faces: list[list[float] | None]


class FaceDetector:
    """MediaPipe's face detector, as a context manager. The environment (about 500 MB) is created on first use. Raises
    ``ToolError`` if that fails, or if the process fails."""

    def __init__(self, model: Path) -> None:
        self.model = model
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> FaceDetector:
        self._environment: Environment = make(SPEC)
        self._folder = tempfile.TemporaryDirectory(prefix="arenite-bench-")
        folder = Path(self._folder.name)
        ring_frames = ring()
        np.save(folder / "rgb.npy", np.stack([picture.rgb for picture in ring_frames]))
        np.save(
            folder / "yuyv.npy", np.stack([picture.yuyv.reshape(HEIGHT, WIDTH, 2) for picture in ring_frames])
        )
        self._log = folder / "stderr.txt"
        arguments = (str(self.model), str(folder / "rgb.npy"), str(folder / "yuyv.npy"))
        self._process = self._environment.start(CHILD, *arguments, log=self._log, pipe_stdout=True)
        self.version = self._reply()["version"]
        return self

    def round(self, mode: str, input_format: str, processors: int, frames: int) -> DetectorRound:
        """Measure ``frames`` frames.

        Args:
            mode: MediaPipe's running mode, "image" or "video".
            input_format: the format of the frames, "rgb" or "yuyv".
            processors: the number of processors for MediaPipe's threads; 0: all.
            frames: the number of frames.
        """
        assert self._process is not None and self._process.stdin is not None
        request = json.dumps(
            {"mode": mode, "input": input_format, "frames": frames, "processors": processors}
        )
        self._process.stdin.write(request.encode() + b"\n")
        self._process.stdin.flush()
        reply = self._reply()
        return DetectorRound(reply["ns"], reply["found"])

    def _reply(self) -> dict[str, Any]:
        assert self._process is not None and self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._environment.failure(CHILD, self._process.wait(), self._log)
        try:
            return json.loads(line)
        except ValueError as error:
            raise ToolError(f"{CHILD.name} printed {line[:80]!r}, which is not JSON.") from error

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            assert self._process.stdin is not None and self._process.stdout is not None
            self._process.stdin.close()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process.stdout.close()
        self._folder.cleanup()
