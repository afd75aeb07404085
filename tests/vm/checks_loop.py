"""The whole loop, from the command line, on the virtual camera."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from tests.vm import vivid
from tests.vm.frame_checks import check, wait_for

#: An emulated processor takes a tenth of a second for this model, and several for the first answer.
COMMAND = [sys.executable, "-m", "arenite.host.cli.main", "camera", "--model", "visual_wake_words", "--json"]


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    said, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors[-2000:]
    return json.loads(said)


@check
def the_loop_serves_the_camera() -> Any:
    command = [*COMMAND, "--source", vivid.WEBCAM, "--width", "640", "--height", "360", "--frames", "12"]
    made = ended(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    frames = made["frames"]
    assert made["schema"] == "arenite.camera/1" and frames["served"] == 12
    assert frames["captured"] >= frames["served"] + frames["dropped"] - 4  # those read before the end
    assert frames["errors"] == frames["reconnects"] == 0
    return {key: made[key] for key in ("frames", "fps", "bytes_written_per_frame", "cold_start_ms")}


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
    made = ended(process)
    assert made["frames"]["reconnects"] >= 1, made["frames"]
    assert made["frames"]["served"] > before + 3, (before, made["frames"])
    return {"answers_before": before, "frames": made["frames"], "notes": made.get("notes")}
