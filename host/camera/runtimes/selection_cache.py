"""Decisions of ``choose``, kept in the cache: for a file, these library versions and this device.

Light, because every start of the loop asks.
"""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from arenite.files import cache_directory

if TYPE_CHECKING:
    from arenite.host.camera.runtimes.runtime_choice import RuntimeChoice


def remembered(path: Path, *, options: Mapping[str, str] | None = None) -> RuntimeChoice | None:
    """The decision of an earlier ``choose``; None when there is none for this file, these versions and this device."""
    if not _folder().is_dir():  # nothing was ever chosen here: do not even read the model
        return None
    import json

    from arenite.host.camera.runtimes.runtime_choice import RuntimeChoice

    try:
        made = RuntimeChoice.from_json(json.loads(cache_path(Path(path), dict(options or {})).read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):  # missing, or of another version of ours
        return None
    return replace(made, remembered=True)


def _folder() -> Path:
    return cache_directory() / "runtimes"


def cache_path(path: Path, options: dict[str, str]) -> Path:
    """Raises ``OSError`` when the model cannot be read."""
    import hashlib
    import json

    key = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            key.update(block)
    key.update(json.dumps([sorted(options.items()), _versions(), _device()]).encode())
    return _folder() / f"{key.hexdigest()[:32]}.json"


def _versions() -> list[str]:
    """Of the runtimes' packages, by the names of their folders: importlib.metadata costs as much as a small model."""
    import importlib.util

    made = []
    for module in ("ai_edge_litert", "tflite_runtime", "onnxruntime"):
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.origin:
            site = Path(spec.origin).parent.parent
            made += sorted(each.name for each in site.glob(f"{module}*.dist-info"))
    return made


def _device() -> list[str]:
    """What makes measurements comparable: the machine, its processor and how many cores this process may use."""
    made = [platform.machine(), sys.platform, str(candidate_thread_counts()[-1])]
    for file in ("/proc/device-tree/model", "/proc/cpuinfo", "/proc/driver/nvidia/version"):
        with contextlib.suppress(OSError):
            text = Path(file).read_text("utf-8", "replace")
            lines = [
                line for line in text.splitlines() if not line.startswith(("cpu MHz", "bogomips", "BogoMIPS"))
            ]
            made.append("\n".join(dict.fromkeys(lines)))
    return made


def candidate_thread_counts() -> list[int]:
    """1, 2, 4, … up to the processors that this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    counts = [1]
    while counts[-1] * 2 <= usable:
        counts.append(counts[-1] * 2)
    return counts
