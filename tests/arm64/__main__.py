"""The camera loop on aarch64 under qemu-user: ``python -m tests.arm64``, or ``make test-arm64``.

Builds the project's wheel for aarch64, and runs it with the index's wheels and Debian's Python: the C code of
preprocessing against NumPy, LiteRT against LiteRT here, and ``arenite camera``. The result is one JSON object; exit
code 0: all holds, 1: something differs, 3: it could not be run. No figure of speed comes from here: it is an emulator.
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
from tests.arm64.comparison import Check, Run, feeds, models
from tests.arm64.machine import Machine, machine

INSIDE = Path(__file__).parent / "guest_checks.py"
#: Every so many of the benchmark's frames.
EVERY = 3
CAMERA_FRAMES = 8


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.arm64", description=__doc__)
    parser.add_argument("--output", type=Path, help="also write the result into this file")
    options = parser.parse_args(arguments)
    try:
        result = checked()
    except AreniteError as error:
        print(error, file=sys.stderr)
        return 3
    text = json.dumps(result, indent=1)
    if options.output is not None:
        options.output.write_text(text + "\n")
    print(text)
    return 0 if result["passed"] else 1


def checked() -> dict[str, Any]:
    """All checks. Raises ``AreniteError`` when something that is needed is missing."""
    begun = time.monotonic()
    with machine() as arm, tempfile.TemporaryDirectory(prefix="arenite-arm64-") as folder:
        here = Path(folder)
        np.savez(here / "frames.npz", frames=np.stack([picture.yuyv for picture in pictures()[::EVERY]]))
        arguments = [str(here / "frames.npz"), *map(str, model_files())]
        arm.python(str(INSIDE), str(here / "arm.npz"), *arguments)
        inside = [sys.executable, str(INSIDE)]
        run([*inside, str(here / "numpy.npz"), *arguments], {"ARENITE_PROCESSING": "numpy"})
        found, reference = Run(here / "arm.npz"), Run(here / "numpy.npz")
        checks = [feeds(found, reference), *models(found, reference), camera(arm)]
        return {
            "schema": "arenite.test-arm64/1",
            "passed": not any(check.failed for check in checks),
            "machine": {key: found.record[key] for key in ("machine", "python", "numpy")}
            | {"wheel": arm.wheel},
            "checks": [check.to_json() for check in checks],
            "seconds": arm.seconds | {"total": round(time.monotonic() - begun, 1)},
        }


def model_files() -> list[Path]:
    own = SHARED / "vww01_int8.tflite"
    return [
        own if own.is_file() else zoo.fetch("visual_wake_words"),
        zoo.fetch("face_detection_short_range"),
    ]


def camera(arm: Machine) -> Check:
    """``arenite camera`` from the command line, on generated frames."""
    check = Check("camera")
    model = str(zoo.fetch("face_detection_short_range"))
    command = ["-m", "arenite.host.cli.main", "camera", "--source", "synthetic", "--model", model]
    try:
        record = json.loads(arm.python(*command, "--frames", str(CAMERA_FRAMES), "--json"))
    except (ToolError, ValueError, subprocess.SubprocessError) as error:
        check.need(False, str(error))
        return check
    check.need(record.get("schema") == "arenite.camera/1", f"The schema is {record.get('schema')}.")
    frames = record.get("frames", {})
    check.need(frames.get("served") == CAMERA_FRAMES, f"Frames: {frames}.")
    runtime = record.get("model", {}).get("runtime", "")
    check.need(runtime.startswith("litert"), f"The runtime is {runtime!r}.")
    check.facts |= {"frames": frames, "runtime": runtime}
    return check


if __name__ == "__main__":
    raise SystemExit(main())
