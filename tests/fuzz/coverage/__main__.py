"""Run the coverage-guided fuzz targets, each for some inputs or seconds.

    python -m tests.fuzz.coverage [TARGET ...] [--runs 1000000] [--seconds 120]

C targets need clang with libFuzzer (on Debian the packages clang and libclang-rt-dev), Python targets the package
Atheris. A target whose tool is missing is named and skipped. Inputs that reached new code are kept in .cache/fuzz, and
the next run begins with these inputs. An input that shows an error is saved as .cache/fuzz/TARGET/crash-...; the
exit code is then 1.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.coverage.build_targets import build_fuzzer, write_corpus
from tests.fuzz.coverage.c_sources import C_TARGETS
from tests.fuzz.coverage.corpora import CORPORA
from tests.fuzz.coverage.python_corpora import dictionary
from tests.fuzz.coverage.tools import missing_tool

CACHE = Path(__file__).resolve().parents[3] / ".cache" / "fuzz"
#: Limits for a single input, and the largest input in bytes. The time is not processor time: with the fuzzer's
#: instrumentation, Pillow needs 15 seconds to expand the largest BMP picture, and more on a busy computer.
INPUT_SECONDS, MEMORY_MB, MAX_BYTES = 120, 2048, 4096


@dataclass(frozen=True)
class FuzzResult:
    """The number of inputs that a target received, and the last lines that it printed if it found an error."""

    inputs: int
    error: str = ""


def fuzz(name: str, folder: Path, *, runs: int = 0, seconds: int = 0) -> FuzzResult:
    """Run target ``name`` for ``runs`` inputs or ``seconds``, whichever ends first; 0 is no limit. ``folder`` keeps
    the corpus, and the inputs that show an error."""
    corpus = write_corpus(name, folder / "corpus")
    options = [
        f"-timeout={INPUT_SECONDS}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-max_len={MAX_BYTES}",
        f"-artifact_prefix={folder}/",
        "-print_final_stats=1",
        *([f"-runs={runs}"] if runs else []),
        *([f"-max_total_time={seconds}"] if seconds else []),
    ]
    # The targets write many small files, so their temporary folder is in memory if possible.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory() as build, tempfile.TemporaryDirectory(dir=memory) as temporary:
        if name in C_TARGETS:
            command = [str(build_fuzzer(name, Path(build) / name, Path(build) / "sources"))]
        else:
            command = [sys.executable, "-m", "tests.fuzz.coverage.python_fuzzer", name]
            if words := dictionary(name):
                file = Path(build) / "dictionary"
                file.write_text("".join(f'"{_escaped(word)}"\n' for word in words))
                options.append(f"-dict={file}")
        result = subprocess.run(
            [*command, *options, str(corpus)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, "TMPDIR": temporary},
        )
    # If an error ended the run, the final count is missing; then use the last status line ("#1024 NEW ...").
    final_counts = re.findall(r"number_of_executed_units:\s*(\d+)", result.stdout)
    status_counts = re.findall(r"^#(\d+)\s", result.stdout, re.MULTILINE)
    error = "" if result.returncode == 0 else result.stdout[-4000:] or f"exit code {result.returncode}"
    return FuzzResult(int((final_counts or status_counts or ["0"])[-1]), error)


def _escaped(word: bytes) -> str:
    """Return ``word`` as libFuzzer's dictionaries write it."""
    return "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\x{c:02X}" for c in word)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz.coverage",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"one of {', '.join(CORPORA)} (default: all)"
    )
    parser.add_argument("--runs", type=int, default=0, help="maximum number of inputs per target")
    parser.add_argument("--seconds", type=int, default=0, help="maximum number of seconds per target")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.targets) - set(CORPORA)):
        parser.error(f"there is no target {', '.join(unknown)}; the targets are {', '.join(CORPORA)}")
    failed = False
    for name in arguments.targets or CORPORA:
        missing = missing_tool(name)
        if missing:
            print(f"{name:16s} skipped: {missing}")
            continue
        result = fuzz(
            name,
            CACHE / name,
            runs=arguments.runs,
            seconds=arguments.seconds or (0 if arguments.runs else 120),
        )
        print(f"{name:16s} {result.inputs:9,} inputs, {'an error' if result.error else 'clean'}", flush=True)
        if result.error:
            print(result.error, file=sys.stderr)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
