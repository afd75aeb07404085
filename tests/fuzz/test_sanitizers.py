"""All C code that runs on devices, built for this computer with the compiler's sanitizers.

AddressSanitizer finds accesses outside of a memory block, UndefinedBehaviorSanitizer arithmetic that C does not define,
and MemorySanitizer values that nothing has written. Generated models of every operator must still give LiteRT's bytes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.comparison import lower
from tests.fuzz.coverage.build_targets import (
    ADDRESS_AND_UNDEFINED,
    MEMORY,
    build_replay,
    compile_program,
    write_corpus,
)
from tests.fuzz.coverage.c_sources import C_TARGETS, HERE, Sources, operator_models
from tests.fuzz.coverage.sanitized_models import compare_sanitized
from tests.fuzz.coverage.tools import clang_has

ROOT = Path(__file__).resolve().parents[2]
#: The tests of the C code for pre- and postprocessing on this computer.
PROCESSING_TESTS = (
    "tests/converters/processing/native/test_compiled_preprocessing.py",
    "tests/converters/processing/post/test_postprocessing.py",
)

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
needs_memory_sanitizer = pytest.mark.skipif(
    not clang_has("memory"), reason="needs clang with MemorySanitizer (packages clang and libclang-rt-dev)"
)


def replay(name: str, mutations: int, folder: Path) -> None:
    """Run the seeds of a fuzz target and random mutations of them, with the sanitizers of gcc."""
    program = build_replay(name, folder / name, folder / "sources")
    seeds = sorted(write_corpus(name, folder / "corpus").iterdir())
    result = subprocess.run(
        [program, str(mutations), *seeds], capture_output=True, text=True, errors="replace", timeout=600
    )
    assert result.returncode == 0, result.stderr[:6000]


@pytest.mark.parametrize("name", ["agent", "monitor"])
def test_the_firmware_survives_a_hostile_host(name: str, tmp_path: Path) -> None:
    replay(name, 3000, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["agent_stream", "engine", "processing"])
def test_kernels_and_processing_survive_hostile_values(name: str, tmp_path: Path) -> None:
    replay(name, 20_000, tmp_path)


def _compare_operators(folder: Path, compiler: str, flags: tuple[str, ...], per_operator: int) -> None:
    """Check that random models of every operator give LiteRT's bytes and no finding of a sanitizer."""
    models = [
        (model, lower(model, f"m{k}_", target))
        for k, (model, target) in enumerate(operator_models(per_operator, seed=14))
    ]
    assert compare_sanitized(models, folder, compiler, flags) == []


@pytest.mark.slow
def test_operators_access_only_their_own_memory(tmp_path: Path) -> None:
    _compare_operators(tmp_path, "gcc", ADDRESS_AND_UNDEFINED, 4)


@pytest.mark.slow
@needs_memory_sanitizer
def test_operators_read_only_what_was_written(tmp_path: Path) -> None:
    _compare_operators(tmp_path, "clang", MEMORY, 2)


@pytest.mark.slow
@needs_memory_sanitizer
@pytest.mark.parametrize("name", sorted(C_TARGETS))
def test_targets_read_only_what_was_written(name: str, tmp_path: Path) -> None:
    sources = C_TARGETS[name](tmp_path / "sources")
    files = (*sources.files, HERE / "replay_main.c")
    program = compile_program(
        Sources(files, sources.includes, sources.macros), tmp_path / name, "clang", MEMORY
    )
    seeds = sorted(write_corpus(name, tmp_path / "corpus").iterdir())
    result = subprocess.run(
        [program, "5000", *seeds], capture_output=True, text=True, errors="replace", timeout=600
    )
    assert result.returncode == 0, result.stderr[:6000]


@pytest.mark.slow
def test_the_processing_library_has_no_error_that_sanitizers_find(tmp_path: Path) -> None:
    """The tests of the processing library pass with a library that was compiled with sanitizers. AddressSanitizer also
    checks the borders of NumPy's arrays, because it replaces malloc."""
    compiler = tmp_path / "cc"
    compiler.write_text(f'#!/bin/sh\nexec gcc {" ".join(ADDRESS_AND_UNDEFINED)} "$@"\n')
    compiler.chmod(0o755)
    libraries = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    environment = {
        **os.environ,
        "CC": str(compiler),
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",
        "ARENITE_CACHE": str(tmp_path / "cache"),
        "ARENITE_PROCESSING": "compile",  # not the library that was built at installation
    }
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *PROCESSING_TESTS]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=900)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    libraries_built = list((tmp_path / "cache").rglob("*.so"))
    assert libraries_built, "the tests used another library"


@pytest.mark.parametrize(
    ("source", "finding"),
    [
        (
            "#include <stdlib.h>\nint main(int n, char **v) { (void)v; return ((char *)malloc(4))[n + 3]; }",
            "overflow",
        ),
        ("int main(int n, char **v) { (void)v; return 2147483646 + n + n; }", "signed integer"),
    ],
)
def test_the_sanitizers_find_an_error(source: str, finding: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.c").write_text(source)
    program = tmp_path / "wrong"
    subprocess.run(["gcc", "-O0", *ADDRESS_AND_UNDEFINED, tmp_path / "wrong.c", "-o", program], check=True)
    result = subprocess.run([program], capture_output=True, text=True)
    assert result.returncode != 0 and finding in result.stderr
