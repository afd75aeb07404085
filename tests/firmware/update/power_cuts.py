"""Cut the power of a model of a device in every operation on its flash memories while it installs update images.

``python -m tests.firmware.update.power_cuts`` prints the numbers of cuts. After each cut the device starts again, with
a second cut in every operation that follows. All images that run must be whole and fit together. The memories have the
rules of real ones (power_cuts.c, flash_model.c): pages that are erased, units that are programmed once, units whose
programming was interrupted and that read differently after each start, or, if they have check bits, cannot be read.

For the second cuts, pages have only 16 units. With the pages of the real memories there is one cut, and in the larger
ones not in every operation.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.firmware.sources import STATE_STORE, UPDATE

_HERE = Path(__file__).parent
_STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wconversion", "-Wshadow")
LAYOUTS = ("swap", "exchange", "swap and model")
STORIES = ("confirms", "rejects", "hangs", "damaged", "downgrade", "mixed")


@dataclass(frozen=True)
class Geometry:
    """Bytes of a page and of a unit, and whether units have check bits."""

    name: str
    page: int
    unit: int
    check_bits: bool

    @property
    def shortened(self) -> Geometry:
        """The same memory with pages of 16 units."""
        return Geometry(self.name, 16 * self.unit, self.unit, self.check_bits)


#: Units of SAMD21 and RP2040 are those that their drivers program. test_boot.py checks that these are the memories of
#: all boards with a table [update].
GEOMETRIES = (
    Geometry("nRF51", 1024, 4, False),
    Geometry("nRF52", 4096, 4, False),
    Geometry("STM32L4", 2048, 8, True),
    Geometry("STM32H7", 131072, 32, True),
    Geometry("RP2040", 4096, 16, False),
    Geometry("STM32F4", 131072, 4, False),
    Geometry("SAMD21", 256, 32, False),
    Geometry("SAMD51", 8192, 16, True),
)


def combinations() -> list[tuple[int, int]]:
    """Return the layouts with their stories. Only a device with a model can mix code and weights."""
    every = [(layout, story) for layout in range(len(LAYOUTS)) for story in range(len(STORIES))]
    return [(layout, story) for layout, story in every if STORIES[story] != "mixed" or layout == 2]


def build(folder: Path, *flags: str, changes: Mapping[str, tuple[str, str]] | None = None) -> Path:
    """Compile the model. ``changes`` replaces a text, once, in sources of updates; each must contain it."""
    sources = {name: UPDATE.path(name).read_text() for name in ("boot_choose.c", "boot_state.c", "swap.c")}
    for name, (old, new) in (changes or {}).items():
        assert sources[name].count(old) == 1, f"{name} does not contain {old!r} once"
        sources[name] = sources[name].replace(old, new)
    for name, text in sources.items():
        (folder / name).write_text(text)
    own = [folder / name for name in sources] + [_HERE / "power_cuts.c", _HERE / "flash_model.c"]
    program = folder / "power_cuts"
    include = [
        f"-I{path}" for path in (UPDATE.path("boot.h").parent, STATE_STORE.path("flash.h").parent, _HERE)
    ]
    strict = _STRICT if changes is None else ("-std=c99", "-w")
    files = [*map(str, own), str(STATE_STORE.path("state_store.c"))]
    subprocess.run(["gcc", *strict, *flags, *include, *files, "-o", str(program)], check=True)
    return program


def run(
    program: Path,
    geometry: Geometry,
    layout: int,
    story: int,
    *,
    slot_pages: int = 4,
    scratch_pages: int = 1,
    every: int = 1,
    second: int = 1,
    seed: int = 1,
) -> dict[str, Any]:
    """Return the counts of one device and story. There is a first cut in every ``every``-th operation, and after it a
    second one in one of ``second`` operations, by chance; 0: no second cut."""
    numbers = (geometry.page, geometry.unit, int(geometry.check_bits), slot_pages, scratch_pages)
    arguments = [str(n) for n in (*numbers, layout, story, every, second, seed)]
    text = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False).stdout
    result: dict[str, Any] = json.loads(text)
    return result


def main() -> int:
    total, failures = 0, 0
    with tempfile.TemporaryDirectory(prefix="arenite-") as name:
        program = build(Path(name), "-O2")
        for geometry in GEOMETRIES:
            for is_short in (True, False):
                memory = geometry.shortened if is_short else geometry
                every = 1 if is_short else max(1, memory.page // memory.unit // 64)
                for layout, story in combinations():
                    seconds = 1 if is_short else 0
                    pages = 4 if is_short else 3
                    result = run(
                        program, memory, layout, story, slot_pages=pages, every=every, second=seconds
                    )
                    total += result["first"] + result["second"]
                    failures += result["failure"] is not None
                    print(
                        f"{geometry.name}, pages of {memory.page} bytes, {LAYOUTS[layout]}, {STORIES[story]}: "
                        f"{result['operations']:,} operations, {result['first']:,} first and {result['second']:,} "
                        f"second cuts, {result['starts']:,} starts, {result['failure'] or 'every image whole'}",
                        flush=True,
                    )
    print(f"{total:,} cuts, {failures} stories with a failure")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
