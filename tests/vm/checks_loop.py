"""Checks of the command ``arenite camera`` on the virtual camera."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from tests.vm import vivid
from tests.vm.frame_checks import check, wait_for

#: On the emulated processor this model takes a tenth of a second per frame. The first answer takes several seconds.
COMMAND = [sys.executable, "-m", "arenite.host.cli.main", "camera", "--model", "visual_wake_words", "--json"]


def result_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait until the command has ended, and return its JSON output."""
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors[-2000:]
    return json.loads(output)


@check
def the_loop_serves_the_camera() -> Any:
    command = [*COMMAND, "--source", vivid.WEBCAM, "--width", "640", "--height", "360", "--frames", "12"]
    result = result_of(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    frames = result["frames"]
    assert result["schema"] == "arenite.camera/1" and frames["served"] == 12
    assert frames["captured"] >= frames["served"] + frames["dropped"] - 4  # up to 4 were not served
    assert frames["errors"] == frames["reconnects"] == 0
    return {key: result[key] for key in ("frames", "fps", "bytes_written_per_frame", "cold_start_ms")}


@check
def the_loop_continues_when_the_camera_is_unplugged() -> Any:
    command = [*COMMAND, "--source", vivid.WEBCAM, "--width", "640", "--height", "360", "--duration", "15"]
    process = subprocess.Popen(
        [*command, "--output", "/tmp/answers.jsonl"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def answers() -> int:
        try:
            with open("/tmp/answers.jsonl") as file:
                return len(file.readlines())
        except OSError:
            return 0

    end = time.monotonic() + 120
    while answers() < 3 and time.monotonic() < end and process.poll() is None:
        time.sleep(0.1)
    before = answers()
    name = vivid.unplug()
    time.sleep(1.0)
    vivid.plug(name)
    wait_for(vivid.WEBCAM)
    result = result_of(process)
    assert result["frames"]["reconnects"] >= 1, result["frames"]
    assert result["frames"]["served"] > before + 3, (before, result["frames"])
    return {"answers_before": before, "frames": result["frames"], "notes": result.get("notes")}
