"""On a computer with 64-bit pointers, kernels access values only at addresses that are aligned for their type.

Such computers run the C library of ``arenite library``. The compiler checks every access (``-fsanitize=alignment``).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_COMPILER = '#!/bin/sh\nexec gcc -fsanitize=alignment -fno-sanitize-recover=alignment "$@"\n'
#: The program that each test runs in a separate process, because a failed check ends the process.
_PROGRAM = """
import sys
from pathlib import Path
from arenite.firmware.generator.target import SCALAR, Target
from tests.fuzz.campaign import random_model
from tests.fuzz.comparison import compare

models = [random_model(5, k, ["CONV_2D", "DEPTHWISE_CONV_2D"], 1) for k in range(40)]
targets = [Target("", SCALAR, mode) for mode in ("speed", "ram")] + [Target("cortex-m0", SCALAR, "speed")]
mismatches = compare(models, seed=5, runs=1, cache=Path(sys.argv[1]), keep=False, targets=targets)
assert not mismatches, mismatches
print(f"{len(models)} models were checked")
"""


def test_no_access_of_a_convolution_is_misaligned(tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text(_COMPILER)
    compiler.chmod(0o755)
    root = Path(__file__).parents[3]
    process = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(tmp_path / "cache")],
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, "CC": str(compiler), "PYTHONPATH": str(root)},
        timeout=600,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    assert "40 models were checked" in process.stdout
