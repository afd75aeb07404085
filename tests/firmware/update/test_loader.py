"""The boot loader on emulated boards installs images, returns to the old ones, and refuses and repairs images."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from arenite.errors import DoesNotFitError, UsageError
from arenite.firmware.update.layout import update_layout
from arenite.firmware.update.loader import build_loader
from arenite.host.emulator.flash_file import new_flash, start_updatable
from arenite.profiles.boards import load_board
from tests.firmware.update.image_check import library_or_skip, public_key
from tests.firmware.update.loader_board import (
    Images,
    build_program,
    make_flash,
    run_board,
    sign_images,
    skip_without_tools,
)

pytestmark = pytest.mark.qemu
BOARDS = ("qemu_mps2_an386", "qemu_microbit")
#: One board is enough for what does not depend on the core.
ONE_BOARD = BOARDS[:1]
_STEADY, _TRIAL = 0, 3
_NO_UPDATE, _CONFIRMED, _REFUSED, _RETURNED, _REPAIRED = range(5)
_MAGIC, _TLV_TYPE, _COUNTER, _KEY, _ABI_DIFFERS = 3, 11, 24, 25, 255


class Setup:
    """A boot loader, and images of firmware and model with counter 1: the old ones (1 and 11), the new ones (2 and
    22), and new ones that hang."""

    def __init__(self, name: str, folder: Path) -> None:
        skip_without_tools()
        library_or_skip("ed25519")
        self.board, self.folder = load_board(name), folder
        self.loader = build_loader(self.board, public_key(), folder / "loader")
        self.payloads = [build_program(self.board, folder, number) for number in (1, 2)]
        self.old = sign_images(self.board, self.payloads[0], 11)
        self.new = sign_images(self.board, self.payloads[1], 22)

    def flash(self, used: Images, unused: Images | None = None) -> Path:
        return make_flash(self.board, self.folder / "flash.bin", used, unused)


@pytest.fixture(scope="module")
def setups(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Setup]:
    return {}


@pytest.fixture
def setup(
    request: pytest.FixtureRequest, setups: dict[str, Setup], tmp_path_factory: pytest.TempPathFactory
) -> Setup:
    name = request.param
    if name not in setups:
        setups[name] = Setup(name, tmp_path_factory.mktemp(name))
    return setups[name]


def says(program: int, model: int, phase: int, outcome: int, reason: int = 0, counter: int = 0) -> str:
    return (
        f"program {program} model {model} phase {phase} outcome {outcome} reason {reason} counter {counter}"
    )


@pytest.mark.parametrize("setup", BOARDS, indirect=True)
def test_new_images_are_installed_confirmed_and_survive_the_emulator(setup: Setup) -> None:
    flash = setup.flash(setup.old, setup.new)
    with run_board(setup.board, setup.loader.elf, flash) as board:
        assert board.line() == says(1, 11, _STEADY, _NO_UPDATE)
        assert board.install() == says(2, 22, _TRIAL, _NO_UPDATE)
        assert board.ask(b"C") == "done"
        board.emulator.cut()
    with run_board(setup.board, setup.loader.elf, flash) as board:
        assert board.line() == says(2, 22, _STEADY, _CONFIRMED, counter=1)
        slots = update_layout(setup.board)
        assert board.emulator.read(slots.firmware[0]).startswith(setup.new.firmware)
        assert board.emulator.read(slots.model[0]).startswith(setup.new.model)
        assert board.emulator.read(slots.firmware[1]).startswith(setup.old.firmware)


@pytest.mark.slow
@pytest.mark.parametrize("setup", BOARDS, indirect=True)
def test_loader_with_an_ecdsa_key_takes_only_images_that_it_signs(setup: Setup) -> None:
    library_or_skip("ecdsa-p256")
    loader = build_loader(setup.board, public_key("ecdsa-p256"), setup.folder / "ecdsa").elf
    old, new = (
        sign_images(setup.board, payload, number, algorithm="ecdsa-p256")
        for payload, number in zip(setup.payloads, (11, 22), strict=True)
    )
    with run_board(setup.board, loader, setup.flash(old, new)) as board:
        assert board.line() == says(1, 11, _STEADY, _NO_UPDATE)
        assert board.install() == says(2, 22, _TRIAL, _NO_UPDATE)
    with run_board(setup.board, loader, setup.flash(old, setup.new)) as board:
        assert board.line() == says(1, 11, _STEADY, _NO_UPDATE)
        assert board.install() == says(1, 11, _STEADY, _REFUSED, _TLV_TYPE)


@pytest.mark.slow
@pytest.mark.parametrize("setup", BOARDS, indirect=True)
def test_small_loader_takes_the_same_images(setup: Setup) -> None:
    library_or_skip("ed25519-small")
    loader = build_loader(setup.board, public_key(), setup.folder / "small", small=True)
    assert loader.bytes < setup.loader.bytes - 5000
    foreign = sign_images(setup.board, setup.payloads[1], 22, foreign=True)
    with run_board(setup.board, loader.elf, setup.flash(setup.old, setup.new)) as board:
        assert board.line() == says(1, 11, _STEADY, _NO_UPDATE)
        assert board.install() == says(2, 22, _TRIAL, _NO_UPDATE)
    with run_board(setup.board, loader.elf, setup.flash(setup.old, foreign)) as board:
        assert board.line() == says(1, 11, _STEADY, _NO_UPDATE)
        assert board.install() == says(1, 11, _STEADY, _REFUSED, _KEY)


@pytest.mark.slow
@pytest.mark.parametrize("setup", BOARDS, indirect=True)
def test_images_that_do_not_confirm_themselves_are_put_back(setup: Setup) -> None:
    with run_board(setup.board, setup.loader.elf, setup.flash(setup.old, setup.new)) as board:
        assert board.line() == says(1, 11, _STEADY, _NO_UPDATE)
        assert board.install() == says(2, 22, _TRIAL, _NO_UPDATE)
        assert board.reset() == says(2, 22, _TRIAL, _NO_UPDATE)
        board.send(b"H")
        board.emulator.reset()
        assert board.line() == says(2, 22, _TRIAL, _NO_UPDATE)
        assert board.reset() == says(1, 11, _STEADY, _RETURNED)


@pytest.mark.slow
@pytest.mark.parametrize("setup", BOARDS, indirect=True)
def test_images_that_reject_themselves_are_put_back(setup: Setup) -> None:
    with run_board(setup.board, setup.loader.elf, setup.flash(setup.old, setup.new)) as board:
        board.line()
        assert board.install() == says(2, 22, _TRIAL, _NO_UPDATE)
        assert board.ask(b"J\x2a") == "done"
        assert board.reset() == says(1, 11, _STEADY, _RETURNED, 42)


@pytest.mark.slow
@pytest.mark.parametrize("setup", ONE_BOARD, indirect=True)
def test_watchdog_resets_a_firmware_that_hangs_on_trial(setup: Setup) -> None:
    payload = build_program(setup.board, setup.folder / "hangs", 3, "PROGRAM_HANGS=1")
    flash = setup.flash(setup.old, sign_images(setup.board, payload, 33))
    with run_board(setup.board, setup.loader.elf, flash, icount=True) as board:
        assert board.line() == says(1, 11, _STEADY, _NO_UPDATE)
        assert board.install() == says(3, 33, _TRIAL, _NO_UPDATE)
        assert board.line() == says(3, 33, _TRIAL, _NO_UPDATE)
        assert board.line() == says(3, 33, _TRIAL, _NO_UPDATE)
        assert board.line() == says(1, 11, _STEADY, _RETURNED)


@pytest.mark.slow
@pytest.mark.parametrize("setup", BOARDS, indirect=True)
def test_forged_images_are_refused(setup: Setup) -> None:
    forged = sign_images(setup.board, setup.payloads[1], 22, foreign=True)
    with run_board(setup.board, setup.loader.elf, setup.flash(setup.old, forged)) as board:
        board.line()
        assert board.install() == says(1, 11, _STEADY, _REFUSED, _KEY)


@pytest.mark.slow
@pytest.mark.parametrize("setup", ONE_BOARD, indirect=True)
def test_one_changed_byte_is_refused(setup: Setup) -> None:
    changed = bytearray(setup.new.model)
    changed[100] ^= 1
    flash = setup.flash(setup.old, replace(setup.new, model=bytes(changed)))
    with run_board(setup.board, setup.loader.elf, flash) as board:
        board.line()
        assert board.install() == says(1, 11, _STEADY, _REFUSED, 26)


@pytest.mark.slow
@pytest.mark.parametrize("setup", BOARDS, indirect=True)
def test_older_images_are_refused_after_a_confirmation(setup: Setup) -> None:
    newer = sign_images(setup.board, setup.payloads[1], 22, counter=5)
    with run_board(setup.board, setup.loader.elf, setup.flash(setup.old, newer)) as board:
        board.line()
        board.install()
        assert board.ask(b"C") == "done"
        assert board.reset() == says(2, 22, _STEADY, _CONFIRMED, counter=5)
        assert board.install() == says(2, 22, _STEADY, _REFUSED, _COUNTER, counter=5)


@pytest.mark.slow
@pytest.mark.parametrize("setup", BOARDS, indirect=True)
def test_model_alone_is_replaced_only_by_one_of_the_same_firmware(setup: Setup) -> None:
    retrained = sign_images(setup.board, setup.payloads[0], 44)
    with run_board(setup.board, setup.loader.elf, setup.flash(setup.old, retrained)) as board:
        board.line()
        assert board.install(pairs=2) == says(1, 44, _TRIAL, _NO_UPDATE)
        assert board.ask(b"C") == "done"
    with run_board(setup.board, setup.loader.elf, setup.flash(setup.old, setup.new)) as board:
        board.line()
        assert board.install(pairs=2) == says(1, 11, _STEADY, _REFUSED, _ABI_DIFFERS)


@pytest.mark.slow
@pytest.mark.parametrize("setup", BOARDS, indirect=True)
@pytest.mark.parametrize("pair", [0, 1])
def test_damaged_image_is_replaced_by_that_of_the_other_slot(setup: Setup, pair: int) -> None:
    with run_board(setup.board, setup.loader.elf, setup.flash(setup.old, setup.old)) as board:
        board.line()
        assert board.ask(b"D" + bytes([pair, 0])) == "done"
        assert board.reset() == says(1, 11, _TRIAL, _REPAIRED)
        assert board.ask(b"C") == "done"
        assert board.reset() == says(1, 11, _STEADY, _CONFIRMED, counter=1)


@pytest.mark.slow
@pytest.mark.parametrize("setup", BOARDS, indirect=True)
def test_loader_says_again_and_again_why_nothing_may_run(setup: Setup) -> None:
    forged = sign_images(setup.board, setup.payloads[0], 11, foreign=True)
    expected = "arenite loader: no images may run together: slots firmware 25 3, model 25 3"
    # With icount, three seconds take the time of their instructions.
    with run_board(setup.board, setup.loader.elf, setup.flash(forged), icount=True) as board:
        assert board.line() == expected
        assert board.line() == expected


@pytest.mark.slow
@pytest.mark.parametrize("setup", ONE_BOARD, indirect=True)
def test_payload_at_another_offset_is_refused(setup: Setup) -> None:
    images = sign_images(setup.board, setup.payloads[1], 22, firmware_header=1024)
    with run_board(setup.board, setup.loader.elf, setup.flash(setup.old, images)) as board:
        board.line()
        assert board.install() == says(1, 11, _STEADY, _REFUSED, 4)


def test_wrong_calls_are_refused(tmp_path: Path) -> None:
    board = load_board("qemu_mps2_an386")
    with pytest.raises(UsageError, match="The public key has 31 bytes, expected 32"):
        build_loader(board, bytes(31), tmp_path)
    with pytest.raises(UsageError, match="qemu_riscv32"):
        build_loader(load_board("qemu_riscv32"), bytes(32), tmp_path)
    with pytest.raises(UsageError, match="The image of the model has 4194305 bytes, but its slot on"):
        new_flash(board, tmp_path / "flash.bin", b"", bytes(4194305))
    with (
        pytest.raises(UsageError, match="has no flash memory of qemu_mps2_an386"),
        start_updatable(board, tmp_path / "loader.elf", tmp_path / "flash.bin"),
    ):
        pass


def test_loader_that_is_larger_than_its_area_is_refused(tmp_path: Path) -> None:
    skip_without_tools()
    library_or_skip("ed25519")
    board = load_board("qemu_mps2_an386")
    assert board.update is not None
    small = replace(board, update=replace(board.update, loader_bytes=8192))
    with pytest.raises(DoesNotFitError, match="The boot loader does not fit"):
        build_loader(small, public_key(), tmp_path)
