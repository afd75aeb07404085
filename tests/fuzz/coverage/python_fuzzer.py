"""Run one Python fuzz target with Atheris.

python -m tests.fuzz.coverage.python_fuzzer TARGET [OPTION OF LIBFUZZER ...] [CORPUS FOLDER ...]
"""

from __future__ import annotations

import sys

import atheris

from tests.fuzz.coverage.python_targets import PYTHON_TARGETS


def fuzz(name: str) -> None:
    """Run target ``name`` with the command line's options. Does not return."""
    with atheris.instrument_imports(include=["arenite"]):  # pyright: ignore[reportAttributeAccessIssue]
        run = PYTHON_TARGETS[name]()
    atheris.Setup(sys.argv, run, internal_libfuzzer=True)
    atheris.Fuzz()


def main() -> None:
    name = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if name not in PYTHON_TARGETS:
        sys.exit(f"Choose a target: {', '.join(PYTHON_TARGETS)}.")
    fuzz(name)


if __name__ == "__main__":
    main()
