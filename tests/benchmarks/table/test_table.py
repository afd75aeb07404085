"""Tests of the benchmark table: the target figures, whether a result meets them, the pages with the table, and one real
run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from arenite.errors import UsageError
from arenite.host.bench.compare import BaselineRecord
from arenite.profiles.boards import all_boards, load_board
from benchmarks.table import __main__ as table
from benchmarks.table.pages import all_runs_page, short_tables
from benchmarks.table.runs import VARIANTS, BenchmarkRun, Job
from benchmarks.table.targets import read_targets
from tests.host.small_graphs import classifier, save

BOARD = "qemu_mps2_an386"


def result(instructions: int, ram: int = 1000) -> dict[str, Any]:
    """Return a result of ``arenite bench`` with this number of instructions and bytes of RAM."""
    return {
        "model": {"path": "x/vww01_int8.tflite", "macs": 1000},
        "board": {"name": BOARD, "core": "cortex-m4f"},
        "samples": {"count": 3, "bit_exact": 3},
        "inference": {"instructions": {"p50": instructions}, "cycles": {"p50": instructions * 2}},
        "init": {"instructions": 10},
        "memory": {"arena": 100, "arena_status": "optimal", "stack": 50, "ram_total": ram},
        "flash": {"code": 20000, "weights": 9000, "total": 29000},
    }


def run(variant: str, bench_result: dict[str, Any] | None, note: str = "") -> BenchmarkRun:
    """Return a run of vww01_int8 on ``BOARD``, compiled for ``variant``."""
    return BenchmarkRun(Job(Path("x/vww01_int8.tflite"), load_board(BOARD), variant, 3), bench_result, note)


RECORDS = (BaselineRecord("tflite-micro+cmsis-nn", "cortex-m4f", "vww01_int8", {"instructions": 1000}),)


def test_figures_are_compared_with_a_baseline_with_a_limit_and_with_another_variant() -> None:
    runs = [run("speed", result(170)), run("ram", result(230, 40000)), run("flash", None, "does not fit")]
    verdicts = table.verdicts_of_runs(runs, RECORDS)
    actual = {key[2:]: (v.value, v.limit, v.met) for key, v in verdicts.items()}
    # (measured, target, whether the target is met). The instructions of "speed" are relative to the baseline in
    # RECORDS, those of "ram" to the variant "speed".
    assert actual == {
        ("speed", "instructions"): (0.17, 0.175, True),
        ("speed", "code"): (20000, 25600, True),
        ("speed", "init"): (10, 1000, True),
        ("ram", "ram_total"): (40000, 33792, False),
        ("ram", "instructions"): (1.353, 1.3, False),
    }
    text = all_runs_page(runs, verdicts)
    assert "3 of 5 targets met" in text and "does not fit" in text
    assert "vww01_int8 on qemu_mps2_an386, ram: ram_total 40,000, the target is at most 33,792" in text
    page = short_tables(runs, verdicts)
    assert "170 (0.17 ≤ 0.175)" in page and "230 (1.35 > 1.3 ✗)" in page and "40,000 (> 33,792 ✗)" in page
    assert all(row.count("|") == 6 for row in page.splitlines() if row.startswith("| vww01_int8 | 170"))
    rows = table.as_json(runs, verdicts)["rows"]
    assert [len(row["targets"]) for row in rows] == [3, 2, 0] and rows[2]["note"] == "does not fit"


def test_without_a_baseline_only_absolute_figures_have_verdicts() -> None:
    verdicts = table.verdicts_of_runs([run("speed", result(230))], ())
    assert {key[3] for key in verdicts} == {"code", "init"}


def test_the_targets_name_existing_boards_and_variants() -> None:
    targets = read_targets()
    assert {t.board for t in targets} <= {b.name for b in all_boards() if b.emulated}
    assert {t.variant for t in targets} | {t.other for t in targets} - {""} <= set(VARIANTS)
    # Every emulated core has its own target.
    assert len({load_board(t.board).core for t in targets}) == 8


def test_a_malformed_targets_file_raises_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text("[[target]]\nfigure = 1\n")
    with pytest.raises(UsageError, match="no readable targets"):
        read_targets(tmp_path / "t.toml")


def test_an_unknown_variant_raises_an_error() -> None:
    with pytest.raises(UsageError, match="Unknown variant 'quick'"):
        table.main(["--optimise", "speed,quick"])


@pytest.mark.slow
@pytest.mark.qemu
def test_one_command_writes_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")):
        pytest.skip("no Arm compiler or no emulator: see `arenite doctor`")
    monkeypatch.setattr(table, "OUT", tmp_path / "out")
    model = save(classifier(100, 40), tmp_path / "net.tflite")
    (tmp_path / "b.json").write_text(
        json.dumps({"records": [{"engine": "e", "core": "cortex-m4f", "model": "net", "instructions": 1}]})
    )
    arguments = [str(model), "--board", BOARD, "--board", "qemu_microbit", "--optimise", "speed,flash"]
    assert table.main([*arguments, "--samples", "1", "--compare", str(tmp_path / "b.json")]) == 0
    rows = json.loads((tmp_path / "out" / "table.json").read_text())["rows"]
    assert [(r["board"], r["variant"]) for r in rows] == [
        (BOARD, "speed"),
        (BOARD, "flash"),
        ("qemu_microbit", "speed"),
        ("qemu_microbit", "flash"),
    ]
    assert all(r["result"]["compare"]["figures"]["instructions"]["theirs"] == 1 for r in rows[:2])
    assert all(r["result"] is None and "does not fit" in r["note"] for r in rows[2:])
    assert (tmp_path / "out" / f"net-{BOARD}-speed.json").exists()
    assert capsys.readouterr().out == (tmp_path / "out" / "table.md").read_text() + "\n"
