"""The program of updates for an ESP32 compiles without a warning with the headers of ESP-IDF, for a RISC-V chip.

The variables are those of ``tests/firmware/app/test_driver_headers.py``.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from arenite.host.update.esp_build import build_esp_update
from arenite.host.update.keys import generate_key
from arenite.host.update.update_build import UpdateOptions
from arenite.profiles.boards import load_board
from tests.firmware.app.vendor_headers import HEADERS, PICOLIBC, esp_idf
from tests.firmware.update.esp32.esp_board import project_macros
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, library_or_skip
from tests.host.small_graphs import classifier, save

_COMPILER = "riscv64-unknown-elf-gcc"


@pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)
@pytest.mark.parametrize("agent", [False, True])
def test_the_program_compiles_with_esp_idf_s_headers(tmp_path: Path, agent: bool) -> None:
    for folder in (HEADERS / "esp-idf/components", PICOLIBC):
        if not folder.is_dir():
            pytest.skip(f"needs headers in {folder} (ARENITE_DRIVER_HEADERS, ARENITE_PICOLIBC)")
    if shutil.which(_COMPILER) is None:
        pytest.skip(f"needs {_COMPILER}")
    library_or_skip("ed25519")
    key, project = tmp_path / "release.pem", tmp_path / "project"
    generate_key(key)
    options = UpdateOptions(key, "1.0.0", optimise="flash", agent=agent)
    board = load_board("esp32-c3-devkitm-1")
    build_esp_update(save(classifier(), tmp_path / "model.tflite"), board, options).write(project)
    (tmp_path / "settings").mkdir()
    flags, headers = esp_idf(tmp_path / "settings", "esp32c3")
    flags += ["-Wall", "-Wextra", "-Werror", "-c", *(f"-D{macro}" for macro in project_macros(project))]
    own = [f"-I{project / name}" for name in ("src", "lib/arenite", "lib/update", "lib/board")]
    system = [word for path in (project / "lib/signature", *headers) for word in ("-isystem", str(path))]
    sources = [path for path in sorted(project.rglob("*.c")) if path.parent.name != "signature"]
    assert len(sources) > 30
    for source in sources:
        command = [_COMPILER, *flags, *own, *system, str(source), "-o", str(tmp_path / "unit.o")]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
