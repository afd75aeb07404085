"""Run `arenite update emulate`."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.firmware.update.image_check import library_or_skip


def skip_without_tools(algorithm: str) -> None:
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    library_or_skip(algorithm)


@contextmanager
def emulated(*arguments: object) -> Iterator[dict[str, Any]]:
    """Run `arenite update emulate`, yield the object that it prints, and stop it as a service manager does."""
    command = [
        sys.executable,
        "-m",
        "arenite.host.cli.main",
        "update",
        "emulate",
        *map(str, arguments),
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            line = process.stdout.readline()
            assert line, f"the command ended with {process.wait()}"
            text += line
        try:
            yield json.loads(text)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
