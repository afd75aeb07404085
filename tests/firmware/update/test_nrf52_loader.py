"""The boot loader of an nRF52840 runs in a model of the chip: it chooses, swaps and starts images, and explains why
none may run. No real chip has run it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.firmware.boards.cores import nearest_core
from arenite.firmware.sources import UPDATE
from arenite.firmware.update.layout import update_layout
from arenite.firmware.update.loader import build_loader, layout_header, memory_sources
from arenite.profiles.boards import all_boards, load_board
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, library_or_skip, public_key
from tests.firmware.update.loader_board import sign_images
from tests.firmware.update.nrf52_chip import (
    CONFIRM,
    CONFIRMED,
    NO_UPDATE,
    REJECT,
    RESET,
    RETURNED,
    STEADY,
    TRIAL,
    UPLOAD,
    Chip,
    Device,
    build_device,
    needs_unicorn,
    run_cuts,
    start_chip,
)

pytestmark = [
    needs_unicorn,
    pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL),
    pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="needs arm-none-eabi-gcc"),
]
OLD, NEW = (1, 11), (2, 22)


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Device:
    library_or_skip("ed25519")
    return build_device(tmp_path_factory.mktemp("nrf52"))


@pytest.fixture
def chip(device: Device, tmp_path: Path) -> Iterator[Chip]:
    with start_chip(tmp_path, device.flash(), device.new) as chip:
        yield chip


def test_images_are_uploaded_swapped_and_confirmed(device: Device, chip: Chip) -> None:
    layout = update_layout(device.board)
    run = chip.run(UPLOAD)
    assert (run.images, run.state, run.end) == (OLD, (STEADY, NO_UPDATE, 0, 0), "done")
    assert run.vectors == layout.firmware[0].origin + layout.firmware_header_bytes and not run.watchdog
    run = chip.run(CONFIRM)
    assert run.images == NEW and run.state[0] == TRIAL and run.watchdog
    run = chip.run()
    assert (run.images, run.state, run.watchdog) == (NEW, (STEADY, CONFIRMED, 0, 2), False)
    for area, image in ((layout.firmware, "firmware"), (layout.model, "model")):
        for slot, images in zip(area, (device.new, device.old), strict=True):
            data = getattr(images, image)
            assert chip.read(slot.origin, len(data)) == data


def test_images_that_reject_themselves_or_hang_are_put_back(chip: Chip) -> None:
    chip.run(UPLOAD)
    assert chip.run(REJECT).images == NEW
    run = chip.run(UPLOAD)
    assert (run.images, run.state) == (OLD, (STEADY, RETURNED, 99, 0))
    assert [chip.run(RESET).images for _ in range(3)] == [
        NEW
    ] * 3  # the watchdog resets a firmware that hangs
    run = chip.run()
    assert run.images == OLD and run.state[:2] == (STEADY, RETURNED)


def test_the_loader_explains_why_nothing_may_run(device: Device, tmp_path: Path) -> None:
    payload = device.loader.binary.read_bytes()[:2000]
    forged = sign_images(device.board, payload, 11, foreign=True)
    with start_chip(tmp_path, device.flash(forged), device.new) as chip:
        run = chip.run()
        assert run.text == "arenite loader: no images may run together: slots firmware 25 3, model 25 3\r\n"
        assert run.end == "text" and not run.report and not run.watchdog


def test_flash_and_stack_of_the_loader_are_those_of_the_docs(device: Device, chip: Chip) -> None:
    page = (Path(__file__).parents[3] / "docs" / "update-install.md").read_text("utf-8")
    small = build_loader(device.board, public_key(), device.loader.elf.parent / "small", small=True)
    stack = max(chip.run(command).stack for command in (UPLOAD, CONFIRM))
    row = next(line for line in page.splitlines() if line.startswith("| `nrf52840_dk`"))
    for number in (device.loader.bytes, small.bytes):
        assert f"{number:,} B" in row, (number, row)
    assert f"{stack:,} B of stack" in row, (stack, row)


@pytest.mark.slow
def test_random_cuts_lose_nothing(device: Device, tmp_path: Path) -> None:
    results = run_cuts(device, tmp_path, 12, seed=5)
    assert sum(results.values()) >= 12 and len(results) == 2


def test_loaders_of_nrf52_are_linked_for_their_boards(tmp_path: Path) -> None:
    library_or_skip("ed25519")
    boards = [b for b in all_boards() if b.update is not None and b.update.family == "nrf52"]
    assert {"nrf52840_dk", "nrf52_dk", "nano33ble", "bbcmicrobit_v2"} == {b.name for b in boards}
    for board in boards:
        loader = build_loader(board, public_key(), tmp_path / board.name)
        stack, start = (int.from_bytes(loader.binary.read_bytes()[k : k + 4], "little") for k in (0, 4))
        flash, ram = board.flash[0], board.ram[0]
        assert flash.origin < start < flash.origin + loader.bytes
        assert ram.origin + ram.size - 6144 < stack < ram.origin + ram.size


def test_slots_of_every_board_compile_with_the_driver_of_its_memory(tmp_path: Path) -> None:
    for board in all_boards():
        if board.update is None:
            continue
        (tmp_path / "update_layout.h").write_text(layout_header(board))
        core = nearest_core(board.core)
        command = [f"{core.prefix}gcc", *core.architecture, "-std=c99", "-Os", "-Wall", "-Wextra", "-Werror"]
        command += ["-ffreestanding", f"-I{tmp_path}", *UPDATE.include_flags, "-c", "-o", str(tmp_path / "o")]
        for name in ("slots.c", *(name for name in memory_sources(board) if name.startswith("flash_"))):
            subprocess.run([*command, str(UPDATE.path(name))], check=True)


def test_a_board_without_pin_has_a_silent_loader(device: Device, tmp_path: Path) -> None:
    assert device.board.update is not None
    silent = replace(device.board, update=replace(device.board.update, tx_pin=None))
    assert build_loader(silent, public_key(), tmp_path).bytes < device.loader.bytes


def test_real_boards_without_a_loader_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no boot loader for the real board nucleo_l476rg yet"):
        build_loader(load_board("nucleo_l476rg"), bytes(32), tmp_path)
