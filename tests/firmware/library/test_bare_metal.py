"""The bare-metal example of a library runs in the emulator with several models that share one arena."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from arenite.firmware.generator.model_source import GUARD_BYTES
from arenite.firmware.generator.target import SCALAR, Target
from arenite.host.build.prepare import prepare
from arenite.profiles.boards import Board, load_board
from tests.development_models import shared_model
from tests.firmware.library.bare_metal import link, run_program
from tests.firmware.library.libraries import (
    ModelTurns,
    three_models,
    write_library_of,
)

pytestmark = pytest.mark.slow

TURNS = 3


def outputs(board: Board, elf: Path, turns: ModelTurns) -> list[list[int]]:
    """Return the lines of numbers that the program prints for the inputs of ``turns``."""
    return run_program(board, elf, b"".join(turns.inputs), len(turns.outputs))


@pytest.mark.qemu
@pytest.mark.parametrize("name", ["qemu_mps2_an385", "qemu_mps2_an386", "qemu_mps3_an547"])
@pytest.mark.parametrize("optimise", ["speed", "ram"])
def test_models_in_turn_give_the_bytes_of_litert(name: str, optimise: str, tmp_path: Path) -> None:
    """Two models share an arena. The third keeps its state while the others run between its inferences."""
    board = load_board(name)
    models = three_models(tmp_path)
    library = write_library_of(tmp_path / "library", models, Target.for_core(board.core, optimise))
    turns = ModelTurns(models, TURNS)
    assert outputs(board, link(library, board, tmp_path), turns) == turns.outputs


@pytest.mark.qemu
def test_a_portable_library_gives_the_bytes_of_litert(tmp_path: Path) -> None:
    """For cores without SIMD, the layout of weights depends on the core. A portable library does not know the core, so
    its kernels check the layout at run time."""
    board = load_board("qemu_mps2_an385")
    models = three_models(tmp_path)
    library = write_library_of(tmp_path / "library", models, Target("", SCALAR, "speed"))
    turns = ModelTurns(models, TURNS)
    assert outputs(board, link(library, board, tmp_path), turns) == turns.outputs


@pytest.mark.qemu
@pytest.mark.parametrize("name", ["qemu_mps2_an385", "qemu_mps2_an386"])
def test_input_in_rows_gives_the_bytes_of_litert(name: str, tmp_path: Path) -> None:
    """The row callback of the example reads each row from the serial port. No buffer holds a complete input."""
    board = load_board(name)
    models = three_models(tmp_path)
    del models["sums"]
    library = write_library_of(
        tmp_path / "library", models, Target.for_core(board.core, "ram", stream_input=True)
    )
    header = (library / "src/large_model.h").read_text()
    assert "#define LARGE_MODEL_INPUT_0_ROWS 20\n" in header and "large_model_input_0(void)" not in header
    turns = ModelTurns(models, TURNS)
    program = link(library, board, tmp_path)
    assert outputs(board, program, turns) == turns.outputs
    arena_bytes = models["large"].retarget(Target.for_core(board.core, "ram")).plan.arena_bytes
    assert symbols(program)["ar_arena"] - GUARD_BYTES <= arena_bytes


def symbols(elf: Path) -> dict[str, int]:
    """Return the size of each object symbol of a program."""
    with elf.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        return {s.name: s["st_size"] for s in table.iter_symbols() if s["st_info"]["type"] == "STT_OBJECT"}


@pytest.mark.qemu
@pytest.mark.parametrize("optimise", ["speed", "ram"])
def test_two_real_models_share_an_arena(optimise: str, tmp_path: Path) -> None:
    """A keyword model and a wake-word model share an arena of the size of the larger one."""
    board = load_board("qemu_mps2_an386")
    models = {name: prepare(shared_model(f"{name}_int8")) for name in ("kws01", "sww01")}
    target = Target.for_core(board.core, optimise)
    library = write_library_of(tmp_path / "library", models, target)
    turns = ModelTurns(models, 2)
    program = link(library, board, tmp_path)
    assert outputs(board, program, turns) == turns.outputs
    largest = max(p.retarget(target).plan.arena_bytes for p in models.values())
    assert symbols(program)["ar_arena"] == -(-largest // 16) * 16 + GUARD_BYTES


@pytest.mark.qemu
def test_there_is_one_arena_and_unused_symbols_are_not_linked(tmp_path: Path) -> None:
    board = load_board("qemu_mps2_an386")
    models = three_models(tmp_path)
    library = write_library_of(tmp_path / "library", models, Target.for_core(board.core, "speed"))
    sizes = symbols(link(library, board, tmp_path))
    arenas = {name: size - GUARD_BYTES for name, size in sizes.items() if "arena" in name or "memory" in name}
    large = models["large"].retarget(Target.for_core(board.core, "speed")).plan.arena_bytes
    assert set(arenas) == {"ar_arena", "sums_model_memory"}
    assert arenas["ar_arena"] == -(-large // 16) * 16
    # Descriptors, their tables and names are linked only if the program uses them.
    assert not [name for name in sizes if name.endswith(("_model", "_layers", "_inputs", "_name"))]


@pytest.mark.qemu
def test_the_user_can_place_the_arena(tmp_path: Path) -> None:
    """The arena can be in a section of the user's choice, or the user can define it."""
    board = load_board("qemu_mps2_an386")
    models = three_models(tmp_path)
    del models["sums"]
    library = write_library_of(tmp_path / "library", models, Target.for_core(board.core, "speed"))
    section_flag = '-DAR_ARENA_SECTION=__attribute__((section(".noinit.mine")))'
    with link(library, board, tmp_path, section_flag).open("rb") as stream:
        sizes = {section.name: section["sh_size"] for section in ELFFile(stream).iter_sections()}
    assert not sizes.get(".arena") and sizes[".noinit"] > GUARD_BYTES
    with pytest.raises(subprocess.CalledProcessError):
        link(library, board, tmp_path, "-DAR_ARENA_EXTERN")
    (library / "src/own.c").write_text(
        '#include "arenite_arena.h"\n'
        "static union { struct ar_arena arena; uint8_t frame[64]; } shared __attribute__((aligned(16)));\n"
        'extern struct ar_arena ar_arena __attribute__((alias("shared")));\n'
    )
    assert "ar_arena" in symbols(link(library, board, tmp_path, "-DAR_ARENA_EXTERN"))
