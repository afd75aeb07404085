"""Run a model once in a separate process before its first use on this device.

A file can be well-formed and still crash a runtime, for example if an option of an operator does not match a shape. In
a trial run, such a crash ends only the separate process. The success of a trial is stored for the file, the runtime,
the library versions and the device, so that later starts only hash the file. Models of the zoo have a known hash and
need no trial.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from arenite.errors import ModelError
from arenite.files import cache_directory, replace_file
from arenite.host.camera.runtimes.probe_client import WORKER
from arenite.host.camera.runtimes.selection_cache import cache_key
from arenite.processes import run

#: A trial that takes longer than this number of seconds has failed. Loading a model and one inference take less than a
#: second on a phone.
TIMEOUT_S = 60.0


def require_trial_run(path: Path, name: str, threads: int, options: Mapping[str, str]) -> None:
    """Run the model at ``path`` on the runtime ``name`` in a separate process, unless that has succeeded before.

    An error that the runtime reports is not raised here: the caller gets it when it opens the model itself.

    Raises:
        ModelError: the model crashed the runtime, or gave no answer within ``TIMEOUT_S``.
    """
    if path.resolve().is_relative_to((cache_directory() / "zoo").resolve()):
        return
    try:
        marker = cache_directory() / "trials" / cache_key(path, {**options, "runtime": name})
    except OSError:
        return  # the caller reports a file that cannot be read
    if marker.exists():
        return
    request = {
        "path": str(path.resolve()),
        "name": name,
        "threads": threads,
        "options": dict(options),
        "trial": True,
    }
    try:
        child = run(
            WORKER,
            input=json.dumps(request) + "\n",
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        raise ModelError(
            f"{path} gave no answer within {TIMEOUT_S:g} s in a trial run on {name}.",
            "Use a smaller model or another runtime: --runtime.",
        ) from None
    if child.returncode < 0:
        raise ModelError(
            f"{path} crashed {name} in a trial run ({signal.Signals(-child.returncode).name}).",
            "The file is damaged or not made for this runtime: convert or download it again, or use --runtime to choose"
            " another runtime.",
        )
    if child.returncode == 0 and '"ran"' in child.stdout:
        with contextlib.suppress(OSError):  # without a cache, every start makes a trial
            replace_file(marker, b"", durable=False)
