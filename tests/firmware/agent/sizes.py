"""Measure what the agent of a fleet adds to the program of `arenite update build` on a Cortex-M0 and a Cortex-M4.

``python -m tests.firmware.agent.sizes`` prints the rows of the table in docs/fleet.md: bytes of flash, which is the
difference of two linked programs, and bytes of RAM.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from arenite.firmware.sources import AGENT, BOARDS, ENGINE, UPDATE
from arenite.firmware.update.program import AgentShape
from arenite.host.update.keys import generate_key
from arenite.host.update.update_build import UpdateOptions, build_update
from arenite.profiles.boards import load_board
from tests.host.small_graphs import classifier, save

#: Boards by their core.
MACHINES = {"cortex-m0": "qemu_microbit", "cortex-m4": "qemu_mps2_an386"}
#: The classes and the kind of input of the models whose RAM is in the table.
SHAPES = (AgentShape(0, False), AgentShape(10, True), AgentShape(64, True))


def ram_bytes(core: str, shape: AgentShape) -> int:
    """Return the bytes of static RAM of the agent."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "agent.o"
        macros = [f"-D{macro}" for macro in (*shape.macros, "AR_HEALTH", "PORT_TICKS_PER_US=16u")]
        includes = [flag for tree in (AGENT, UPDATE, BOARDS, ENGINE) for flag in tree.include_flags]
        command = ["arm-none-eabi-gcc", f"-mcpu={core}", "-mthumb", "-Os", "-std=c99", *macros, *includes]
        source = str(AGENT.path("agent_glue.c"))
        subprocess.run([*command, "-c", source, "-o", str(output)], check=True)
        table = subprocess.run(
            ["arm-none-eabi-size", "-A", str(output)], check=True, capture_output=True, text=True
        ).stdout
    sections = re.findall(r"^\.(?:bss|data|noinit)\S*\s+(\d+)", table, re.MULTILINE)
    return sum(-(-int(size) // 4) * 4 for size in sections)


def flash_bytes(board: str) -> int:
    """Return the bytes of flash memory of the agent with a model of five classes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate_key(folder / "key.pem")
        model = save(classifier(), folder / "model.tflite")
        with_agent, without = (
            build_update(
                model,
                load_board(board),
                UpdateOptions(folder / "key.pem", "1.0.0", optimise="flash", agent=agent),
            ).firmware
            for agent in (True, False)
        )
    assert with_agent is not None and without is not None
    return len(with_agent) - len(without)


def rows() -> list[str]:
    """Return the rows of the table."""
    result = []
    for core, board in MACHINES.items():
        numbers = [flash_bytes(board), *(ram_bytes(core, shape) for shape in SHAPES)]
        cells = " | ".join(f"{number:,}" for number in numbers)
        result.append(f"| {core.replace('cortex-m', 'Cortex-M')} | {cells} |")
    return result


if __name__ == "__main__":
    print(*rows(), sep="\n")
