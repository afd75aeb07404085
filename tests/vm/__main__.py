"""``python -m tests.vm [COMMAND]...``: boot the emulated PC, run the checks and each command in it, print JSON."""

from __future__ import annotations

import json
import sys

from arenite.errors import AreniteError
from tests.vm.machine import python, run


def main(commands: list[str]) -> int:
    try:
        ended = run(python("-m", "tests.vm.guest_checks", *commands))
    except AreniteError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    try:
        results = json.loads(ended.output)
    except ValueError:
        print(ended.console[-8000:], file=sys.stderr)
        print("The emulated PC printed no results.", file=sys.stderr)
        return 3
    print(json.dumps({"seconds": ended.seconds, "results": results}, indent=1))
    if ended.code:
        print(ended.console[-8000:], file=sys.stderr)
    return 0 if ended.code == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
