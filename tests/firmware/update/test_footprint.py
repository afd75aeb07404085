"""The check of an image, and a whole updater, run on emulated cores within the flash and RAM that docs/update-images.md
promises."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from arenite.host.update.reasons import REASONS
from tests.firmware.update import footprint, updater
from tests.firmware.update.image_check import ALGORITHMS, HAS_IMGTOOL, NO_IMGTOOL
from tests.firmware.update.updater import MACHINES

PAGE = Path(__file__).parents[3] / "docs" / "update-images.md"
#: Other releases of gcc make code of other sizes. The page gives the figures of one of them.
TOLERANCE = 0.05
#: The checks with which an updater fits where memory is short.
SMALL = ("ed25519-small", "ecdsa-p256")
#: Bytes of flash and of RAM that an updater may take where memory is short.
MAX_FLASH_BYTES, MAX_RAM_BYTES = 16384, 2048

pytestmark = [
    pytest.mark.slow,
    pytest.mark.qemu,
    pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL),
    pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="needs arm-none-eabi-gcc"),
    pytest.mark.parametrize("core", MACHINES),
]


def figures(core: str, algorithm: str, count: int) -> list[int]:
    """Return the figures in the row with ``count`` figures for ``core`` and ``algorithm`` of a table of the page."""
    name = core.replace("cortex-m", "Cortex-M")
    row = re.search(
        rf"^\| {name} \| {algorithm} \|((?: [\d,]+ \|){{{count}}})$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    assert row is not None
    return [int(cell.replace(",", "")) for cell in row[1].strip(" |").split("|")]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_check_runs_on_the_core_with_the_figures_of_the_page(core: str, algorithm: str) -> None:
    check = footprint.measure(core, algorithm)
    assert check.result == 0
    assert [check.code_bytes, check.stack_bytes] == pytest.approx(figures(core, algorithm, 2), rel=TOLERANCE)
    assert check.stack_bytes <= MAX_RAM_BYTES


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_core_refuses_a_changed_signature(core: str, algorithm: str) -> None:
    """On these cores, p256-m multiplies with instructions of its own."""
    image = footprint.signed_image(algorithm)
    refused = footprint.measure(core, algorithm, image[:-1] + bytes([image[-1] ^ 1]))
    assert REASONS[refused.result][0] == "SIGNATURE"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_updater_runs_with_the_figures_of_the_page(core: str, algorithm: str) -> None:
    one, loader, *applications = (updater.measure(core, algorithm, program) for program in updater.PROGRAMS)
    run, answer = one.results
    assert run == 1  # AR_BOOT_RUN
    # The phase is AR_BOOT_REQUESTED, ar_boot_confirm and ar_boot_reject were refused, and an answer was sent.
    assert answer // 1000 == 12 and answer % 1000 > 100
    assert loader.results[0] == run and applications[0].results[1] == answer
    # There is no trial, so ar_update_confirm and ar_update_reject were refused.
    assert applications[1].results[1] // 1000 == 2 and applications[1].results[1] % 1000 > 100
    flash_bytes, ram_bytes, instructions = figures(core, algorithm, 3)
    assert [one.flash_bytes, one.ram_bytes] == pytest.approx([flash_bytes, ram_bytes], rel=TOLERANCE)
    # The check's time depends on the bits of a hash, and so on the random key: 5.7 % less was seen.
    assert one.check_instructions == pytest.approx(instructions, rel=3 * TOLERANCE)
    measured = [loader.flash_bytes, loader.ram_bytes]
    for each in applications:
        measured += [each.flash_bytes, each.ram_bytes, loader.flash_bytes + each.flash_bytes]
    assert measured == pytest.approx(figures(core, algorithm, 8), rel=TOLERANCE)


@pytest.mark.parametrize("algorithm", SMALL)
def test_one_program_fits_where_memory_is_short(core: str, algorithm: str) -> None:
    small = ("-DAR_SMP_BUFFER_BYTES=416", "-DAR_SMP_RING_BYTES=32")
    one = updater.measure(core, algorithm, "one program", *small)
    assert one.results[0] == 1
    assert one.flash_bytes <= MAX_FLASH_BYTES
    assert one.ram_bytes <= MAX_RAM_BYTES


@pytest.mark.parametrize("algorithm", SMALL)
def test_two_programs_fit_where_memory_is_short(core: str, algorithm: str) -> None:
    """With the buffers that are the default."""
    loader, application = (updater.measure(core, algorithm, name) for name in ("boot loader", "application"))
    assert loader.flash_bytes + application.flash_bytes <= MAX_FLASH_BYTES
    assert max(loader.ram_bytes, application.ram_bytes) <= MAX_RAM_BYTES
