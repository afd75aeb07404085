"""Every function of the kernels is in the section of code that a real board's framework copies to RAM."""

from __future__ import annotations

from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from arenite.errors import UsageError
from arenite.firmware.boards.code_in_ram import has_code_in_ram, place_functions, require_code_in_ram
from arenite.firmware.boards.linker import linker_script
from arenite.firmware.boards.toolchains import GCC, ZIG
from arenite.firmware.generator.features import Features
from arenite.firmware.generator.project import write_project
from arenite.firmware.sizes.measure import engine_files
from arenite.firmware.sources import ENGINE
from arenite.profiles.boards import all_boards, load_board
from tests import toy_model
from tests.firmware.cross_compiler import arduino, compile_project, have_compilers

SOURCE = """\
/* A comment (with a brace) { */
typedef struct {
    int (*run)(int x);
} table;
struct work {
    int n;
};
int ar_outside(int x);
static const int values[] = {1, 2};
static inline int one(int x) { return x; }
int ar_first(const int *restrict p __attribute__((unused)),
             int n)
{
    while (n) { n--; }
    return ar_outside(n);
}
__attribute__((naked)) void ar_second(void)
{
}
"""


def test_each_definition_gets_a_section_with_its_own_name() -> None:
    placed = place_functions(SOURCE, ".ram")
    for name, start in (
        ("one", "static inline int one(int x) {"),
        ("ar_first", "int ar_first(const"),
        ("ar_second", "__attribute__((naked)) void ar_second("),
    ):
        assert f'__attribute__((section(".ram.{name}"))) {start}' in placed
    assert placed.count("section(") == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pico", "rpipico2"])
def test_no_function_of_a_real_board_stays_in_flash(name: str, tmp_path: Path) -> None:
    """The project has every kernel, and compiles without warnings for the board's core."""
    board = load_board(name)
    if not have_compilers(board):
        pytest.skip("needs the cross compiler for its core")
    features = Features(code_in_ram=True)
    project = write_project(tmp_path / "p", toy_model.sources(), engine_files(), board, features=features)
    (tmp_path / "passed").mkdir()
    compile_project(project, board, arduino(project, board, name), tmp_path / "passed")
    kernels = {Path(source).stem for source in engine_files()}
    in_ram, elsewhere = 0, []
    for path in (project / "objects.c").glob("*.o"):
        with path.open("rb") as stream:
            for section in ELFFile(stream).iter_sections():
                if path.stem in kernels and section["sh_flags"] & 4 and section["sh_size"]:  # SHF_EXECINSTR
                    in_ram += section.name.startswith(".time_critical.ar_")
                    elsewhere += (
                        [] if section.name.startswith(".time_critical.") else [(path.stem, section.name)]
                    )
    assert elsewhere == []
    assert in_ram > 150


def test_only_a_project_with_the_option_has_the_attributes(tmp_path: Path) -> None:
    board = load_board("pico")
    for code_in_ram in (False, True):
        features = Features(code_in_ram=code_in_ram)
        project = write_project(tmp_path / "p", toy_model.sources(), ["add_s8.c"], board, features=features)
        text = (project / "lib/arenite/add_s8.c").read_text()
        assert (".time_critical.ar_add_s8" in text) == code_in_ram
        assert (text == ENGINE.read("add_s8.c")) != code_in_ram


def test_the_sources_of_an_emulated_board_are_unchanged(tmp_path: Path) -> None:
    """So the compiler generates the code whose size is stored. Only the linker script differs."""
    board = load_board("qemu_mps2_m0")
    project = write_project(
        tmp_path / "p", toy_model.sources(), ["add_s8.c"], board, features=Features(code_in_ram=True)
    )
    assert (project / "lib/arenite/add_s8.c").read_text() == ENGINE.read("add_s8.c")
    script = (project / "lib/board/link.ld").read_text()
    assert script == linker_script(board, 2048, kernels_in_ram=["add_s8.c"]) != linker_script(board, 2048)


def test_boards_with_an_rp2_and_emulated_boards_have_code_in_ram() -> None:
    names = {board.name for board in all_boards() if has_code_in_ram(board)}
    assert {"pico", "rpipicow", "nanorp2040connect", "rpipico2", "qemu_mps2_m0", "qemu_riscv32"} <= names
    assert not names & {"nucleo_l4r5zi", "esp32dev", "qemu_xtensa_lx106"}


@pytest.mark.parametrize(
    ("name", "toolchain", "message"),
    [
        ("nucleo_l4r5zi", GCC, "--code-in-ram is not for nucleo_l4r5zi"),
        ("qemu_xtensa_lx106", GCC, "--code-in-ram is not for qemu_xtensa_lx106"),
        ("qemu_mps2_m0", ZIG, "--code-in-ram is not for --toolchain zig"),
    ],
)
def test_a_refusal_names_board_or_toolchain(name: str, toolchain: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        require_code_in_ram(load_board(name), toolchain)
    with pytest.raises(UsageError, match=message):
        write_project(
            tmp_path / "p",
            toy_model.sources(),
            [],
            load_board(name),
            features=Features(code_in_ram=True),
            toolchain=toolchain,
        )
    assert not (tmp_path / "p").exists()
