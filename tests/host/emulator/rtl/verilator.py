"""Skip tests that need Verilator where it is not installed."""

from __future__ import annotations

import shutil

import pytest

#: A mark for tests that build or run a simulator.
needs_verilator = pytest.mark.skipif(
    not all(map(shutil.which, ("verilator", "g++", "make", "riscv64-unknown-elf-gcc"))),
    reason="needs verilator, g++, make and gcc-riscv64-unknown-elf (make setup installs them)",
)
