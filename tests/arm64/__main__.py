"""Test the camera loop on aarch64 under qemu-user: ``python -m tests.arm64``, or ``make test-arm64``.

This program builds the project's wheel for aarch64 and runs it with the package index's wheels and Debian's Python. It
compares the C code of the preprocessing with NumPy, and LiteRT on aarch64 with LiteRT on this computer, and it runs
``arenite camera``. It prints one JSON object. The exit code is 0 if everything agrees, 1 if something differs, and 3 if
a program could not be run. An emulator has no meaningful speed, so nothing is timed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arenite.errors import AreniteError, ToolError
from arenite.models import zoo
from benchmarks.camera.cases import SHARED
from benchmarks.camera.pictures import pictures
from tests.arm64.arm64_root import run
from tests.arm64.comparison import Check, Run, compare_feeds, compare_models
from tests.arm64.machine import Machine, machine

GUEST_CHECKS = Path(__file__).parent / "guest_checks.py"
#: Every third frame of the camera benchmark is used.
FRAME_STEP = 3
#: The number of frames that ``arenite camera`` processes.
CAMERA_FRAMES = 8


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.arm64", description=__doc__)
    parser.add_argument("--output", type=Path, help="Also write the result to this file.")
    options = parser.parse_args(arguments)
    try:
        result = run_checks()
    except AreniteError as error:
        print(error, file=sys.stderr)
        return 3
    text = json.dumps(result, indent=1)
    if options.output is not None:
        options.output.write_text(text + "\n")
    print(text)
    return 0 if result["passed"] else 1


def run_checks() -> dict[str, Any]:
    """Run all checks and return the result. Raises ``AreniteError`` if a required program is missing."""
    start = time.monotonic()
    with machine() as arm, tempfile.TemporaryDirectory(prefix="arenite-arm64-") as folder:
        out = Path(folder)
        frames = np.stack([picture.yuyv for picture in pictures()[::FRAME_STEP]])
        np.savez(out / "frames.npz", frames=frames)
        arguments = [str(out / "frames.npz"), *map(str, model_files())]
        arm.python(str(GUEST_CHECKS), str(out / "arm.npz"), *arguments)
        command = [sys.executable, str(GUEST_CHECKS), str(out / "numpy.npz"), *arguments]
        run(command, {"ARENITE_PROCESSING": "numpy"})
        arm_run, reference = Run(out / "arm.npz"), Run(out / "numpy.npz")
        checks = [compare_feeds(arm_run, reference), *compare_models(arm_run, reference), check_camera(arm)]
        return {
            "schema": "arenite.test-arm64/1",
            "passed": not any(check.failed for check in checks),
            "machine": {key: arm_run.record[key] for key in ("machine", "python", "numpy")}
            | {"wheel": arm.wheel},
            "checks": [check.to_json() for check in checks],
            "seconds": arm.seconds | {"total": round(time.monotonic() - start, 1)},
        }


def model_files() -> list[Path]:
    """Return the paths of the models that are compared: a classifier of people and a face detector."""
    development_model = SHARED / "vww01_int8.tflite"
    return [
        development_model if development_model.is_file() else zoo.fetch("visual_wake_words"),
        zoo.fetch("face_detection_short_range"),
    ]


def check_camera(arm: Machine) -> Check:
    """Run the command ``arenite camera`` on generated frames."""
    check = Check("camera")
    model = str(zoo.fetch("face_detection_short_range"))
    command = ["-m", "arenite.host.cli.main", "camera", "--source", "synthetic", "--model", model]
    try:
        record = json.loads(arm.python(*command, "--frames", str(CAMERA_FRAMES), "--json"))
    except (ToolError, ValueError, subprocess.SubprocessError) as error:
        check.require(False, str(error))
        return check
    check.require(record.get("schema") == "arenite.camera/1", f"The schema is {record.get('schema')}.")
    frames = record.get("frames", {})
    check.require(frames.get("served") == CAMERA_FRAMES, f"Frames: {frames}.")
    runtime = record.get("model", {}).get("runtime", "")
    check.require(runtime.startswith("litert"), f"The runtime is {runtime!r}.")
    check.facts |= {"frames": frames, "runtime": runtime}
    return check


if __name__ == "__main__":
    raise SystemExit(main())
