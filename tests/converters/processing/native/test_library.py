"""The compiled library of the host is built and found. NumPy replaces it if it is missing."""

from __future__ import annotations

import ctypes
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arenite.converters.processing.native import library as native
from arenite.converters.processing.native.c_sources import PROCESSING
from arenite.firmware.library.processing_writer import source_files
from arenite.firmware.sources import ENGINE, SHARED

ROOT = Path(__file__).resolve().parents[4]

#: Prints whether there is a library, whether there is a reason why not, and a preprocessed picture as hexadecimal
#: bytes.
PROGRAM = """
import numpy as np
from arenite.converters.processing.native import library as native
from arenite.converters.processing.preprocess import preprocess_pixels
from arenite.converters.processing.specification.preprocessing import Preprocessing
steps = [{"do": "resize", "width": 5, "height": 4, "convention": "tf"}]
spec = Preprocessing.from_json({"source": {"kind": "image"}, "steps": steps})
pixels = np.arange(9 * 7 * 3, dtype=np.uint8)
print(native.library() is not None, native.unavailable_reason() != "", preprocess_pixels(spec, pixels, "rgb", 7,
9).tobytes().hex())
"""


def run(folder: Path, **variables: str) -> list[str]:
    """Run ``PROGRAM`` in a new Python process with ``folder`` as cache, and return the words that it prints."""
    environment = {**os.environ, "ARENITE_CACHE": str(folder), **variables}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, check=True, capture_output=True, text=True
    )
    return result.stdout.split()


@pytest.mark.slow
def test_the_bytes_are_the_same_with_and_without_a_compiler(tmp_path: Path) -> None:
    if native.library() is None:
        pytest.skip(native.unavailable_reason())
    compiled, plain = run(tmp_path), run(tmp_path, ARENITE_PROCESSING="numpy")
    assert compiled[:2] == ["True", "False"] and plain[:2] == ["False", "True"]
    assert compiled[2] == plain[2]


@pytest.mark.skipif(bool(native.installed()), reason="the installed library needs no compiler")
def test_without_a_compiler_numpy_is_used(tmp_path: Path) -> None:
    assert run(tmp_path, CC="/nowhere/cc")[:2] == ["False", "True"]


def test_setup_computes_the_same_digest_of_the_sources() -> None:
    """setup.py cannot import Arenite, so it has its own copy of the digest function."""
    pytest.importorskip("setuptools", reason="needs setuptools")
    text = (ROOT / "setup.py").read_text().partition("\nsetup(")[0]
    assert eval("digest()", {**_executed(text)}) == native.digest()


def _executed(text: str) -> dict[str, object]:
    """Return the global names of the program ``text`` after it was executed."""
    path = ROOT / ".cache" / "setup_digest.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text.replace("Path(__file__).parent", f"Path({str(ROOT)!r})"))
    return runpy.run_path(str(path))


@pytest.mark.slow
def test_a_library_of_other_sources_is_not_loaded(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    target = tmp_path / "other.so"
    source = tmp_path / "library.c"
    source.write_text('const char *ar_processing_sources(void) { return "other"; }')
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(target)], check=True)
    assert isinstance(ctypes.CDLL(str(target)), ctypes.CDLL)
    assert native._load(target) is None
    native.compile_library(tmp_path / "own.so")
    assert native._load(tmp_path / "own.so") is not None


def test_processing_and_engine_files_have_different_names() -> None:
    """A generated library has the files of both in one folder. Files that both use are in one place."""
    processing, engine = ({p.name for p in tree.paths(".c", ".h")} for tree in (PROCESSING, ENGINE))
    assert processing & engine == {path.name for path in SHARED.iterdir()}


def test_generated_libraries_contain_no_code_for_hosts() -> None:
    """The kernels of a generated library include no vector code."""
    host_prefixes = ("vector", "image_host")
    kernels = [p.name for p in PROCESSING.paths(".c") if not p.name.startswith(host_prefixes)]
    assert not [name for name in source_files(kernels) if name.startswith(host_prefixes)]


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_sources_pass_the_strictest_warnings(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    strict = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow", "-pedantic"]
    sources = [str(path) for path in PROCESSING.paths(".c")]
    subprocess.run([compiler, *strict, *PROCESSING.include_flags, "-c", *sources], check=True, cwd=tmp_path)


@pytest.mark.slow
def test_the_sources_need_no_libraries(tmp_path: Path) -> None:
    """Undefined symbols are routines of the compiler only: no heap, no C library, no floating-point library."""
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("no cross compiler")
    sources = [str(path) for path in PROCESSING.paths(".c")]
    flags = ["-std=c99", "-O2", "-mcpu=cortex-m0", "-mthumb", "-ffreestanding"]
    subprocess.run(
        ["arm-none-eabi-gcc", *flags, *PROCESSING.include_flags, "-c", *sources], check=True, cwd=tmp_path
    )
    objects = sorted(map(str, tmp_path.glob("*.o")))
    subprocess.run(["arm-none-eabi-ld", "-r", *objects, "-o", "all.o"], check=True, cwd=tmp_path)
    listed = subprocess.run(
        ["arm-none-eabi-nm", "-u", "all.o"], check=True, cwd=tmp_path, capture_output=True, text=True
    )
    names = {line.split()[-1] for line in listed.stdout.splitlines()}
    assert names
    assert not {n for n in names if not n.startswith(("__aeabi_", "__gnu_thumb1_", "__clz"))} - {
        "memcpy",
        "memset",
    }
