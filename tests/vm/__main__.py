"""Boot the emulated PC, run the checks and each COMMAND in it, and print JSON: ``python -m tests.vm [COMMAND]...``."""

from __future__ import annotations

import json
import sys

from arenite.errors import AreniteError
from tests.vm.machine import python, run


def main(commands: list[str]) -> int:
    try:
        result = run(python("-m", "tests.vm.guest_checks", *commands))
    except AreniteError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    try:
        results = json.loads(result.output)
    except ValueError:
        print(result.console[-8000:], file=sys.stderr)
        print("The emulated PC printed no results.", file=sys.stderr)
        return 3
    print(json.dumps({"seconds": result.seconds, "results": results}, indent=1))
    if result.code:
        print(result.console[-8000:], file=sys.stderr)
    return 0 if result.code == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
