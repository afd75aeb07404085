"""Change signed images in every way that an attacker without the key can, and count why the check refuses them.

``python -m tests.firmware.update.forgeries 1000000`` prints the number of images by reason. The check runs on the host
under the sanitizers for addresses and undefined behavior. The images are in memory of exactly their size.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from arenite.host.update.reasons import REASONS
from tests.firmware.update.image_check import (
    ABI,
    ADDRESS,
    BOARD,
    FIRMWARE,
    MODEL,
    compile_host,
    public_key,
    refused_images,
    signed,
)

SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def run_forgeries(count: int, seed: int) -> dict[str, int]:
    """Try ``count`` forged images. Return how many had which result. Raises ``AssertionError`` if one was accepted, or
    if a sanitizer found an error."""
    images = {
        "firmware": signed(replace(FIRMWARE, abi=ABI, address=ADDRESS)),
        "model": signed(MODEL),
        **refused_images(),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "forgeries"
        compile_host(program, [Path(__file__).with_name("forgeries.c")], *SANITIZERS)
        (folder / "key").write_bytes(public_key())
        files = []
        for number, image in enumerate(images.values()):
            files.append(folder / f"{number}.bin")
            files[-1].write_bytes(image)
        command = list(map(str, (program, count, seed, folder / "key", BOARD, *files)))
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [line.split() for line in result.stdout.splitlines()]
    counts = {int(number): int(tried) for number, tried in rows}
    assert result.returncode == 0, f"{counts}\n{result.stderr}"
    return {REASONS[number][0]: tried for number, tried in counts.items()}


if __name__ == "__main__":
    start = time.monotonic()
    results = run_forgeries(int(sys.argv[1]), seed=int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    for reason, tried in results.items():
        print(f"{reason:18} {tried:9,}")
    print(
        f"{sum(results.values()):,} forged images, {results['OK']} accepted, {time.monotonic() - start:.0f} s"
    )
