"""Find the tools of coverage-guided fuzzing."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from functools import cache

from tests.fuzz.coverage.c_sources import C_TARGETS

#: A program for each kind of sanitizer, to try whether clang can link it.
_PROGRAMS = {
    "fuzzer": "int LLVMFuzzerTestOneInput(const char *data, unsigned long size) { return data && size > 9; }",
    "memory": "int main(void) { return 0; }",
}


@cache
def clang_has(sanitizer: str) -> bool:
    """Return whether clang is installed with the library of ``-fsanitize=SANITIZER``: "fuzzer" or "memory"."""
    if shutil.which("clang") is None:
        return False
    command = ["clang", f"-fsanitize={sanitizer}", "-x", "c", "-", "-o", "/dev/null"]
    return subprocess.run(command, input=_PROGRAMS[sanitizer].encode(), capture_output=True).returncode == 0


def missing_tool(target: str) -> str:
    """Return a sentence about the tool that ``target`` lacks, or "" if it can run."""
    if target in C_TARGETS:
        return (
            ""
            if clang_has("fuzzer")
            else "It needs clang with libFuzzer (packages clang and libclang-rt-dev)."
        )
    return "" if importlib.util.find_spec("atheris") else "It needs Atheris (pip install atheris)."
