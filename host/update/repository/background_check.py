"""Ask a repository for a model from a running program, in a separate process that can be stopped."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.errors import ToolError
from arenite.host.update.repository.errors import RepositoryRefused, RepositoryUnavailable
from arenite.host.update.repository.model_target import ModelTarget
from arenite.processes import Child

WORKER = (sys.executable, "-m", "arenite.host.update.repository.check_worker")
#: A check with a download that takes longer than this number of seconds is stopped.
TIMEOUT_S = 900.0


@dataclass(frozen=True)
class CheckResult:
    """The present version of a model in the repository. ``path`` is None if it was not downloaded, because its SHA-256
    was to be skipped."""

    target: ModelTarget
    path: Path | None


class BackgroundCheck:
    """Checks a repository. ``stop`` ends a check that another thread is waiting for."""

    def __init__(self, location: str, trusted_root: Path, name: str) -> None:
        self._request = {"location": location, "trusted_root": str(trusted_root.absolute()), "name": name}
        self._location = location
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._stopped = False

    def run(self, skip: Iterable[str]) -> CheckResult | None:
        """Return the present version of the model, and download it unless its SHA-256 is in ``skip``. Return None if
        the repository does not have the model, or after ``stop``.

        Raises ``RepositoryRefused`` or ``RepositoryUnavailable``.
        """
        request = json.dumps({**self._request, "skip": list(skip)})
        with self._lock:
            if self._stopped:
                return None
            child = self._child = Child(
                WORKER,
                quick_start=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        try:
            out, errors = child.communicate(request, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise RepositoryUnavailable(
                f"{self._location} did not deliver the model within {TIMEOUT_S:g} s.", "Check the network."
            ) from None
        finally:
            child.kill()
            child.wait()
        if self._stopped:
            return None
        return self._result(out, errors)

    def stop(self) -> None:
        """End the check in progress, and make later checks return None."""
        with self._lock:
            self._stopped = True
            if self._child is not None:
                self._child.kill()

    def _result(self, out: str, errors: str) -> CheckResult | None:
        try:
            answer: dict[str, Any] = json.loads(out)
        except ValueError:
            last = next((line for line in reversed(errors.splitlines()) if line.strip()), "no message")
            raise ToolError(f"The check of {self._location} failed: {last}", "Try again.") from None
        if "failure" in answer:
            kind = RepositoryUnavailable if answer["failure"] == "unavailable" else RepositoryRefused
            raise kind(answer["problem"], answer["hint"])
        if answer["target"] is None:
            return None
        return CheckResult(
            ModelTarget(**answer["target"]), Path(answer["path"]) if "path" in answer else None
        )
