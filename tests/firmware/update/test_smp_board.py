"""smpmgr of PyPI updates an emulated Cortex-M4 board over its serial port."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.firmware.update.smp_board import run_board
from tests.firmware.update.smp_device import image_hash, make_image, run_smpmgr

pytest.importorskip("smpmgr", reason="smpmgr is not installed (pip install smpmgr)")


@pytest.mark.slow
@pytest.mark.qemu
def test_smpmgr_updates_an_emulated_board(tmp_path: Path) -> None:
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    new, path = make_image((1, 2, 3, 4), 30_001, seed=5), tmp_path / "new.bin"
    path.write_bytes(new)
    with run_board(tmp_path) as board:
        assert "hello" in run_smpmgr(board.port, "os", "echo", "hello")
        assert "No images" in run_smpmgr(board.port, "image", "state-read")
        run_smpmgr(board.port, "image", "upload", str(path))
        assert board.read_slot(1, len(new)) == new
        run_smpmgr(board.port, "image", "state-write", image_hash(new).hex())
        run_smpmgr(board.port, "os", "reset")
        states = run_smpmgr(board.port, "image", "state-read")
        assert "slot=0" in states and "version='1.2.3.4'" in states and "confirmed=True" not in states
        run_smpmgr(board.port, "image", "state-write", "--confirm")
        run_smpmgr(board.port, "os", "reset")
        states = run_smpmgr(board.port, "image", "state-read")
        assert "version='1.2.3.4'" in states and "confirmed=True" in states
        assert "resets" in run_smpmgr(board.port, "statistics", "get", "device")
