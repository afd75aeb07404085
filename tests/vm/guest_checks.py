"""Run the checks inside the emulated PC.

``python -m tests.vm.guest_checks [COMMAND]...`` runs the checks, then each command in a shell, and writes one JSON
object to /dev/ttyS1.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import traceback
from typing import Any

from arenite.errors import AreniteError
from tests.vm import (
    checks_boards,
    checks_formats,
    checks_loop,
    checks_reconnect,
    checks_stream,
    checks_usb,
    vivid,
)
from tests.vm.frame_checks import CHECKS, wait_for

__all__ = [
    "CHECKS",
    "checks_boards",
    "checks_formats",
    "checks_loop",
    "checks_reconnect",
    "checks_stream",
    "checks_usb",
]


def main(commands: list[str]) -> int:
    """Run the checks and the commands. ``-k WORD,WORD`` before the commands runs only checks whose names contain one of
    the words; ``-k -`` runs no checks."""
    words = ""
    if commands[:1] == ["-k"]:
        words, commands = commands[1], commands[2:]
    vivid.load("vivid", vivid.OPTIONS)
    wait_for(vivid.HDMI)
    for path in (vivid.WEBCAM, vivid.PLANES, vivid.HDMI):
        vivid.set_control(path, "OSD Text Mode", 2)  # no text in the picture
    results = []
    for function in (each for each in CHECKS if any(w in each.__name__ for w in words.split(","))):
        started = time.monotonic()
        row: dict[str, Any] = {"name": function.__name__}
        try:
            row |= {"ok": True, "detail": function()}
        except (Exception, AreniteError) as error:
            row |= {"ok": False, "detail": f"{error!r}", "trace": traceback.format_exc()}
        row["seconds"] = round(time.monotonic() - started, 2)
        results.append(row)
        print("vm:", row["name"], "ok" if row["ok"] else row.get("trace"), flush=True)
    for command in commands:
        started = time.monotonic()
        done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True)
        results.append(
            {"name": command, "ok": done.returncode == 0, "code": done.returncode,
             "detail": done.stdout[-20000:], "errors": done.stderr[-4000:],
             "seconds": round(time.monotonic() - started, 2)}
        )  # fmt: skip
    with open("/dev/ttyS1", "w") as file:
        file.write(json.dumps(results) + "\n")
    return 0 if all(row["ok"] for row in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
