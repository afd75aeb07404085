"""The parts of an application that takes updates: the model's constants are in one slot, everything else in another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arenite.firmware.app.settings import SOURCE as SETTINGS_SOURCE
from arenite.firmware.boards.linker import slot_linker_script
from arenite.firmware.sources import APP, UPDATE
from arenite.firmware.update.loader import WATCHDOG_MS, layout_header, memory_sources
from arenite.firmware.update.program import DEVICE_SOURCES, add_sources, program_header
from arenite.profiles.board import Board, MemoryRegion

#: The name of the model in C. It is that of every model, so that the code of the firmware does not depend on it.
MODEL_NAME = "model"
#: The entry of the manifest, and the file with the samples of the self-test.
MANIFEST_ENTRY = "updates"
GOLDEN = "lib/model/golden.c"
FOLDER = "lib/update"
_SOURCES = ("app_update.c", "app_update.h", "shared_port.c", "shared_port.h")
#: The driver of the serial port, and the names that its functions get: shared_port.c has functions with their names.
_PORT_DRIVERS = {"mps2": "lib/app/console_mps2.c"}
_RENAMED = {
    "console_port_put": "board_port_put",
    "console_port_get": "board_port_get",
    "sensor_wait": "board_wait",
}
#: Every constant of the files that are generated from the model. The first ones are those whose addresses are in the
#: code, and those whose sizes follow from the records of the image; names of classes and weights may have any size.
_CONSTANTS = (
    f"KEEP(*/lib/model/{MODEL_NAME}_model.c.o(.rodata.{MODEL_NAME}_model))",
    "KEEP(*/lib/model/golden.c.o(.rodata.golden))",
    f"*/lib/app/{SETTINGS_SOURCE}.o(.rodata .rodata.*)",
    "*/lib/model/app_model.c.o(.rodata.app_*)",
    f"*/lib/model/{MODEL_NAME}_model.c.o(.rodata.*_params .rodata.*_before .rodata.*_half .rodata.*segment_*)",
    f"*/lib/model/{MODEL_NAME}_processing.c.o(.rodata .rodata.*)",
    "*/lib/model/app_model.c.o(.rodata .rodata.*)",
    f"*/lib/model/{MODEL_NAME}_*.c.o(.rodata .rodata.*)",
    "*/lib/model/golden.c.o(.rodata .rodata.*)",
)


@dataclass(frozen=True)
class UpdateParts:
    """What an application with updates needs besides its sensor and model.

    Attributes:
        graph: the hash of the model's graph (``graph_hash``).
        golden: the text of ``golden.c``.
        regions: where the payloads of firmware and model are in their slots (``payload_regions``).
        manifest: how the images are signed, for the entry ``updates`` of the manifest.
    """

    graph: bytes
    golden: str
    regions: tuple[MemoryRegion, MemoryRegion]
    manifest: Mapping[str, Any]

    def files(self, board: Board, stack_bytes: int) -> dict[str, str]:
        """Return the text of the files by their paths, among them the linker script. Raises ``UsageError`` if there is
        no boot loader for ``board``."""
        files = {f"{FOLDER}/{name}": APP.read(name) for name in _SOURCES}
        files[f"{FOLDER}/program.h"] = program_header(board, self.graph)
        files[f"{FOLDER}/update_layout.h"] = layout_header(board)
        add_sources(files, FOLDER, UPDATE, (*DEVICE_SOURCES, *memory_sources(board)))
        # The headers of the engine have common names, so their folder is not on the include path.
        self_test = f"{FOLDER}/self_test.h"
        files[self_test] = files[self_test].replace('"arenite.h"', '"arenite/arenite.h"')
        files[GOLDEN] = self.golden
        files["lib/board/link.ld"] = slot_linker_script(board, stack_bytes, *self.regions, _CONSTANTS)
        return files


def with_updates(board: Board, recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return the build recipe of an application with updates. ``recipe`` is that of all its files."""
    assert board.emulator is not None
    driver = _PORT_DRIVERS[board.emulator.family]
    renames = [f"-D{name}={other}" for name, other in _RENAMED.items()]
    units = [
        {**unit, "flags": [*unit["flags"], *renames]} if unit["source"] == driver else unit
        for unit in recipe["units"]
    ]
    flags = [*recipe["flags"], f"-DPORT_WATCHDOG_MS={WATCHDOG_MS}u", f"-I{FOLDER}"]
    return {**recipe, "flags": flags, "units": units}
