"""Read decisions of ``choose_runtime`` from the cache. A decision belongs to a file, library versions and a device.

The module imports little, because every start of the loop reads the cache.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
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


def load_choice(path: Path, *, options: Mapping[str, str] | None = None) -> RuntimeChoice | None:
    """Return the stored decision for this file, these options, library versions and this device; None if there is
    none."""
    if not _folder().is_dir():  # the cache is empty, so the model need not be read
        return None
    import json

    from arenite.host.camera.runtimes.runtime_choice import RuntimeChoice

    try:
        choice = RuntimeChoice.from_json(json.loads(choice_path(Path(path), options or {}).read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):  # missing, or written by another version of Arenite
        return None
    return replace(choice, remembered=True)


def _folder() -> Path:
    return cache_directory() / "runtimes"


def choice_path(path: Path, options: Mapping[str, str]) -> Path:
    """Return the path of the file with the decision. Raises ``OSError`` if the model cannot be read."""
    return _folder() / f"{cache_key(path, options)}.json"


def cache_key(path: Path, options: Mapping[str, str]) -> str:
    """Return a key of 32 hexadecimal digits for this file, these options, the library versions and this device.
    Raises ``OSError`` if the file cannot be read."""
    import json

    status = path.stat()
    key = hashlib.sha256(_digest(path, status.st_ino, status.st_size, status.st_mtime_ns))
    key.update(json.dumps([sorted(options.items()), _versions(), _device()]).encode())
    return key.hexdigest()[:32]


@functools.lru_cache(maxsize=8)
def _digest(path: Path, inode: int, size: int, changed_ns: int) -> bytes:
    """Return the SHA-256 of a file. The other arguments are parts of the cache's key, so that a file that
    was changed is read again."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _versions() -> list[str]:
    """Return the versions of the runtimes' packages. They are read from the names of the packages' folders, because
    importlib.metadata takes as long as opening a small model."""
    import importlib.util

    versions = []
    for module in ("ai_edge_litert", "tflite_runtime", "onnxruntime"):
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.origin:
            site = Path(spec.origin).parent.parent
            versions += sorted(folder.name for folder in site.glob(f"{module}*.dist-info"))
    return versions


def _device() -> list[str]:
    """Return texts that identify what measurements depend on: the machine, its processor and the number of cores that
    this process may use."""
    facts = [platform.machine(), sys.platform, str(candidate_thread_counts()[-1])]
    for file in ("/proc/device-tree/model", "/proc/cpuinfo", "/proc/driver/nvidia/version"):
        with contextlib.suppress(OSError):
            text = Path(file).read_text("utf-8", "replace")
            lines = [
                line for line in text.splitlines() if not line.startswith(("cpu MHz", "bogomips", "BogoMIPS"))
            ]
            facts.append("\n".join(dict.fromkeys(lines)))
    return facts


def candidate_thread_counts() -> list[int]:
    """Return 1, 2, 4, … up to the number of processors that this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    counts = [1]
    while counts[-1] * 2 <= usable:
        counts.append(counts[-1] * 2)
    return counts
