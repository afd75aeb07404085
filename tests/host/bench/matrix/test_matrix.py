"""``arenite bench matrix`` runs its cells in parallel. A cell is one model on one board. Each cell has the same result
as a separate ``arenite bench``, even if other cells fail."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.host.bench.run import BenchConfig, bench
from arenite.host.bench.store.store import Store
from arenite.host.build.prepare import prepare
from arenite.profiles.boards import load_board
from tests.host.bench.devices.same_results import assert_same
from tests.host.bench.devices.unpluggable_board import samples_of
from tests.host.small_graphs import classifier, save, two_inputs

BOARDS = ("qemu_mps2_an386", "qemu_mps3_an547", "qemu_mps2_an385", "qemu_riscv32")
PROGRAMS = ("arm-none-eabi-gcc", "qemu-system-arm", "riscv64-unknown-elf-gcc", "qemu-system-riscv32")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.qemu,
    pytest.mark.skipif(
        not all(map(shutil.which, PROGRAMS)), reason="no compilers or no emulators: see `arenite doctor`"
    ),
]


def command(file: Path, *more: str) -> list[str]:
    """Return the command ``arenite bench matrix`` for ``file``, with further arguments. Results are stored beside
    it."""
    store = file.parent / "s.sqlite"
    return [
        *(sys.executable, "-m", "arenite.host.cli.main", "bench", "matrix", str(file)),
        *("--json", "--store", str(store), *more),
    ]


def run(file: Path, *more: str) -> tuple[int, dict[str, Any], str]:
    """Run the command. Return its exit code, its JSON output and its standard error."""
    process = subprocess.run(command(file, *more), capture_output=True, text=True, timeout=300)
    assert process.stdout, process.stderr
    return process.returncode, json.loads(process.stdout), process.stderr


def test_four_boards_at_once(tmp_path: Path) -> None:
    """Run four boards × two models, four at a time, and compare each cell with a separate bench."""
    models = [save(classifier(), tmp_path / "net.tflite"), save(two_inputs(), tmp_path / "two.tflite")]
    file, page = tmp_path / "bench.toml", tmp_path / "page.html"
    names = ", ".join(f'"{b}"' for b in BOARDS)
    file.write_text(
        f'models = ["net.tflite", "two.tflite"]\nboards = [{names}]\nsamples = 3\ncycles = false\n'
    )
    code, matrix, stderr = run(file, "--jobs", "4", "--html", str(page))
    assert code == 0, stderr
    assert (matrix["schema"], matrix["exit_code"], matrix["complete"]) == ("arenite.matrix/1", 0, True)
    cells = {(c["model"], c["board"]): c for c in matrix["cells"]}
    assert set(cells) == {(m.stem, b) for m in models for b in BOARDS}
    for path in models:
        prepared = prepare(path)
        for board in BOARDS:
            result = cells[path.stem, board]["result"]
            assert result["board"]["name"] == board and result["model"]["path"] == str(path)
            assert (result["samples"]["count"], result["samples"]["bit_exact"]) == (3, 3)
            alone = bench(
                prepared,
                load_board(board),
                samples_of(prepared, 3),
                BenchConfig(cycles=False),
                lambda *_: None,
            )
            assert_same(result, alone.to_json())
    # The numbers of instructions differ by board and model: at most two of the eight cells have the same number.
    assert len({c["result"]["inference"]["instructions"]["p50"] for c in cells.values()}) >= 7
    assert len(stderr.strip().splitlines()) >= 8 and "[8/8]" in stderr
    with Store(tmp_path / "s.sqlite") as store:
        runs = store.runs(matrix=matrix["matrix"])
    assert sorted(r.id for r in runs) == sorted(c["run"] for c in matrix["cells"])
    for r in runs:
        assert {**r.result, "run": r.id} == cells[r.model, r.board]["result"]
    assert all(b in page.read_text() for b in BOARDS)


def test_a_failing_cell_does_not_stop_the_others(tmp_path: Path) -> None:
    """One model does not fit, one model has no matching samples, and one file is not a model. The fourth cell has a
    result."""
    save(classifier(), tmp_path / "net.tflite")
    save(classifier(100, 40), tmp_path / "large.tflite")
    (tmp_path / "broken.tflite").write_bytes(b"no model")
    np.savez(tmp_path / "x.npz", y=np.zeros(3))
    file = tmp_path / "bench.toml"
    file.write_text(
        'models = ["net.tflite", "large.tflite", "broken.tflite", { path = "net.tflite", data = "x.npz" }]\n'
        'boards = ["qemu_microbit"]\nsamples = 2\ncycles = false\n'
    )
    code, matrix, stderr = run(file)
    assert code == 2 and not matrix["complete"], stderr
    fine, large, broken, data = matrix["cells"]
    assert (fine["exit_code"], fine["result"]["samples"]["bit_exact"]) == (0, 2)
    assert large["exit_code"] == 1 and "more SRAM" in large["error"]["problem"] and large["error"]["hint"]
    assert broken["exit_code"] == 2 and "broken.tflite" in broken["error"]["problem"]
    assert data["exit_code"] == 2 and "x.npz has no array" in data["error"]["problem"]
    # After the repair, the second run repeats only the cells that failed.
    shutil.copy(tmp_path / "net.tflite", tmp_path / "broken.tflite")
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 12, 12, 3), np.int8))
    code, second_run, stderr = run(file)
    assert code == 1 and second_run["complete"], stderr
    assert [c["earlier"] for c in second_run["cells"]] == [True, False, False, False]
    assert second_run["matrix"] == matrix["matrix"]
    # The matrix is complete, so the next run repeats every cell.
    file.write_text('models = "net.tflite"\nboards = "qemu_microbit"\nsamples = 2\ncycles = false\n')
    _, third_run, _ = run(file)
    assert third_run["matrix"] != matrix["matrix"] and not third_run["cells"][0]["earlier"]


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_matrix_resumes(signal_number: signal.Signals, tmp_path: Path) -> None:
    for k in range(2):
        save(classifier(12 + 2 * k), tmp_path / f"n{k}.tflite")
    file = tmp_path / "bench.toml"
    file.write_text(
        'models = ["n0.tflite", "n1.tflite"]\nboards = "qemu_mps2_an386"\nsamples = 2\ncycles = false\n'
    )
    process = subprocess.Popen(
        command(file, "--jobs", "1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("[1/2]"), line
    process.send_signal(signal_number)
    out, stderr = process.communicate(timeout=60)
    assert out == ""
    if signal_number is signal.SIGINT:
        assert process.returncode == 130
        assert "Interrupted. 1 of 2 cells are stored. Run the same command again to continue." in stderr
        assert not _children_of(tmp_path)  # no process is left
    else:
        end = time.monotonic() + 60
        while _children_of(tmp_path) and time.monotonic() < end:
            time.sleep(0.1)
    code, matrix, _ = run(file)
    assert code == 0 and matrix["complete"]
    assert matrix["cells"][0]["earlier"]
    # A cell that the killed matrix had started may still have finished. Then its result is stored as well.
    assert signal_number is signal.SIGKILL or not matrix["cells"][1]["earlier"]
    assert all(c["result"]["samples"]["bit_exact"] == 2 for c in matrix["cells"])
    if signal_number is signal.SIGINT:
        _, fresh_run, _ = run(file, "--no-resume")
        assert not any(c["earlier"] for c in fresh_run["cells"])


def _children_of(folder: Path) -> list[int]:
    """Return the ids of the processes whose command line contains a model of ``folder``."""
    process_ids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            except OSError:
                continue
            if "bench" in words and any(w.startswith(str(folder)) for w in words):
                process_ids.append(int(entry.name))
    return process_ids
