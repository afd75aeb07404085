"""``arenite bench history``, ``compare`` and the store of bench results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arenite.host.bench.store.run_rows import BuildMode
from arenite.host.bench.store.store import Store
from tests.host.bench.sample_results import result, timed
from tests.host.cli.conftest import Arenite

BOARD = "qemu_mps2_an386"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store with two series of runs. The first series became larger and slower. The second series, on a real
    board, did not change."""
    path = tmp_path / "s.sqlite"
    with Store(path) as opened:
        opened.add(result(), BuildMode(), "random", None)
        opened.add(timed(1000, 1010), BuildMode("ram"), "random", None)
        opened.add(
            result(memory__arena=4100, memory__ram_total=4900, inference__instructions={"p50": 21000}),
            BuildMode(),
            "random",
            None,
        )
        opened.add(timed(1001, 1010), BuildMode("ram"), "random", None)
    return path


def test_history_flags_regressions(arenite: Arenite, store: Path) -> None:
    command = ("bench", "history", "--store", store)
    history = arenite(*command, "--json")
    assert history.code == 0 and history.json["schema"] == "arenite.history/1"
    assert history.json["regressions"] == 3
    emulated, real = sorted(history.json["series"], key=lambda s: s["board"] != BOARD)
    assert (emulated["model"], emulated["mode"], real["mode"]) == ("net", {}, {"optimise": "ram"})
    assert [r["run"] for r in emulated["runs"]] == [1, 3]
    assert [r["regressions"] for r in real["runs"]] == [[], []]
    flagged = {c["figure"]: c for c in emulated["runs"][1]["regressions"]}
    assert set(flagged) == {"instructions", "arena", "ram_total"}
    assert flagged["instructions"]["share"] == 0.05 and flagged["instructions"]["against"] == 1
    assert arenite(*command, "--json", "--fail").code == 1
    assert arenite(*command, "--board", "nucleo_l4r5zi", "--fail").code == 0
    assert arenite(*command, "--fail", "--allow-bytes", "100", "--allow-instructions", "5").code == 0
    text_run = arenite(*command)
    assert "+5.00%" in text_run.out and "arena B" in text_run.out
    assert "Regression: net on qemu_mps2_an386, default: arena B 4,000 → 4,100 (run 1 → 3)" in " ".join(
        text_run.err.split()
    )
    assert "has no matching run" in arenite(*command, "--model", "other.tflite").err


def test_compare_shows_the_differences_between_two_runs(
    arenite: Arenite, store: Path, tmp_path: Path
) -> None:
    command = ("bench", "compare", "--store", store)
    comparison = arenite(*command, "1", "3", "--json").json
    assert comparison["schema"] == "arenite.compare/1" and comparison["regressions"] == 3
    figures = {c["figure"]: (c["old"], c["new"]) for c in comparison["figures"]}
    assert figures["instructions"] == (20000, 21000) and figures["flash_total"] == (14000, 14000)
    assert comparison["layers"][0]["op"] == ["CONV_2D", "CONV_2D"]
    assert arenite(*command, "1", "3", "--fail").code == 1
    assert arenite(*command, "3", "1", "--fail").code == 0
    assert arenite(*command, "last~1", "last").code == 0
    file = tmp_path / "r.json"
    file.write_text(json.dumps(result(layers=[])))
    text_run = arenite(*command, file, "1")
    assert text_run.code == 0 and "Layers that changed" in text_run.out
    # Differences between boards are not regressions.
    assert arenite(*command, "1", "2", "--fail").code == 0
    arenite(*command, "1", "9").refused(2, "has no run 9")
    arenite(*command, "last~9", "1").refused(2, "no run last~9")
    arenite(*command, "1", "nothing.json").refused(
        2, "'nothing.json' is neither a run nor a file with a result"
    )
    file.write_text("{}")
    arenite(*command, "1", file).refused(2, "does not contain a bench result")


def test_a_missing_store_raises_an_error(arenite: Arenite, tmp_path: Path) -> None:
    arenite("bench", "history", "--store", tmp_path / "none").refused(2, "does not exist yet")
    (tmp_path / "torn").write_bytes(b"x" * 4096)
    arenite("bench", "history", "--store", tmp_path / "torn").refused(2, "torn", "is damaged")


def test_help_lists_the_subcommands(arenite: Arenite) -> None:
    help_text = arenite("bench", "--help").out
    assert "Subcommands (in place of IMAGE)" in help_text
    for subcommand in ("matrix", "history", "compare"):
        assert subcommand in help_text
        assert f"arenite bench {subcommand}" in arenite("bench", subcommand, "--help").out


@pytest.mark.slow
@pytest.mark.qemu
def test_a_bench_is_stored(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    """A bench is stored with its build options. A damaged store only causes a message, and --no-store stores
    nothing."""
    store = tmp_path / "s.sqlite"
    command = ("bench", model, "--board", BOARD, "--samples", "2", "--no-cycles", "--json", "--store")
    first_result = arenite(*command, store, "--optimise", "ram").json
    assert first_result["run"] == 1
    with Store(store) as opened:
        run = opened.run(1)
    assert (run.model, run.board, run.mode, run.data) == ("small", BOARD, '{"optimise": "ram"}', "random")
    figures = run.figures
    assert (
        len(figures["firmware_sha256"]) == len(figures["image_sha256"]) == len(figures["data_sha256"]) == 64
    )
    assert "arm-none-eabi-gcc" in figures["compiler"] or "GCC" in figures["compiler"]
    assert figures["revision"] is None or len(figures["revision"]) == 40
    assert (figures["samples"], figures["bit_exact"], figures["missing"]) == (2, 2, 0)
    second_result = arenite(*command, store, "--optimise", "ram").json
    assert second_result["run"] == 2 and second_result["build"] == first_result["build"]
    compared = arenite("bench", "history", "--store", store, "--json", "--fail")
    assert (compared.code, compared.json["regressions"]) == (0, 0)
    assert arenite(*command[:-1], "--no-store").json["run"] is None
    (tmp_path / "torn").write_bytes(b"x" * 4096)
    damaged = arenite(*command, tmp_path / "torn")
    assert damaged.code == 0 and damaged.json["run"] is None
    assert "The result was not stored" in damaged.err and (tmp_path / "torn").read_bytes() == b"x" * 4096
