"""Build the fuzz targets of the C code.

    python -m tests.fuzz.coverage.build_targets FOLDER [TARGET ...]

builds each target as ``FOLDER/TARGET``, and its seed corpus as ``FOLDER/TARGET_seed_corpus.zip``. The environment
variables are those of OSS-Fuzz: ``CC`` (default clang), ``CFLAGS`` (default: AddressSanitizer and
UndefinedBehaviorSanitizer) and ``LIB_FUZZING_ENGINE`` (default ``-fsanitize=fuzzer``).
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.coverage.c_sources import C_TARGETS, HERE, Sources
from tests.fuzz.coverage.corpora import CORPORA

ADDRESS_AND_UNDEFINED = ("-fsanitize=address", "-fsanitize=undefined", "-fno-sanitize-recover=all")
MEMORY = ("-fsanitize=memory", "-fsanitize-memory-track-origins", "-fno-sanitize-recover=all")
FUZZER = "-fsanitize=fuzzer"


def compile_program(sources: Sources, program: Path, compiler: str, flags: Sequence[str]) -> Path:
    """Compile and link the sources as ``program``, and return its path."""
    command = [compiler, "-std=gnu99", "-O1", "-g", "-fno-strict-overflow", *flags]
    command += [*(f"-D{macro}" for macro in sources.macros), *(f"-I{folder}" for folder in sources.includes)]
    result = subprocess.run(
        [*command, *map(str, sources.files), "-o", str(program)], capture_output=True, text=True
    )
    if result.returncode:
        raise RuntimeError(f"{compiler} cannot build {program.name}: {result.stderr[:2000]}")
    return program


def build_fuzzer(name: str, program: Path, folder: Path) -> Path:
    """Build target ``name`` for libFuzzer, with the compiler and flags of the environment, and return its path."""
    flags = shlex.split(os.environ.get("CFLAGS", " ".join(ADDRESS_AND_UNDEFINED)))
    engine = shlex.split(os.environ.get("LIB_FUZZING_ENGINE", FUZZER))
    if engine == [FUZZER]:  # a flag of the compiler, which must also come before the sources
        flags.append(FUZZER)
        engine = []
    return compile_program(C_TARGETS[name](folder), program, os.environ.get("CC", "clang"), [*flags, *engine])


def build_replay(name: str, program: Path, folder: Path, compiler: str = "gcc") -> Path:
    """Build target ``name`` with the main program of ``replay_main.c`` and the sanitizers of gcc, and return its
    path."""
    sources = C_TARGETS[name](folder)
    files = (*sources.files, HERE / "replay_main.c")
    return compile_program(
        Sources(files, sources.includes, sources.macros), program, compiler, ADDRESS_AND_UNDEFINED
    )


def write_corpus(name: str, folder: Path) -> Path:
    """Write the seed inputs of target ``name`` into ``folder``, and return ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for k, data in enumerate(CORPORA[name]()):
        (folder / f"seed-{k:03}").write_bytes(data)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz.coverage.build_targets", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("targets", nargs="*", default=sorted(C_TARGETS))
    parser.add_argument("--corpus-only", action="store_true", help="write only the seed corpora")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.targets:
        if not arguments.corpus_only:
            with tempfile.TemporaryDirectory() as generated:
                build_fuzzer(name, arguments.folder / name, Path(generated))
        with zipfile.ZipFile(arguments.folder / f"{name}_seed_corpus.zip", "w") as archive:
            for k, data in enumerate(CORPORA[name]()):
                archive.writestr(f"seed-{k:03}", data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
