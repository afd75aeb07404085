"""A model of an nRF52840 with the boot loader, and a small firmware and model for it.

``python -m tests.firmware.update.nrf52_chip 200`` installs images again and again, and cuts the power in random
operations on the flash memory.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from arenite.firmware.boards.cores import COMMON_FLAGS, LINK_FLAGS, core_named
from arenite.firmware.boards.linker import linker_script
from arenite.firmware.sources import BOARDS, UPDATE
from arenite.firmware.update.layout import update_layout
from arenite.firmware.update.loader import Loader, build_loader, layout_header
from arenite.profiles.board import Board
from arenite.profiles.boards import load_board
from tests.firmware.update.image_check import public_key
from tests.firmware.update.loader_board import Images, sign_images

needs_unicorn = pytest.mark.skipif(
    util.find_spec("unicorn") is None, reason="needs the Python package unicorn"
)
BOARD = "nrf52840_dk"
NOTHING, UPLOAD, CONFIRM, REJECT, RESET, LIVE_AND_CONFIRM, LIVE_AND_REJECT = range(7)
STEADY, TRIAL = 0, 3
NO_UPDATE, CONFIRMED, REFUSED, RETURNED = range(4)
_GOOD = 0x600D
#: Operations in which power is cut, start by start: the firmware writes the images in about 1,200 operations, and the
#: boot loader swaps them in about 6,300.
_OPERATIONS = (1300, 6500, 6500, 6500)
_MAX_STARTS = 16
_END = {True: CONFIRMED, False: RETURNED}
_HERE = Path(__file__).parent
_DRIVERS = ("slots.c", "boot_choose.c", "boot_state.c", "swap.c", "state_store.c", "flash_nrf.c")


def build_program(board: Board, folder: Path, number: int) -> bytes:
    """Build the firmware ``number`` and return its payload."""
    layout, core = update_layout(board), core_named("cortex-m4")
    header, slot = layout.firmware_header_bytes, layout.firmware[0]
    flash = replace(board.flash[0], origin=slot.origin + header, size=slot.size - header)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "update_layout.h").write_text(layout_header(board))
    (folder / "program.ld").write_text(linker_script(replace(board, flash=(flash,)), 4096))
    elf, binary = folder / "program.elf", folder / "program.bin"
    sources = [_HERE / "nrf52_program.c", *map(BOARDS.path, (core.start, *core.helpers))]
    sources += map(UPDATE.path, _DRIVERS)
    command = [f"{core.prefix}gcc", *core.architecture, *COMMON_FLAGS, "-Os", f"-DPROGRAM_NUMBER={number}"]
    command += ["-DPORT_TICKS_PER_US=16u", "-fno-tree-loop-distribute-patterns", f"-I{folder}"]
    command += [*UPDATE.include_flags, *BOARDS.include_flags, *map(str, sources), *LINK_FLAGS]
    subprocess.run([*command, f"-T{folder / 'program.ld'}", "-lgcc", "-o", str(elf)], check=True)
    subprocess.run([f"{core.prefix}objcopy", "-O", "binary", str(elf), str(binary)], check=True)
    return binary.read_bytes()


@dataclass(frozen=True)
class Device:
    """The boot loader, and images of firmware and model: the old ones (1 and 11) and the new ones (2 and 22)."""

    board: Board
    loader: Loader
    old: Images
    new: Images

    def flash(self, images: Images | None = None) -> bytes:
        """Return the flash memory of a new device with ``images``, or with the old ones."""
        images, layout = images or self.old, update_layout(self.board)
        content = bytearray(b"\xff" * layout.scratch.end)
        parts = (self.loader.binary.read_bytes(), images.firmware, images.model)
        for area, data in zip((layout.loader, layout.firmware[0], layout.model[0]), parts, strict=True):
            content[area.origin : area.origin + len(data)] = data
        return bytes(content)


def build_device(folder: Path) -> Device:
    board = load_board(BOARD)
    old, new = (build_program(board, folder / str(number), number) for number in (1, 2))
    loader = build_loader(board, public_key(), folder / "loader")
    return Device(board, loader, sign_images(board, old, 11), sign_images(board, new, 22, counter=2))


@dataclass(frozen=True)
class Run:
    """What happened between a start and its end. ``report`` is what the firmware says about itself: its number, that of
    the model, whether the state can be read, phase, outcome, reason and counter, then how saves ended."""

    end: str
    report: list[int]
    text: str
    operations: int
    watchdog: bool
    vectors: int
    stack: int
    problems: list[str]

    @property
    def images(self) -> tuple[int, ...]:
        return tuple(self.report[:2])

    @property
    def state(self) -> tuple[int, ...]:
        """Phase, outcome, reason and counter."""
        return tuple(self.report[3:7])


class Chip:
    """The model of the chip, in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def _ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the model ended"
        return json.loads(line)

    def run(self, command: int = NOTHING, *, cut: int = -1, seed: int = 0) -> Run:
        """Start the chip, and check that nothing broke a rule and that all saves succeeded."""
        run = Run(**self._ask({"cut": cut, "command": command, "seed": seed}))
        assert not run.problems, run
        assert all(word == _GOOD for word in (*run.report[2:3], *run.report[7:])), run
        return run

    def read(self, at: int, count: int) -> bytes:
        return bytes.fromhex(self._ask({"flash": [at, count]})["flash"])


@contextmanager
def start_chip(folder: Path, flash: bytes, upload: Images) -> Iterator[Chip]:
    """Run a chip with the content ``flash``. ``upload`` are the images that the firmware copies to its slots 1."""
    images = b"".join(
        len(data).to_bytes(4, "little") + data.ljust((len(data) + 3) & ~3, b"\xff")
        for data in (upload.firmware, upload.model)
    )
    (folder / "flash.bin").write_bytes(flash)
    (folder / "images.bin").write_bytes(images)
    command = [
        sys.executable,
        str(_HERE / "nrf52_machine.py"),
        *map(str, (folder / "flash.bin", folder / "images.bin")),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Chip(process)
        finally:
            process.kill()


def run_cuts(device: Device, folder: Path, count: int, seed: int) -> Counter[str]:
    """Install images on chips, with a cut in a random operation of each of the first four starts, and further starts
    until the update has ended. Return the numbers of cuts by what they hit. Raises ``AssertionError`` if images run
    that do not belong together, or new ones that are neither on trial nor confirmed."""
    choose, results = random.Random(seed), Counter[str]()
    while sum(results.values()) < count:
        confirms = choose.random() < 0.5
        command = LIVE_AND_CONFIRM if confirms else LIVE_AND_REJECT
        with start_chip(folder, device.flash(), device.new) as chip:
            for k in range(_MAX_STARTS):
                cut = choose.randrange(_OPERATIONS[k]) if k < len(_OPERATIONS) else -1
                run = chip.run(command, cut=cut, seed=choose.getrandbits(30))
                if run.end == "cut":
                    results["in the firmware" if run.report else "in the boot loader"] += 1
                if not run.report:
                    assert run.end == "cut", run
                    continue
                phase, outcome, _, counter = run.state
                assert run.images in ((1, 11), (2, 22)), run
                if run.images == (2, 22):
                    assert run.watchdog if phase == TRIAL else confirms and counter == 2, run
                else:
                    assert counter < 2 and phase == STEADY, run
                if (
                    run.end == "done"
                    and k >= len(_OPERATIONS)
                    and phase == STEADY
                    and outcome == _END[confirms]
                ):
                    break
            else:
                raise AssertionError(f"the update does not end: {run}")
            assert (run.images == (2, 22)) == confirms, run
    return results


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="arenite-") as name:
        device = build_device(Path(name))
        results = run_cuts(device, Path(name), int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    print(f"{sum(results.values())} cuts, nothing lost: {dict(results)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
