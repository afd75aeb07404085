"""Measure what the agent of a fleet adds to the program of `arenite update build` for an ESP32.

``python -m tests.firmware.agent.esp_sizes`` prints the rows of the table in docs/fleet.md, and the numbers of
host/update/agent_cost.py. All are sums over compiled objects: ESP-IDF links the program.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from arenite.firmware.boards.cores import COMMON_FLAGS, nearest_core, optimise_flags
from arenite.firmware.generator.features import NO_FEATURES
from arenite.firmware.sources import AGENT, BOARDS, ENGINE, UPDATE
from arenite.firmware.update.program import AGENT_SOURCES, PROTOCOL, AgentShape, program_header
from arenite.profiles.boards import load_board
from tests.firmware.agent.sizes import KINDS, SHAPES, Sizes

#: A board for each core that a compiler is for.
ESP_BOARDS = {
    "rv32imc": "esp32-c3-devkitm-1",
    "rv32imac": "esp32-c6-devkitc-1",
    "rv32imafc": "esp32-p4-evboard",
    "xtensa-lx106": "esp32dev",
}
#: The names of the rows of the table.
_TITLES = {"rv32imc": "ESP32-C3, C6, P4", "xtensa-lx106": "ESP32, S2, S3"}
_IN_RAM, _IN_FLASH = (".bss", ".data", ".rtc_noinit"), (".text", ".rodata", ".literal", ".data")


@cache
def program_sizes(core_name: str, shape: AgentShape | None) -> Sizes:
    """Return the sizes of those files of the program that an agent changes, with the agent for ``shape`` or without."""
    board = load_board(ESP_BOARDS[core_name])
    core = nearest_core(board.core)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "program.h").write_text(program_header(board, bytes(32)))
        (folder / "firmware_features.h").write_text(NO_FEATURES.header(PROTOCOL, board))
        sources = [UPDATE.path("update_main.c"), UPDATE.path("update_glue.c")]
        macros = ["ESP_PLATFORM", "AR_HEALTH", "AR_UPDATE_PARTITIONS"]
        if shape is not None:
            sources += [AGENT.path(file) for file in (*AGENT_SOURCES, "cause_port.c")]
            macros += shape.macros
        include = (*UPDATE.include_flags, *AGENT.include_flags, *ENGINE.include_flags, *BOARDS.include_flags)
        objects = []
        for source in sources:
            objects.append(str(folder / f"{source.stem}.o"))
            flags = (*core.architecture, *COMMON_FLAGS, *optimise_flags("speed"), f"-I{folder}", *include)
            command = [f"{core.prefix}gcc", *flags, *(f"-D{macro}" for macro in macros), "-c", str(source)]
            subprocess.run([*command, "-o", objects[-1]], check=True)
        command = [f"{core.prefix}size", "-A", *objects]
        table = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    sections = [(name, int(size)) for name, size in re.findall(r"^(\.\S+)\s+(\d+)", table, re.MULTILINE)]
    return Sizes(
        *(sum(size for name, size in sections if name.startswith(kinds)) for kinds in (_IN_FLASH, _IN_RAM))
    )


def agent_sizes(core: str, shape: AgentShape) -> Sizes:
    """Return what the agent adds."""
    with_agent, without = (program_sizes(core, chosen) for chosen in (shape, None))
    return Sizes(with_agent.flash - without.flash, with_agent.ram - without.ram)


def rows() -> list[str]:
    """Return the rows of the table."""
    result = []
    for core, title in _TITLES.items():
        sizes = [agent_sizes(core, shape) for shape in SHAPES]
        cells = " | ".join(f"{number:,}" for number in (sizes[1].flash, *(s.ram for s in sizes)))
        result.append(f"| {title} | {cells} |")
    return result


def flash_table() -> dict[str, tuple[int, ...]]:
    """Return the bytes of flash memory by core, for each of ``KINDS``."""
    return {core: tuple(agent_sizes(core, shape).flash for shape in KINDS) for core in ESP_BOARDS}


if __name__ == "__main__":
    print(*rows(), sep="\n")
    for core, sizes in flash_table().items():
        print(f'    "{core}": {sizes},')
