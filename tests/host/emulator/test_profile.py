"""The plugin counts instructions, classes and cycles of known loops on every core, in agreement with the timer."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from arenite.errors import ToolError
from arenite.firmware.boards.cores import core_named
from arenite.firmware.generator.project import write_project
from arenite.host.emulator.block_counts import (
    Block,
    BlockRuns,
    PhaseRun,
    compiled_plugin,
    plugin_arguments,
    read_counts,
)
from arenite.host.emulator.layer_code import LayerCode, SegmentLayers, layer_code
from arenite.host.emulator.machine import start
from arenite.host.emulator.profile import Profile, counts_by_layer, profile
from arenite.host.emulator.timing import load_timing
from arenite.host.flash.build import direct_build
from arenite.host.link.client import DeviceClient
from arenite.host.link.transport import Transport
from arenite.profiles.boards import Board, all_boards, load_board
from tests import toy_model
from tests.host.emulator.counting_layer import counting_layer

EMULATED = [board.name for board in all_boards() if board.emulated and board.rtl is None]
#: Number of iterations of counting_layer's loop (two instructions each) if the first input byte is 1.
UNIT = 400_009
#: The maximum number of instructions that the firmware runs around each layer, to call it and to read the clock.
MAX_CALL_INSTRUCTIONS = 60


def toy_elf(board: Board, folder: Path) -> Path:
    """Build the toy model with the counting layer, and return the ELF file. Skip the test if a tool is missing."""
    assert board.emulator is not None
    core = core_named(board.core)
    tools = (f"{core.prefix}gcc", f"qemu-system-{board.emulator.system}")
    if not all(map(shutil.which, tools)):
        pytest.skip(f"no compiler or no emulator for {board.core}: see `arenite doctor`")
    return direct_build(
        write_project(folder / "project", toy_model.sources(counting_layer(board)), [], board)
    )


def infer(line: Transport, turns: int) -> list[int]:
    """Run one inference of the toy model; return the ticks of its layers."""
    device = DeviceClient(line)
    device.connect(toy_model.HASH)
    device.write_input(0, bytes([turns] * 8))
    device.infer()
    return list(device.layer_ticks(toy_model.LAYERS))


def profiled(board: Board, elf: Path, turns: int) -> Profile:
    """Return the profile of one inference whose input bytes are all ``turns``."""
    return profile(board, elf, layer_code(elf), lambda line: infer(line, turns))


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("name", EMULATED)
def test_counts_are_exact_and_agree_with_the_timer(name: str, tmp_path: Path) -> None:
    board = load_board(name)
    elf = toy_elf(board, tmp_path)
    short_run, long_run = (profiled(board, elf, turns) for turns in (1, 6))
    assert len(short_run.layers) == toy_model.LAYERS
    # An iteration has two instructions, one arithmetic and one branch. All branches except the last branch of a loop
    # are taken.
    extra_instructions = long_run.layers[2].instructions - short_run.layers[2].instructions
    assert extra_instructions == 2 * 5 * UNIT
    for name_of_class in ("alu", "branch"):
        counts = [p.layers[2].classes[name_of_class].count for p in (short_run, long_run)]
        assert counts[1] - counts[0] == 5 * UNIT
    assert long_run.layers[2].rules["taken"].count - short_run.layers[2].rules["taken"].count == 5 * UNIT
    # An iteration takes one cycle for the arithmetic, one cycle for the branch unless the core issues both instructions
    # together, and the pipeline refill.
    timing = load_timing(board.core)
    issued = 1 if "dual_issue" in timing.rules else 2
    cycles_per_turn = (long_run.layers[2].cycles - short_run.layers[2].cycles) / (5 * UNIT)
    assert cycles_per_turn == pytest.approx(issued + timing.rules["taken"].cycles)
    for layer in (*short_run.layers, *long_run.layers):
        assert layer.instructions == sum(t.count for t in layer.classes.values())
        assert all(t.count > 0 for t in (*layer.classes.values(), *layer.rules.values()))
        assert set(layer.classes) <= set(timing.classes)
    assert short_run.total.instructions == sum(layer.instructions for layer in short_run.layers)
    assert short_run.total.cycles == pytest.approx(sum(layer.cycles for layer in short_run.layers))
    # The timer also counts the instructions around each call.
    assert board.emulator is not None
    with start(board, elf) as machine:
        ticks = infer(machine.transport, 1)
    for counted, tick in zip(short_run.layers, ticks, strict=True):
        assert -1 <= board.emulator.instructions(tick) - counted.instructions <= MAX_CALL_INSTRUCTIONS


@pytest.mark.qemu
def test_two_profiles_of_the_same_inference_are_equal(tmp_path: Path) -> None:
    board = load_board("qemu_mps2_an386")
    elf = toy_elf(board, tmp_path)
    first_profile, second_profile = profiled(board, elf, 2), profiled(board, elf, 2)
    assert first_profile.layers == second_profile.layers


def test_the_plugin_is_compiled_once(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    library = compiled_plugin(tmp_path / "cache")
    modified_ns = library.stat().st_mtime_ns
    assert compiled_plugin(tmp_path / "cache") == library
    assert library.stat().st_mtime_ns == modified_ns
    assert [p.name for p in (tmp_path / "cache").iterdir()] == [library.name]


def test_a_missing_compiler_raises_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(ToolError, match="'no-such-compiler' is not installed") as caught:
        compiled_plugin(tmp_path)
    assert "apt install gcc" in caught.value.hint


def test_a_failing_compiler_raises_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false")
    with pytest.raises(ToolError, match="host compiler failed"):
        compiled_plugin(tmp_path)


def test_a_read_only_cache_raises_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ToolError, match="Cannot write to the cache"):
        compiled_plugin(tmp_path / "file" / "cache")


def test_commas_in_paths_are_doubled() -> None:
    option, text = plugin_arguments(Path("/a,b/p.so"), Path("/o"), [0x10, 0x20], [(0x30, 4), (0x40, 8)], 0x50)
    assert option == "-plugin"
    assert text == "/a,,b/p.so,out=/o,entries=10:20,idle=30:4:40:8,split=50"


def test_the_output_of_the_plugin_is_parsed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    # A block that was translated twice is counted as one block.
    out.write_text(
        "P 1\nB 0 10 14\nC 0 3 2 2\nB 5 10 14\nC 5 1 1 0\nS\nP 1\nE\nP 2\nB 7 20 26\nC 7 1 1 1\nE\n"
    )
    assert read_counts(out) == [
        PhaseRun(0, {Block(0x10, 0x14): BlockRuns(4, 3, 2)}, True),
        PhaseRun(0, {}, False),
        PhaseRun(1, {Block(0x20, 0x26): BlockRuns(1, 1, 1)}, False),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "did not record a whole inference"),
        ("P 1\nB 0 10 14\nC 0 1 1 0\n", "did not record a whole inference"),
        ("P 1\nC 9 1 1 0\nE\n", "no readable counts"),
        ("C 0 1 1 0\n", "no readable counts"),
        ("P one\nE\n", "no readable counts"),
        ("E\n", "no readable counts"),
    ],
)
def test_invalid_counts_raise_an_error(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "out").write_text(text)
    with pytest.raises(ToolError, match=message):
        read_counts(tmp_path / "out")


def run(entry: int, count: int, split: bool = False) -> PhaseRun:
    """Return a run in which one block was executed ``count`` times. ``split``: the run ended where the next layer of
    the segment began."""
    return PhaseRun(entry, {Block(0, 2): BlockRuns(count, 0)}, split)


#: Layers 0 and 1 form a segment with two entries, whose rows belong to the layers 0, 0, 1, 0, 1. Layer 2 runs alone.
CODE = LayerCode(((0x10, 0), (0x14, 0), (0x20, 1)), ((0, 0, 1, 0, 1), (2,)), ((0x30, 4),), 0x40, 3)


def test_runs_of_a_segment_are_attributed_to_its_layers() -> None:
    runs = [
        run(0, 1),  # code before the first row belongs to the layer of the first row
        *(run(0, 10, True), run(0, 20, True), run(0, 300, True), run(0, 4000)),
        *(run(1, 50, True), run(1, 600, True), run(1, 7000)),
        run(2, 9),
    ]
    counts = [layer[Block(0, 2)].count for layer in counts_by_layer(runs, CODE)]
    assert counts == [1 + 10 + 20 + 50, 300 + 4000 + 600 + 7000, 9]


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([], "did not record a run of every layer"),
        ([run(2, 1)], "did not record a run of every layer"),
        ([run(2, 1), run(2, 1)], "more than one inference"),
        ([run(0, 1, True)] * 6, "more than one inference"),
    ],
)
def test_a_wrong_order_of_layers_raises_an_error(runs: list[PhaseRun], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        counts_by_layer(runs, CODE)


def test_the_entries_of_a_segment_have_its_order_of_layers(tmp_path: Path) -> None:
    elf = toy_elf(load_board("qemu_mps2_an386"), tmp_path)
    unsegmented = layer_code(elf)
    assert unsegmented.count == toy_model.LAYERS and unsegmented.orders == ((0,), (1,), (2,))
    streamed = layer_code(elf, [SegmentLayers(1, (1, 2, 2), streamed_input=False)])
    assert streamed.entries == unsegmented.entries and streamed.orders == ((0,), (1, 2, 2), (2,))


def test_an_elf_without_layers_raises_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.elf").write_bytes(b"\x7fELF")
    with pytest.raises(ToolError, match="Cannot read"):
        layer_code(tmp_path / "x.elf")
