"""Generated projects have equal bytes for equal input, and failing builds have clear errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from arenite.errors import AreniteError, DoesNotFitError, ToolError, UsageError
from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.firmware.generator.output_folder import write_folder
from arenite.firmware.generator.project import write_project
from arenite.host.flash.build import build, direct_build, explain_failure, read_manifest
from arenite.profiles.boards import all_boards, load_board
from tests import toy_model

BOARD = "qemu_mps2_an386"


def tree(directory: Path) -> dict[str, bytes]:
    """Return the contents of all files in a folder, by their relative paths."""
    return {str(p.relative_to(directory)): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


def write(directory: Path, board: str = BOARD, extra: str = "", **options: object) -> Path:
    """Write a project of the toy model and return its folder. ``extra`` is C code that is added to the model."""
    return write_project(directory, toy_model.sources(extra), [], load_board(board), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("board", [BOARD, "nucleo_l4r5zi"])
def test_equal_arguments_give_equal_bytes(tmp_path: Path, board: str) -> None:
    write(tmp_path / "a", board, manifest={"model": "m"})
    write(tmp_path / "b", board, manifest={"model": "m"})
    first = tree(tmp_path / "a")
    assert first == tree(tmp_path / "b")
    assert sorted(first) == json.loads(first["arenite.json"])["files"]


def test_a_second_project_in_the_same_folder_replaces_the_first(tmp_path: Path) -> None:
    write(tmp_path / "p", "qemu_riscv32", protocol="mlperf", input_bytes=8)
    (tmp_path / "p/notes.txt").write_text("mine")
    write(tmp_path / "p")
    write(tmp_path / "fresh")
    assert tree(tmp_path / "p") == tree(tmp_path / "fresh") | {"notes.txt": b"mine"}


def test_a_folder_with_other_files_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="is not an Arenite project"):
        write(tmp_path)
    assert list(tree(tmp_path)) == ["thesis.tex"]


@pytest.mark.parametrize("wrong", [{"protocol": "telnet"}, {"optimise": "more"}, {"protocol": "mlperf"}])
def test_wrong_options_are_an_error_and_no_file_is_written(tmp_path: Path, wrong: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        write(tmp_path / "p", **wrong)
    assert not (tmp_path / "p").exists()


@pytest.mark.qemu
@pytest.mark.parametrize("optimise", OPTIMISE_MODES)
def test_weights_arena_and_stack_have_separate_sections(tmp_path: Path, optimise: str) -> None:
    project = write(tmp_path / "p", optimise=optimise, stack_bytes=512)
    with direct_build(project).open("rb") as stream:
        sizes = {section.name: section["sh_size"] for section in ELFFile(stream).iter_sections()}
    assert (sizes[".weights"], sizes[".arena"], sizes[".stack"]) == (16, 32 + 2 * 16, 512)


@pytest.mark.qemu
@pytest.mark.parametrize("name", [b.name for b in all_boards() if b.emulated])
@pytest.mark.slow
def test_serial_and_start_up_stay_small(tmp_path: Path, name: str) -> None:
    """All code except the model must take less than 2.5 KB of flash."""
    with direct_build(write(tmp_path / "p", name)).open("rb") as stream:
        sizes = {section.name: section["sh_size"] for section in ELFFile(stream).iter_sections()}
    assert sizes[".vectors"] + sizes[".text"] < 2560


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize(("board", "region"), [("qemu_microbit", "SRAM"), ("qemu_netduinoplus2", "SRAM")])
@pytest.mark.parametrize("builder", [direct_build, build])
def test_the_error_of_a_too_large_model_states_the_missing_bytes(
    tmp_path: Path, board: str, region: str, builder
) -> None:
    sources = toy_model.sources("big[AT(0)[0]] = 1;")
    ram_bytes = load_board(board).ram_bytes
    sources["model.c"] = sources["model.c"].replace(
        '#include "model.h"', f'#include "model.h"\nstatic volatile uint8_t big[{ram_bytes}];'
    )
    write_project(tmp_path / "p", sources, [], load_board(board))
    with pytest.raises(DoesNotFitError) as caught:
        builder(tmp_path / "p")
    missing = re.search(r"needs ([\d,]+) bytes of (\w+) more", caught.value.problem)
    assert missing is not None
    assert missing.group(2) == region
    # The missing bytes are the stack and the firmware's own data.
    assert 2048 < int(missing.group(1).replace(",", "")) < 3072


@pytest.mark.qemu
@pytest.mark.parametrize("builder", [direct_build, build])
def test_the_error_contains_the_first_compiler_error(tmp_path: Path, builder) -> None:
    with pytest.raises(ToolError, match=r"model\.c:\d+.*error: 'nonsense' undeclared"):
        builder(write(tmp_path / "p", extra="nonsense = 1;"))


@pytest.mark.parametrize("builder", [direct_build, build])
def test_the_error_of_a_missing_compiler_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, builder
) -> None:
    project = write(tmp_path / "p")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="arm-none-eabi-gcc is missing") as caught:
        builder(project)
    assert "apt install gcc-arm-none-eabi" in caught.value.hint


def test_a_folder_without_a_valid_manifest_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"does not contain arenite\.json"):
        read_manifest(tmp_path)
    (tmp_path / "arenite.json").write_text("{")
    with pytest.raises(UsageError, match="is damaged"):
        read_manifest(tmp_path)
    for content in ("{}", "[]"):
        (tmp_path / "arenite.json").write_text(content)
        with pytest.raises(UsageError, match="is not the manifest of a project"):
            read_manifest(tmp_path)


def test_a_manifest_cannot_remove_files_outside_the_project(tmp_path: Path) -> None:
    outside = tmp_path / "kept"
    outside.write_text("mine")
    project = tmp_path / "p"
    project.mkdir()
    (project / "arenite.json").write_text(json.dumps({"files": [str(outside), "../kept", 1]}))
    write(project)
    assert outside.read_text() == "mine"


def test_a_failed_download_of_a_platform_is_explained() -> None:
    error = explain_failure("Platform Manager: Installing ststm32\nHTTPClientError: \n", "nucleo_l4r5zi")
    assert isinstance(error, ToolError) and "could not download" in error.problem and error.hint


def test_a_direct_build_for_a_real_board_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AreniteError, match="is a real board"):
        direct_build(write(tmp_path / "p", "nucleo_l4r5zi"))


@pytest.mark.parametrize(
    ("regions", "goals"),
    [
        (["FLASH"], "--optimise flash,"),
        (["drom0_0_seg"], "--optimise flash,"),
        (["RAM"], "--optimise ram,"),
        (["dram0_0_seg"], "--optimise ram,"),
        (["FLASH", "RAM"], "--optimise ram or flash,"),
    ],
)
def test_a_firmware_that_does_not_link_names_the_goal_that_saves_the_missing_memory(
    regions: list[str], goals: str
) -> None:
    output = "".join(f"ld: region `{region}' overflowed by 12 bytes\n" for region in regions)
    assert goals in explain_failure(output, "pico").hint


@pytest.mark.parametrize("linked", ["src", "src/model.c", "lib/arenite"])
def test_a_link_in_the_folder_does_not_lead_writes_out_of_it(linked: str, tmp_path: Path) -> None:
    victim, project = tmp_path / "victim", tmp_path / "project"
    victim.mkdir()
    (victim / "model.c").write_text("mine")
    (project / linked).parent.mkdir(parents=True)
    (project / linked).symlink_to(victim if "." not in linked else victim / "model.c")
    (project / "arenite.json").write_text('{"files": ["src/model.c", "lib/arenite/model.c"]}')
    with pytest.raises(UsageError, match="is a link"):
        write_folder(project, {"src/model.c": "theirs", "lib/arenite/new.c": "theirs"})
    assert [(p.name, p.read_text()) for p in victim.iterdir()] == [("model.c", "mine")]
