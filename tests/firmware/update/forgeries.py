"""Change signed images in every way that an attacker without the key can, and count why the check refuses them.

``python -m tests.firmware.update.forgeries 1000000`` prints the number of images by reason, and the same with
``ecdsa-p256`` behind the number for the other algorithm. The check runs on the host under the sanitizers for addresses
and undefined behavior. The images are in memory of exactly their size.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from arenite.host.update.reasons import REASONS
from tests.firmware.update.image_check import (
    ABI,
    ADDRESS,
    ALGORITHMS,
    BOARD,
    FIRMWARE,
    MODEL,
    compile_host,
    public_key,
    refused_images,
    signed,
)

SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def run_forgeries(count: int, seed: int, algorithm: str = "ed25519") -> dict[str, int]:
    """Try ``count`` forged images. Return how many had which result. Raises ``AssertionError`` if one was accepted, or
    if a sanitizer found an error."""
    images = {
        "firmware": signed(replace(FIRMWARE, abi=ABI, address=ADDRESS), algorithm=algorithm),
        "model": signed(MODEL, algorithm=algorithm),
        **refused_images(algorithm),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "forgeries"
        source = Path(__file__).with_name("forgeries.c")
        compile_host(program, [source], *SANITIZERS, algorithm=algorithm)
        (folder / "key").write_bytes(public_key(algorithm))
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("algorithm", nargs="?", choices=ALGORITHMS, default=ALGORITHMS[0])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    start = time.monotonic()
    results = run_forgeries(options.count, options.seed, options.algorithm)
    for reason, tried in results.items():
        print(f"{reason:18} {tried:9,}")
    print(
        f"{sum(results.values()):,} forged images, {results['OK']} accepted, {time.monotonic() - start:.0f} s"
    )
