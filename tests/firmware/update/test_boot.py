"""The installation of update images loses nothing when power is cut in any operation on the flash memory."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from arenite.firmware.sources import STATE_STORE, UPDATE
from arenite.profiles.boards import all_boards
from tests.firmware.update.power_cuts import GEOMETRIES, LAYOUTS, STORIES, Geometry, build, combinations, run

CONFIRMED, REFUSED, RETURNED = 1, 2, 3
#: What must have happened in a story.
ENDS = {
    "confirms": {CONFIRMED},
    "rejects": {RETURNED},
    "hangs": {RETURNED},
    "damaged": {REFUSED},
    "downgrade": {CONFIRMED, REFUSED},
    "mixed": {REFUSED},
}
SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
#: Mistakes that the model must find: file, text and what takes its place.
MISTAKES = {
    "a record of an earlier start is believed": (
        "boot_choose.c",
        "if (!boot->written && ar_boot_save(boot) != 0) {",
        "if (0) {",
    ),
    "a step is not saved": (
        "swap.c",
        "        if (ar_boot_save(boot) != 0) {\n            return 1;\n        }\n    }\n    return 0;\n}\n\nint",
        "    }\n    return 0;\n}\n\nint",
    ),
    "the used slot is erased before it is saved": (
        "swap.c",
        "return erase_pages(scratch, 0, count) || copy_pages(scratch, 0, used, page, count);",
        "return erase_pages(used, page, count);",
    ),
    "trials are not counted": ("boot_choose.c", "FIELD_STARTS, 1, starts + 1", "FIELD_STARTS, 1, starts"),
    "the counter does not grow": ("boot_choose.c", "if (new > ar_boot_counter(boot, i)) {", "if (0) {"),
    "code and weights are not compared": (
        "boot_choose.c",
        "if (images[i].abi[k] != images[0].abi[k]) {",
        "if (0) {",
    ),
}


@cache
def _program(folder: Path) -> Path:
    return build(folder, *SANITIZED)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _program(tmp_path_factory.mktemp("boot"))


def test_the_memories_are_those_of_the_boards() -> None:
    known = {(g.page, g.unit, g.check_bits) for g in GEOMETRIES}
    layouts = [board.update for board in all_boards() if board.update is not None]
    assert {(u.page_bytes, u.unit_bytes, u.check_bits) for u in layouts} == known


@pytest.mark.parametrize("second", [0, pytest.param(211, marks=pytest.mark.slow)])
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=lambda g: g.name)
def test_every_first_cut_and_some_second_ones(geometry: Geometry, second: int, program: Path) -> None:
    for layout, story in combinations():
        result = run(program, geometry.shortened, layout, story, second=second)
        assert result["failure"] is None, (LAYOUTS[layout], STORIES[story], result)
        assert result["first"] == result["operations"] > 50
        assert all(result["outcomes"][outcome] > 10 for outcome in ENDS[STORIES[story]])


@pytest.mark.slow
@pytest.mark.parametrize("layout", range(len(LAYOUTS)), ids=lambda n: LAYOUTS[n])
def test_second_cuts_and_groups_of_pages(layout: int, program: Path) -> None:
    for _, story in (pair for pair in combinations() if pair[0] == layout):
        for seed, scratch_pages in ((2, 1), (3, 3)):
            geometry = GEOMETRIES[seed].shortened
            result = run(
                program,
                geometry,
                layout,
                story,
                slot_pages=5,
                scratch_pages=scratch_pages,
                second=9,
                seed=seed,
            )
            assert result["failure"] is None and result["second"] > 100, result


@pytest.mark.slow
@pytest.mark.parametrize("geometry", [g for g in GEOMETRIES if g.page <= 4096], ids=lambda g: g.name)
def test_whole_pages(geometry: Geometry, program: Path) -> None:
    for layout, story in ((0, 1), (2, 0)):
        # Small pages have few operations, so more of them are cut.
        every = 67 if geometry.page >= 1024 else 3
        result = run(program, geometry, layout, story, slot_pages=3, every=every, second=0)
        assert result["failure"] is None and result["first"] > 20, result


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_model_finds_a_mistake(mistake: str, tmp_path: Path) -> None:
    name, old, new = MISTAKES[mistake]
    changed = build(tmp_path, "-O1", changes={name: (old, new)})
    geometry = GEOMETRIES[2].shortened
    found = (run(changed, geometry, *pair, second=3)["failure"] for pair in combinations())
    assert any(found), mistake


@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="needs arm-none-eabi-gcc")
@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4"])
def test_it_compiles_for_cores(core: str, tmp_path: Path) -> None:
    strict = ("-std=c99", "-ffreestanding", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wconversion")
    include = f"-I{STATE_STORE.path('flash.h').parent}"
    for name in ("boot_choose.c", "boot_state.c", "swap.c"):
        target = ("arm-none-eabi-gcc", f"-mcpu={core}", "-mthumb", "-Os", *strict, include)
        subprocess.run([*target, "-c", str(UPDATE.path(name)), "-o", str(tmp_path / "o")], check=True)
