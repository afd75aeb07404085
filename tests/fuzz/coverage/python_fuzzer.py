"""Run one Python fuzz target with Atheris.

python -m tests.fuzz.coverage.python_fuzzer TARGET [OPTION OF LIBFUZZER ...] [CORPUS FOLDER ...]
"""

from __future__ import annotations

import gc
import inspect
import sys

import atheris
import numpy.lib.format

from tests.fuzz.coverage.python_targets import PYTHON_TARGETS

#: The packages of other projects whose code parses most of a target's input. An input that runs new code there is kept
#: as well. Otherwise the fuzzer does not learn what the parser accepts, and hardly an input gets past it.
PARSERS = {
    "model_metadata": ["zipfile"],
    "model_sources": ["zipfile"],
    "array_files": ["zipfile"],
    "pictures": ["PIL"],
    "sounds": ["wave"],
    "http_requests": ["h11"],
    "page_requests": ["h11"],
}


def fuzz(name: str) -> None:
    """Run target ``name`` with the command line's options. Does not return."""
    packages = ["arenite", *PARSERS.get(name, [])]
    with atheris.instrument_imports(include=packages):  # pyright: ignore[reportAttributeAccessIssue]
        from tests.fuzz.coverage.python_corpora import PYTHON_CORPORA

        run = PYTHON_TARGETS[name]()
        # Some modules are imported when they are first used. This must happen here, or they have no instrumentation.
        for data in PYTHON_CORPORA[name]():
            run(data)
    if name == "array_files":
        # All of NumPy would take a minute to instrument.
        module = inspect.getmodule(numpy.lib.format.read_array_header_1_0)
        for _, function in inspect.getmembers(module, inspect.isfunction):
            atheris.instrument_func(function)  # pyright: ignore[reportAttributeAccessIssue]
    # The objects of the modules stay. The garbage collector need not look at them after every few inputs.
    gc.collect()
    gc.freeze()
    atheris.Setup(sys.argv, run, internal_libfuzzer=True)
    atheris.Fuzz()


def main() -> None:
    name = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if name not in PYTHON_TARGETS:
        sys.exit(f"Choose a target: {', '.join(PYTHON_TARGETS)}.")
    fuzz(name)


if __name__ == "__main__":
    main()
