"""The comparison of a result with a baseline: ratios, and the note for a result whose cycles per instruction differ
from the assumed value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arenite.errors import UsageError
from arenite.host.bench.compare import compare, read_baseline, require_record
from arenite.host.emulator.timing import load_timing
from tests.development_models import SHARED

#: A record of another engine in a baseline file.
RECORD = {
    "engine": "other",
    "core": "cortex-m4f",
    "model": "net",
    "instructions": 1000,
    "init_instructions": 0,
    "arena_bytes": 200,
    "ram_total_bytes": 400,
    "stack_bytes": 100,
    "flash_code_bytes": 5000,
}


def result(core: str = "cortex-m4f", cycles: int | None = 705, instructions: int = 500) -> dict[str, Any]:
    """Return a bench result. Its default of 1.41 cycles per instruction is the value assumed for a Cortex-M4F."""
    return {
        "schema": "arenite.bench/1",
        "model": {"path": "somewhere/net.tflite"},
        "board": {"name": "b", "core": core},
        "inference": {"instructions": {"p50": instructions}, "cycles": {"p50": cycles} if cycles else None},
        "init": {"instructions": 10},
        "memory": {"arena": 100, "stack": 50, "ram_total": 300},
        "flash": {"code": 6000, "total": 9000},
    }


def baseline(folder: Path, content: object) -> Path:
    """Write a baseline file with ``content``, as JSON unless it is a string, and return its path."""
    path = folder / "baseline.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_ratios_to_a_record(tmp_path: Path) -> None:
    slower = {**RECORD, "engine": "reference", "instructions": 4000, "arena_bytes": 1}
    records = read_baseline(
        baseline(tmp_path, {"records": [slower, RECORD, {**RECORD, "core": "cortex-m0"}]})
    )
    compared = compare(result(), records)
    # The faster engine is used for every figure.
    assert compared is not None and compared["engine"] == "other"
    assert compared["figures"] == {
        "instructions": {"ours": 500, "theirs": 1000, "ratio": 0.5},
        "init": {"ours": 10, "theirs": 0, "ratio": None},
        "arena": {"ours": 100, "theirs": 200, "ratio": 0.5},
        "stack": {"ours": 50, "theirs": 100, "ratio": 0.5},
        "ram_total": {"ours": 300, "theirs": 400, "ratio": 0.75},
        "code": {"ours": 6000, "theirs": 5000, "ratio": 1.2},
    }
    # This result has the 1.41 cycles per instruction assumed for the baseline.
    assert compared["note"] is None
    by_engine = compare(result("rv32imc"), records, "cortex-m4f", "reference")
    assert by_engine is not None and by_engine["figures"]["instructions"]["ratio"] == 0.125
    assert compare(result("rv32imc"), records) is None


def test_ratios_to_an_earlier_result(tmp_path: Path) -> None:
    records = read_baseline(baseline(tmp_path, result(instructions=1000, cycles=1500)))
    compared = compare(result(cycles=700), records)
    assert compared is not None and compared["engine"] == "arenite"
    assert compared["figures"]["cycles"] == {"ours": 700, "theirs": 1500, "ratio": 0.467}
    assert compared["figures"]["flash_total"]["ratio"] == 1.0
    assert compared["note"] is None


@pytest.mark.parametrize(("cycles", "message"), [(1000, "about 0.71"), (500, "about 0.35"), (730, None)])
def test_cycles_that_do_not_follow_instructions_add_a_note(
    cycles: int, message: str | None, tmp_path: Path
) -> None:
    assert load_timing("cortex-m4f").plain_cpi == 1.41
    compared = compare(result(cycles=cycles), read_baseline(baseline(tmp_path, {"records": [RECORD]})))
    assert compared is not None
    if message is None:
        assert compared["note"] is None
    else:
        assert "0.50 of the baseline's instructions" in compared["note"] and message in compared["note"]


def test_known_cycles_of_both_results_are_compared(tmp_path: Path) -> None:
    records = read_baseline(baseline(tmp_path, result(instructions=1000, cycles=1000)))
    compared = compare(result(cycles=1000), records)
    assert compared is not None
    assert compared["note"] is not None and "about 1.00 of its cycles" in compared["note"]


def test_no_note_without_cycles_or_across_cores(tmp_path: Path) -> None:
    records = read_baseline(baseline(tmp_path, {"records": [RECORD]}))
    for comparison in (
        compare(result(cycles=None), records),
        compare(result("rv32imc", 9999), records, "cortex-m4f"),
    ):
        assert comparison is not None and comparison["note"] is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ([], "is not a baseline"),
        ({}, "is not a baseline"),
        ({"records": []}, "has no records"),
        ({"records": [1]}, "is not a baseline"),
        ({"records": [{"engine": "x"}]}, "is not a baseline"),
        ({"records": [{**RECORD, "instructions": "many"}]}, "instructions: 'many'"),
        ({"records": [{**RECORD, "stack_bytes": -1}]}, "stack: -1"),
        ({"records": [{**RECORD, "core": 4}]}, "core: 4"),
        ({"records": [{**RECORD, "instructions": 10**100}]}, "instructions: 1000"),
        ({"records": [{**RECORD, "stack_bytes": float("nan")}]}, "stack: nan"),
        ({**result(), "inference": {"instructions": {"p50": "many"}}}, "instructions: 'many'"),
        ({**result(), "memory": {"arena": float("inf")}}, "arena: inf"),
        ({"schema": "arenite.bench/1"}, "is not a baseline"),
        ({"schema": "arenite.fit/1"}, "is not a baseline"),
    ],
)
def test_an_invalid_baseline_raises_an_error(content: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_baseline(baseline(tmp_path, content))
    assert message in caught.value.problem and caught.value.hint and caught.value.exit_code == 2


def test_a_missing_baseline_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Cannot read"):
        read_baseline(tmp_path / "none.json")


def test_the_error_lists_the_records_of_the_baseline(tmp_path: Path) -> None:
    path = baseline(tmp_path, {"records": [RECORD]})
    require_record(read_baseline(path), "cortex-m4f", "net", path)
    with pytest.raises(UsageError, match="no record of other on cortex-m4f") as caught:
        require_record(read_baseline(path), "cortex-m4f", "other", path)
    assert caught.value.hint == "Its records are: net on cortex-m4f."


def test_the_measured_baseline_is_read() -> None:
    path = SHARED / "baseline.json"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    records = read_baseline(path)
    assert {r.core for r in records} >= {"cortex-m3", "cortex-m4f", "cortex-m55"}
    assert all(r.figures["instructions"] > 0 for r in records)


def test_a_ratio_that_rounds_to_zero_adds_no_note(tmp_path: Path) -> None:
    records = read_baseline(baseline(tmp_path, {"records": [{**RECORD, "instructions": 15 * 10**15}]}))
    comparison = compare(result(), records)
    assert comparison is not None
    assert comparison["figures"]["instructions"]["ratio"] == 0 and comparison["note"] is None
