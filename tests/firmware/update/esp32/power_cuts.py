"""Cut the power of a model of an ESP32 in every operation on its flash memory while it updates firmware and model.

``python -m tests.firmware.update.esp32.power_cuts`` prints the numbers of cuts. The C code of Arenite for the ESP32
runs on a model of ESP-IDF's partitions, of ``otadata`` with its sequence numbers, checksums and states, and of the boot
loader with the rollback of applications (``esp_model.c``). After each cut the device starts again, with a second cut
in every operation that follows.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arenite.firmware.sources import UPDATE
from tests.firmware.update.image_check import STRICT

_HERE = Path(__file__).parent
STORIES = (
    *("confirms", "rejects", "hangs", "crashes", "damaged", "foreign", "downgrade", "stuck", "gone"),
    *("model confirms", "model rejects", "model hangs"),
)
_SOURCES = ("esp_boot.c", "esp_slots.c", "boot_choose.c", "boot_state.c", "swap.c", "state_store.c")
_SEEDS = range(1, 11)


def build(folder: Path, changes: Mapping[str, tuple[str, str]] | None = None) -> Path:
    """Compile the model. ``changes`` replaces a text, once, in a source; each must contain it."""
    sources = []
    for name in _SOURCES:
        old, new = (changes or {}).get(name, ("", ""))
        text = UPDATE.read(name)
        assert not old or text.count(old) == 1, f"{name} does not contain {old!r} once"
        (folder / name).write_text(text.replace(old, new) if old else text)
        sources.append(folder / name)
    sources += [_HERE / "esp_power_cuts.c", _HERE / "esp_model.c", _HERE.parent / "flash_model.c"]
    program = folder / "esp_power_cuts"
    strict = STRICT if changes is None else ("-std=c99", "-O2", "-w")
    include = (*UPDATE.include_flags, f"-I{_HERE}", f"-I{_HERE.parent}")
    subprocess.run(["gcc", *strict, *include, *map(str, sources), "-o", str(program)], check=True)
    return program


def run(program: Path, story: str, *, second: int = 1, seed: int = 1) -> dict[str, Any]:
    """Return the counts of one story. There is a first cut in every operation, and after it a second one in one of
    ``second`` operations, by chance; 0: no second cut."""
    arguments = [str(STORIES.index(story)), str(second), str(seed)]
    text = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False).stdout
    result: dict[str, Any] = json.loads(text)
    return result


def main() -> int:
    total, failures = 0, 0
    with tempfile.TemporaryDirectory(prefix="arenite-") as name:
        program = build(Path(name))
        for story in STORIES:
            for seed in _SEEDS:
                result = run(program, story, seed=seed)
                total += result["first"] + result["second"]
                failures += result["failure"] is not None
                print(
                    f"{story}, seed {seed}: {result['operations']} operations, {result['first']} first and "
                    f"{result['second']:,} second cuts, {result['starts']:,} starts, "
                    f"{result['failure'] or 'every image whole'}",
                    flush=True,
                )
    print(f"{total:,} cuts, {failures} stories with a failure")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
