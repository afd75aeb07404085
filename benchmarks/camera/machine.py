"""Describe the machine that a benchmark ran on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any


def describe_machine(load: float) -> dict[str, Any]:
    """Return the processor, the system and the versions of packages. ``load`` is the load before the run."""
    processor = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    packages = ("numpy", "ai-edge-litert", "opencv-python-headless", "pillow")
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: version(name) for name in packages},
        "load_before": round(load, 2),
    }
