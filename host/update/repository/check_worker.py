"""Check a repository in a process of its own, so that downloads and signatures do not disturb a running loop.

The process reads one JSON object from standard input and writes one to standard output (``background_check.py``).
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from arenite.errors import AreniteError
from arenite.host.update.repository.client import ModelRepository
from arenite.host.update.repository.errors import RepositoryUnavailable

#: The nice value of the process: other work goes first.
NICE = 10


def check(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request."""
    try:
        repository = ModelRepository(request["location"], Path(request["trusted_root"]))
        target = repository.find(request["name"])
        if target is None:
            return {"target": None}
        answer: dict[str, Any] = {"target": target.to_json()}
        if target.sha256 not in request["skip"]:
            answer["path"] = str(repository.download(target))
        return answer
    except AreniteError as error:
        kind = "unavailable" if isinstance(error, RepositoryUnavailable) else "refused"
        return {"failure": kind, "problem": error.problem, "hint": error.hint}


def main() -> None:
    with suppress(OSError, AttributeError):
        os.nice(NICE)
    print(json.dumps(check(json.loads(sys.stdin.read()))), flush=True)


if __name__ == "__main__":
    main()
