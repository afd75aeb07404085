"""Measure what the agent of a fleet adds to the program of `arenite update build`.

``python -m tests.firmware.agent.sizes`` prints the rows of the table in docs/fleet.md, and the numbers of
host/update/agent_cost.py. All are differences of two linked programs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest.mock import patch

from arenite.firmware.update.program import AgentShape
from arenite.host.flash.build import direct_build
from arenite.host.update import update_build
from arenite.host.update.keys import generate_key
from arenite.profiles.boards import load_board
from tests.host.small_graphs import classifier, save

#: Boards by their core.
MACHINES = {
    "cortex-m0": "qemu_microbit",
    "cortex-m3": "qemu_mps2_an385",
    "cortex-m4f": "qemu_mps2_an386",
    "cortex-m7": "qemu_mps2_an500",
}
#: The classes and the kind of input of the models that are in the table of the page.
SHAPES = (AgentShape(0, False), AgentShape(10, True), AgentShape(64, True))
KINDS = (AgentShape(0, False), AgentShape(0, True), AgentShape(10, False), AgentShape(10, True))
_IN_RAM = (".bss", ".data", ".noinit", ".arena", ".stack")
_IN_FLASH = (".vectors", ".weights", ".text", ".data")


@dataclass(frozen=True)
class Sizes:
    """Bytes of a linked program."""

    flash: int
    ram: int


@cache
def program_sizes(board: str, shape: AgentShape | None) -> Sizes:
    """Return the sizes of the program of ``board`` with the agent for ``shape``, or without one. The model is a small
    classifier of another shape: the program is not run."""
    sizes: list[Sizes] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate_key(folder / "key.pem")
        path = save(classifier(), folder / "model.tflite")
        link = direct_build

        def measured(project: Path) -> Path:
            elf = link(project)
            sizes.append(_sizes(elf))
            return elf

        with (
            patch.object(update_build, "agent_shape", lambda _: shape),
            patch.object(update_build, "direct_build", measured),
        ):
            update_build.build_update(
                path,
                load_board(board),
                update_build.UpdateOptions(
                    folder / "key.pem", "1.0.0", optimise="flash", agent=shape is not None
                ),
            )
    return sizes[-1]


def agent_sizes(board: str, shape: AgentShape) -> Sizes:
    """Return what the agent adds."""
    with_agent, without = (program_sizes(board, chosen) for chosen in (shape, None))
    return Sizes(with_agent.flash - without.flash, with_agent.ram - without.ram)


def _sizes(elf: Path) -> Sizes:
    tool = shutil.which("arm-none-eabi-size")
    assert tool is not None
    table = subprocess.run([tool, "-A", str(elf)], check=True, capture_output=True, text=True).stdout
    sections = {name: int(size) for name, size in re.findall(r"^(\.\S+)\s+(\d+)", table, re.MULTILINE)}
    return Sizes(*(sum(sections.get(name, 0) for name in names) for names in (_IN_FLASH, _IN_RAM)))


def rows() -> list[str]:
    """Return the rows of the table."""
    result = []
    for core, board in MACHINES.items():
        if core in ("cortex-m0", "cortex-m4f"):
            sizes = [agent_sizes(board, shape) for shape in SHAPES]
            cells = " | ".join(f"{number:,}" for number in (sizes[1].flash, *(s.ram for s in sizes)))
            result.append(f"| {core.removesuffix('f').replace('cortex-m', 'Cortex-M')} | {cells} |")
    return result


def flash_table() -> dict[str, tuple[int, ...]]:
    """Return the bytes of flash memory by core, for each of ``KINDS``."""
    return {
        core: tuple(agent_sizes(board, shape).flash for shape in KINDS) for core, board in MACHINES.items()
    }


if __name__ == "__main__":
    print(*rows(), sep="\n")
    for core, sizes in flash_table().items():
        print(f'    "{core}": {sizes},')
