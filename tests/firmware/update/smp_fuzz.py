"""Send random and changed frames to the update protocol, compiled with sanitizers.

``python -m tests.firmware.update.smp_fuzz 1000000`` prints how many frames were sent and what they did. A second
number is the seed.
"""

from __future__ import annotations

import subprocess
import sys

from tests.firmware.update.smp_device import build


def run(frames: int, seed: int = 1) -> str:
    """Send frames. Return what the program prints. Raises ``AssertionError`` with its output if it finds a mistake."""
    command = [str(build("smp_fuzz")), str(frames), str(seed)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.strip()


if __name__ == "__main__":
    print(run(*map(int, sys.argv[1:])))
