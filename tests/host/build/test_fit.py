"""``choose`` returns the fastest build that fits a board, to the byte. If no build fits, it reports the missing
bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import arenite.host.build.fit as fit_module
from arenite.errors import UsageError
from arenite.firmware.generator.generated_model import Generated
from arenite.host.build.fit import AUTOMATIC_GOALS, BuildChoice, choose, needs, verdicts
from arenite.host.build.fit_verdict import FirmwareRequirements
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared, prepare
from arenite.profiles.boards import Board, load_board
from tests.host.small_graphs import classifier, counter, save

BOARD = load_board("qemu_mps2_an386")

#: (RAM, flash) of each mode in these tests, in bytes. "speed" is the fastest mode, "ram" has the least RAM, "flash" the
#: least flash, and "balanced" is between them.
SIZES = {"speed": (5000, 9000), "balanced": (5000, 8000), "ram": (3000, 8200), "flash": (5200, 6000)}
#: (RAM, flash) of a build with streamed input.
STREAMED = (2000, 8200)


def of_size(flash: int, ram: int) -> Board:
    """Return the board with the given sizes in bytes."""
    return replace(
        BOARD, flash=(replace(BOARD.flash[0], size=flash),), ram=(replace(BOARD.ram[0], size=ram),)
    )


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(save(classifier(), tmp_path_factory.mktemp("fit") / "small.tflite"))


@pytest.fixture
def known_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the computed sizes of builds by ``SIZES``."""

    def sized(generated: Generated, board: Board, optimise: str, *_: object) -> FirmwareRequirements:
        ram, flash = SIZES[optimise] if generated.streamed_input is None else STREAMED
        return FirmwareRequirements(optimise, ram - 900, 400, 500, 1000, flash - 1000, True, 1e6, 1.3)

    monkeypatch.setattr(fit_module, "needs", sized)


def chosen(small: Prepared, flash: int, ram: int, optimise: str | None = None) -> BuildChoice:
    """Return the choice for a board of the given size, after checking that its parts agree."""
    choice = choose(small, of_size(flash, ram), BuildOptions(optimise))
    assert choice.optimise == choice.prepared.target.optimise == choice.verdict.to_json()["optimise"]
    assert choice.generated is choice.prepared.generated
    return choice


@pytest.mark.usefixtures("known_sizes")
@pytest.mark.parametrize(
    ("flash", "ram", "mode"),
    [
        (9000, 5000, "speed"),
        (1 << 20, 1 << 20, "speed"),
        (8999, 5000, "balanced"),
        (8000, 5000, "balanced"),
        (9000, 4999, "ram"),
        (8200, 3000, "ram"),
        (7999, 5200, "flash"),
        (6000, 5200, "flash"),
    ],
)
def test_the_first_mode_that_fits_is_chosen(small: Prepared, flash: int, ram: int, mode: str) -> None:
    choice = chosen(small, flash, ram)
    assert choice.optimise == mode
    assert choice.verdict.fits and choice.verdict.reasons == () and choice.verdict.missing == 0


@pytest.mark.usefixtures("known_sizes")
@pytest.mark.parametrize(
    ("flash", "ram", "mode", "reasons"),
    [
        # The RAM is one byte too small for every mode: the verdict names the nearest mode and the effect of a streamed
        # input.
        (9000, 2999, "ram", ["needs 1 B more SRAM: try --optimise ram --stream-input (then 2,000 B)"]),
        (5999, 5200, "flash", ["needs 1 B more flash"]),
        (9000, 1999, "ram", ["needs 1,001 B more SRAM"]),
        # The mode balanced needs 1 B more RAM and 900 B more flash, the mode flash only 201 B more RAM.
        (7100, 4999, "flash", ["needs 201 B more SRAM"]),
    ],
)
def test_if_nothing_fits_the_verdict_names_the_nearest_mode(
    small: Prepared, flash: int, ram: int, mode: str, reasons: list[str]
) -> None:
    choice = chosen(small, flash, ram)
    assert choice.optimise == mode and list(choice.verdict.reasons) == reasons
    assert not choice.verdict.fits


@pytest.mark.usefixtures("known_sizes")
def test_a_given_mode_is_kept_or_rejected_with_advice(small: Prepared) -> None:
    assert chosen(small, 9000, 5200, "flash").optimise == "flash"
    refused = chosen(small, 8999, 5000, "speed")
    assert refused.optimise == "speed" and not refused.verdict.fits
    assert refused.verdict.reasons == ("needs 1 B more flash: try --optimise balanced (then 8,000 B)",)
    # The mode balanced would fit the flash, but not the RAM.
    refused = chosen(small, 8200, 3000, "speed")
    assert refused.verdict.reasons == (
        "needs 2,000 B more SRAM: try --optimise ram (then 3,000 B)",
        "needs 800 B more flash: try --optimise ram (then 8,200 B)",
    )


@pytest.mark.usefixtures("known_sizes")
def test_stream_input_is_not_advised_for_models_that_cannot_stream(small: Prepared, tmp_path: Path) -> None:
    stateful = prepare(save(counter(), tmp_path / "counter.tflite"))
    assert choose(stateful, of_size(9000, 2999)).verdict.reasons == ("needs 1 B more SRAM",)
    monitor = choose(small, of_size(9000, 2999), BuildOptions(protocol="mlperf"))
    assert monitor.verdict.reasons == ("needs 1 B more SRAM",)


def test_real_sizes_are_limits_to_the_byte(small: Prepared) -> None:
    """A build in a mode, or in a faster mode, fits a board that has exactly the memory that the mode needs. With one
    byte less, this mode does not fit."""
    for index, mode in enumerate(AUTOMATIC_GOALS):
        exact = chosen(small, 1 << 22, 1 << 22, mode).verdict.needs
        choice = chosen(small, exact.flash, exact.ram)
        assert choice.verdict.fits and AUTOMATIC_GOALS.index(choice.optimise) <= index
        for flash, ram in ((exact.flash - 1, exact.ram), (exact.flash, exact.ram - 1)):
            smaller = chosen(small, flash, ram)
            assert not (smaller.optimise == mode and smaller.verdict.fits)
            assert not chosen(small, flash, ram, mode).verdict.fits


def test_each_board_gets_its_own_choice(small: Prepared) -> None:
    roomy = chosen(small, 1 << 22, 1 << 22, "speed").verdict.needs
    boards = [of_size(1 << 20, 1 << 20), of_size(roomy.flash - 1, 1 << 20)]
    first, second = verdicts(small, boards)
    assert first.needs.optimise == "speed" != second.needs.optimise
    assert needs(small.retarget(choose(small, boards[0]).prepared.target).generated, BOARD, "speed") == (
        first.needs
    )


@pytest.mark.usefixtures("known_sizes")
def test_a_build_with_streamed_input_is_chosen_on_request(small: Prepared, tmp_path: Path) -> None:
    (verdict,) = verdicts(small, [of_size(9000, 2000)], BuildOptions(stream_input=True))
    assert verdict.fits and verdict.needs.ram == STREAMED[0]
    stateful = prepare(save(counter(), tmp_path / "counter.tflite"))
    with pytest.raises(UsageError, match="cannot take its input row by row"):
        verdicts(stateful, [BOARD], BuildOptions(stream_input=True))
