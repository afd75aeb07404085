"""Firmware for ``qemu_mps2_m0`` has no instruction beyond Armv6-M. The emulated machine has a Cortex-M3, so it would
also run code that a Cortex-M0 or M0+ cannot."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import prepare
from arenite.host.build.project import generate_project
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import load_board
from tests.firmware.sizes.mixed_model import MIXES, mix
from tests.host.small_graphs import classifier, save

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("arm-none-eabi-objdump") is None, reason="no disassembler"),
]
BOARD = "qemu_mps2_m0"
#: All instructions of Armv6-M that have 16 bits (Arm DDI 0419E, A6.7), without the suffixes of conditions and widths.
_NARROW = (
    "adcs add adds adr ands asrs b bics bkpt blx bx cmn cmp cpsid cpsie eors ldmia ldr ldrb ldrh ldrsb ldrsh lsls lsrs"
    " mov movs muls mvns negs nop orrs pop push rev rev16 revsh rors rsbs sbcs sev stmia str strb strh sub subs svc"
    " sxtb sxth tst udf uxtb uxth wfe wfi yield"
)
NARROW = set(_NARROW.split())
#: Those that have 32 bits.
WIDE = {"bl", "dmb", "dsb", "isb", "mrs", "msr", "udf"}
CONDITIONS = "eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
_LINE = re.compile(r"^ *[0-9a-f]+:\t((?:[0-9a-f]{4} ?){1,2}) *\t(\S+)")


def foreign_instructions(elf: Path) -> tuple[int, set[str]]:
    """Return the number of instructions in an ELF file, and the mnemonics of those that are not in Armv6-M."""
    command = ["arm-none-eabi-objdump", "-d", "-z", "-M", "force-thumb", str(elf)]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    count, foreign = 0, set()
    for line in listing.splitlines():
        match = _LINE.match(line)
        if match is None or match[2].startswith("."):  # a constant between instructions
            continue
        count += 1
        is_wide = len(match[1].replace(" ", "")) == 8
        mnemonic = match[2].removesuffix(".n").removesuffix(".w")
        mnemonic = re.sub(rf"^b(?:{CONDITIONS})$", "b", mnemonic)
        if mnemonic not in (WIDE if is_wide else NARROW):
            foreign.add(match[2])
    return count, foreign


def build(model: Path, board: str, optimise: str, folder: Path) -> Path:
    project = generate_project(prepare(model), load_board(board), folder, BuildOptions(optimise=optimise))
    return direct_build(project.directory)


@pytest.mark.parametrize(
    ("name", "optimise"), [(name, "flash" if name == "state" else "speed") for name in MIXES]
)
def test_every_instruction_is_in_armv6m(name: str, optimise: str, tmp_path: Path) -> None:
    model = save(mix(name), tmp_path / "m.tflite")
    count, foreign = foreign_instructions(build(model, BOARD, optimise, tmp_path / "p"))
    assert count > 1000 and not foreign


def test_the_attributes_name_armv6m(tmp_path: Path) -> None:
    elf = build(save(classifier(), tmp_path / "m.tflite"), BOARD, "speed", tmp_path / "p")
    command = ["arm-none-eabi-readelf", "-A", str(elf)]
    attributes = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "Tag_CPU_arch: v6S-M" in attributes or "Tag_CPU_arch: v6-M" in attributes
    assert not foreign_instructions(elf)[1]


def test_code_for_the_cortex_m3_is_recognized(tmp_path: Path) -> None:
    elf = build(save(classifier(), tmp_path / "m.tflite"), "qemu_mps2_an385", "speed", tmp_path / "p")
    assert {"mla", "cbz", "ldrd"} & foreign_instructions(elf)[1]
