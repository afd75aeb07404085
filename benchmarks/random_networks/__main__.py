"""Convert networks with random architectures: ``python -m benchmarks.random_networks``.

This program draws networks from a generator of architectures, trains each for at most 15 seconds, converts it with
``arenite convert`` as plain int8 and with ``--auto``, scores the images on samples that nothing else has used, and runs
an image on an emulated Cortex-M4F. Models, images and a JSON object per network are written to out/random_networks, and
are kept: a network whose row exists is not converted again, unless ``--again`` is given. Neither is it imported as a
float model again, unless ``--import-again`` is given. ``--docs`` updates
docs/conversions.md. NAMES runs only the networks whose names contain one of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from arenite.files import write_atomic
from arenite.host.report.generated_tables import DOCS, replace_section
from benchmarks.random_networks.architectures import Network, draw_networks
from benchmarks.random_networks.importing import import_networks
from benchmarks.random_networks.runs import run_network
from benchmarks.random_networks.tables import is_exact, networks_table, points_lost, refusal_of, summary
from benchmarks.random_networks.training import train_networks

OUT = Path("out/random_networks").resolve()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.random_networks", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=40, help="Number of networks. Default: 40.")
    parser.add_argument("--seed", type=int, default=14, help="Seed of the generator. Default: 14.")
    parser.add_argument("--again", action="store_true", help="Convert networks again.")
    parser.add_argument("--import-again", action="store_true", help="Import networks again.")
    parser.add_argument("--docs", action="store_true", help="Also update docs/conversions.md.")
    options = parser.parse_args(argv)
    folder = OUT / f"seed-{options.seed}"
    networks = draw_networks(options.count, options.seed)
    chosen = [n for n in networks if not options.names or any(name in n.name for name in options.names)]
    train_networks(chosen, folder)
    import_networks(chosen, folder, again=options.import_again)
    failed = 0
    for network in chosen:
        if options.again or not (folder / f"{network.name}.json").exists():
            failed += not _run(network, folder)
    paths = [folder / f"{network.name}.json" for network in networks]
    rows = [json.loads(path.read_text()) for path in paths if path.exists()]
    if rows:
        print(summary(rows), file=sys.stderr)
    if options.docs:
        page = DOCS / "conversions.md"
        text = replace_section(page.read_text("utf-8"), "random networks summary", summary(rows))
        write_atomic(page, replace_section(text, "random networks", networks_table(rows)))
    return 1 if failed else 0


def _run(network: Network, folder: Path) -> bool:
    """Convert a network, print one line about it, and return whether its image is bit-exact or it was refused."""
    row = run_network(network, folder)
    refusal = refusal_of(row)
    if refusal is not None:
        print(
            f"{network.name}: refused after {refusal['seconds']:.1f} s: {refusal['refusal']}", file=sys.stderr
        )
        return True
    losses = [f"{points_lost(row, way):+.2f}" for way in ("int8", "auto")]
    exact = is_exact(row)
    print(
        f"{network.name}: int8 {losses[0]}, auto {losses[1]}, {'' if exact else 'not '}exact", file=sys.stderr
    )
    return exact


if __name__ == "__main__":
    sys.exit(main())
