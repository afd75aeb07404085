"""The Zephyr application of a model with updates: its program, its compilation, and its settings.

``ARENITE_ZEPHYR`` names a checkout of Zephyr, whose Kconfig files are compared with the settings.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from arenite.firmware.boards.cores import nearest_core
from arenite.firmware.update.zephyr_boards import ZEPHYR_PARTITIONS, ZEPHYR_UPDATE_BOARDS
from arenite.firmware.update.zephyr_project import MESSAGE_BYTES
from arenite.host.update.coded_frames import MAX_MESSAGE_BYTES
from arenite.host.update.keys import generate_key
from arenite.host.update.update_build import UpdateOptions
from arenite.host.update.zephyr_build import build_zephyr_update
from arenite.profiles.boards import all_boards, load_board
from tests.firmware.cross_compiler import BARE, DECLARED, WARNINGS
from tests.host.small_graphs import classifier, save

pytest.importorskip("cryptography", reason="needs cryptography: pip install 'arenite[update]'")
_HERE = Path(__file__).parent
_STAND_INS = DECLARED / "zephyr"
_SETTING = re.compile(r"^(SB_)?CONFIG_(\w+)=", re.MULTILINE)


def project(folder: Path, board: str) -> Path:
    """Write the application for ``board``. Return its folder."""
    generate_key(folder / "release.pem")
    model = save(classifier(), folder / "model.tflite")
    options = UpdateOptions(folder / "release.pem", "1.0.0", optimise="flash")
    build_zephyr_update(model, load_board(board), options).write(folder / "app")
    return folder / "app"


@pytest.mark.parametrize("board", ZEPHYR_UPDATE_BOARDS)
def test_it_compiles_without_a_warning(board: str, tmp_path: Path) -> None:
    core = nearest_core(load_board(board).core)
    compiler = shutil.which(f"{core.prefix}gcc")
    if compiler is None:
        pytest.skip(f"needs {core.prefix}gcc")
    app = project(tmp_path, board)
    named = re.findall(r"^    (\S+\.c)$", (app / "CMakeLists.txt").read_text(), re.MULTILINE)
    assert sorted(named) == sorted(path.relative_to(app).as_posix() for path in app.rglob("*.c"))
    own = [f"-I{app / name}" for name in ("src", "lib/arenite", "lib/update")]
    flags = [*core.architecture, "-std=gnu17", *WARNINGS, *BARE, "-O2", "-fno-strict-overflow", *own]
    subprocess.run(
        [compiler, *flags, f"-I{_STAND_INS}", "-c", *(str(app / name) for name in named)],
        check=True,
        cwd=tmp_path,
    )


@pytest.mark.parametrize("board", ZEPHYR_UPDATE_BOARDS)
def test_every_board_names_its_target_and_source(board: str) -> None:
    profile = load_board(board)
    assert not profile.emulated and profile.espressif is None
    assert re.fullmatch(r"\w+(/\w+)*", profile.zephyr_target)
    assert profile.sources["zephyr"].startswith("Zephyr boards/")
    others = [
        p.name
        for p in all_boards()
        if p.zephyr_target.partition("/")[0] == profile.zephyr_target.partition("/")[0]
    ]
    assert others == [board]  # `arenite update push` finds the profile by this name


@pytest.mark.parametrize("board", ["nrf52840_dk", "nucleo_f401re"])
def test_boards_with_large_sectors_swap_with_scratch(board: str, tmp_path: Path) -> None:
    app, partitions = project(tmp_path, board), ZEPHYR_PARTITIONS[board]
    assert f"zephyr,uart-mcumgr = &{partitions.uart};" in (app / "app.overlay").read_text()
    mode = "SB_CONFIG_MCUBOOT_MODE_SWAP_SCRATCH=y\n" in (app / "sysbuild.conf").read_text()
    assert mode == partitions.has_large_sectors == (board == "nucleo_f401re")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The program for this computer, and one whose self-test fails."""
    folder = tmp_path_factory.mktemp("zephyr")
    app = project(folder, "frdm_k64f")
    golden = app / "src/golden.c"
    made = []
    for name in ("good", "bad"):
        own = [f"-I{path}" for path in (app / "src", app / "lib/arenite", app / "lib/update", _STAND_INS)]
        program = folder / "main.o"
        common = ["gcc", "-std=gnu17", "-DAR_HOST", "-O1", "-Wall", "-Wextra", "-Werror", *own]
        subprocess.run(
            [*common, "-Dmain=zephyr_main", "-c", str(app / "src/main.c"), "-o", str(program)], check=True
        )
        sources = [str(path) for path in app.rglob("*.c") if path.name != "main.c"]
        board = str(_HERE / "zephyr_board.c")
        made.append(folder / name)
        subprocess.run([*common, "-w", board, *sources, str(program), "-o", str(made[-1])], check=True)
        text = golden.read_text()
        golden.write_text(re.sub(r"0x([0-9a-f]{8})u?}", lambda m: f"0x{int(m[1], 16) ^ 1:08x}u}}", text))
        assert golden.read_text() != text
    return made[0], made[1]


@pytest.mark.parametrize(
    ("is_good", "arguments", "code", "lines"),
    [
        (True, (), 0, ["3 samples passed", "starts 0 stops 0"]),
        (True, ("trial",), 0, ["3 samples passed", "confirm", "update confirmed", "starts 1 stops 1"]),
        (True, ("trial", "fails"), 3, ["3 samples passed", "confirm", "update returned", "reboot 1"]),
        (True, ("trial", "hangs"), 3, ["reboot 1"]),
        (False, (), 0, ["failed with 1", "starts 0 stops 0"]),
        (False, ("trial",), 3, ["failed with 1", "update returned", "reboot 1"]),
    ],
)
def test_an_image_on_trial_confirms_itself_only_after_its_test(
    programs: tuple[Path, Path], is_good: bool, arguments: tuple[str, ...], code: int, lines: list[str]
) -> None:
    result = subprocess.run([programs[not is_good], *arguments], capture_output=True, text=True)
    assert result.returncode == code, result.stderr
    assert [line.removeprefix("self-test ") for line in result.stdout.splitlines()][-len(lines) :] == lines


def test_the_page_lists_the_boards() -> None:
    page = (Path(__file__).parents[4] / "docs/update-zephyr.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert sorted(re.findall(r"`(\w+)`", "\n".join(rows))) == list(ZEPHYR_UPDATE_BOARDS)


def test_messages_fit_the_buffers() -> None:
    assert MAX_MESSAGE_BYTES + 4 <= MESSAGE_BYTES


def test_zephyr_has_every_setting(tmp_path: Path) -> None:
    zephyr = Path(os.environ.get("ARENITE_ZEPHYR", "/nonexistent"))
    if not zephyr.is_dir():
        pytest.skip("needs a checkout of Zephyr: ARENITE_ZEPHYR")
    defined: dict[bool, set[str]] = {False: set(), True: set()}
    for path in zephyr.rglob("Kconfig*"):
        if path.is_file():
            names = re.findall(r"^\s*(?:menu)?config (\w+)", path.read_text(errors="replace"), re.MULTILINE)
            defined["sysbuild" in path.relative_to(zephyr).parts].update(names)
    app = project(tmp_path, "nucleo_f401re")
    for name in ("prj.conf", "sysbuild.conf"):
        settings = _SETTING.findall((app / name).read_text())
        assert settings
        assert [name for prefix, name in settings if name not in defined[prefix == "SB_"]] == []
