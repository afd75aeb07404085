"""The hand-written loops for Helium have only instructions that a Cortex-M85 has.

gcc 12 does not know this core, so Arenite builds for it with gcc's flags for the Cortex-M55: a Cortex-M85 has all its
instructions. clang knows both cores. It compiles only the files that hold loops, because gcc alone knows the
constraint for the predicate register in `vector_s8_mve.h`.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from arenite.firmware.boards.cores import core_named
from arenite.firmware.boards.toolchains import ZIG, compile_command, compiler_environment, is_installed
from arenite.firmware.sources import ENGINE

#: Every file with functions in assembly alone.
LOOPS = sorted(p for p in ENGINE.paths(".c") if "_mve" in p.name and "naked" in p.read_text("utf-8"))
_FLAGS = ("-std=c99", "-ffreestanding", "-Wall", "-Wextra", "-Werror", "-O2")
_NEEDS_HELIUM = '#ifndef __ARM_FEATURE_MVE\n#error "no Helium"\n#endif\n'


def compiled(path: Path, cpu: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Compile a kernel for ``cpu`` with clang."""
    prelude = folder / "needs_helium.h"
    prelude.write_text(_NEEDS_HELIUM)
    folders = sorted({f"-I{header.parent}" for header in ENGINE.paths(".h")})
    target = ("-target", "thumb-freestanding-eabihf", f"-mcpu={cpu}")
    files = ("-include", str(prelude), "-c", str(path), "-o", str(folder / "kernel.o"))
    return subprocess.run(
        [*compile_command(ZIG), *target, *_FLAGS, *folders, *files],
        capture_output=True,
        text=True,
        check=False,
        env=compiler_environment(ZIG),
    )


@pytest.mark.slow
@pytest.mark.skipif(not is_installed(core_named("cortex-m33"), ZIG), reason="zig is not installed")
def test_the_loops_compile_for_a_cortex_m85(tmp_path: Path) -> None:
    files = [p for p in LOOPS if "vector_s8_mve.h" not in p.read_text("utf-8")]
    assert {p.name for p in files} >= {"gemm4_s8_mve.c", "gemm_s8_mve.c", "gemm_wide_s8_mve.c"}
    for path in files:
        result = compiled(path, "cortex_m85+mve+mve_fp", tmp_path)
        assert result.returncode == 0, result.stderr


@pytest.mark.slow
@pytest.mark.skipif(not is_installed(core_named("cortex-m33"), ZIG), reason="zig is not installed")
def test_a_core_without_helium_is_refused(tmp_path: Path) -> None:
    assert "no Helium" in compiled(LOOPS[0], "cortex_m33", tmp_path).stderr
