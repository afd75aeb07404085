"""Compare estimated cycles with published times: python -m benchmarks.estimates.timing_sources BASELINE [--check].

BASELINE is a file of records (docs/bench.md, Comparing) with the instructions of TensorFlow Lite Micro with CMSIS-NN.
The estimated cycles of Arenite are those of docs/performance.md. This program runs no network. It writes the tables of
docs/timing-sources.md. With --check, it only reports whether they are up to date.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from arenite.errors import UsageError
from arenite.host.bench.compare import BaselineRecord, read_baseline
from arenite.host.emulator.timing import DIRECTORY, TimingTable, load_timing
from arenite.host.report.generated_tables import DOCS, markdown_table, run
from benchmarks.estimates.published_latency import PublishedSystem, published_systems

PAGE = DOCS / "timing-sources.md"
PERFORMANCE = DOCS / "performance.md"
NETWORKS = ("vww01", "ic01", "kws01", "ad01", "sww01", "person_detect")
#: Maps the core of a chip to the core of the timing table whose estimate stands beside it, where the two differ.
NEAREST = {"cortex-m85": "cortex-m55", "xtensa-lx6": "xtensa-lx106"}
#: The titles of the generated tables, by the cores of their chips.
CORES = {
    "cortex-m0plus": "Cortex-M0+",
    "cortex-m4f": "Cortex-M4F",
    "cortex-m33": "Cortex-M33",
    "cortex-m7": "Cortex-M7",
    "cortex-m85": "Cortex-M85",
    "rv32imc": "ESP32-C3",
    "xtensa-lx6": "Xtensa LX6",
}
BASELINE_ENGINE = "tflite-micro+cmsis-nn"
_BOARD = re.compile(r"^\*\*Emulated .*\((.+)\)\*\*, instructions per inference", re.MULTILINE)
_ROW = re.compile(r"^\| (\w+)_int8 \|.*\| ([\d,]+) \([\d.]+ each\) \|$", re.MULTILINE)
#: Maps the name of a core in the heading of a table of docs/performance.md to the core.
_HEADINGS = {
    "Cortex-M4F": "cortex-m4f",
    "Cortex-M7": "cortex-m7",
    "Cortex-M33": "cortex-m33",
    "Cortex-M55": "cortex-m55",
    "RV32IMC, ESP32-C3 class": "rv32imc",
    "call0": "xtensa-lx106",
}


def estimated_cycles(page: str) -> dict[tuple[str, str], int]:
    """Return the estimated cycles of each (core, network) in ``page``, the text of docs/performance.md: those of
    ``--optimise speed``."""
    cycles: dict[tuple[str, str], int] = {}
    for section in re.split(r"\n(?=\*\*|## )", page):
        heading = _BOARD.match(section)
        if heading and heading[1] in _HEADINGS:
            core = _HEADINGS[heading[1]]
            cycles |= {(core, network): _number(count) for network, count in _ROW.findall(section)}
        elif section.startswith("## Cycles on a Cortex-M0 and M0+"):
            rows = re.findall(r"^\| (\w+)_int8 \|.*\| ([\d,]+) \|$", section, re.MULTILINE)
            cycles |= {("cortex-m0plus", network): _number(count) for network, count in rows}
    return cycles


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def published_table(
    systems: Iterable[PublishedSystem], estimates: Mapping[tuple[str, str], int], core: str
) -> str:
    """Return a Markdown table of the published times on ``core``: milliseconds, cycles, and the ratio of these cycles
    to the ``estimates`` of Arenite for the same network."""
    chosen = [system for system in systems if system.core == core]
    networks = [n for n in NETWORKS if any(n in system.cycles for system in chosen)]
    nearest = NEAREST.get(core, core)
    rows = [["", "Arenite, estimated", *(f"{estimates[nearest, n] / 1e6:.3g} M" for n in networks)]]
    for system in chosen:
        cells = [
            f"{system.ms(n):,.4g} ms = {system.cycles[n] / 1e6:.3g} M ({system.cycles[n] / estimates[nearest, n]:.2f})"
            if n in system.cycles
            else "-"
            for n in networks
        ]
        release = f" {system.round}" if system.round else ""
        rows.append(
            [f"{system.board}, {system.mhz:g} MHz", f"[{system.engine}{release}]({system.source})", *cells]
        )
    return markdown_table(["board", "engine", *networks], rows, range(2, 2 + len(networks)))


def error_table(systems: Iterable[PublishedSystem], records: Sequence[BaselineRecord]) -> str:
    """Return a Markdown table of the error of the estimate for CMSIS-NN: its instructions in ``records``, multiplied by
    the cycles per instruction that the core's timing table assumes for other engines, against the published cycles.

    Raises:
        UsageError: ``records`` lack a network of a published time.
    """
    instructions = {
        (r.core, r.model): r.figures["instructions"] for r in records if r.engine == BASELINE_ENGINE
    }
    rows = []
    for system in systems:
        if system.kernels != "cmsis-nn":
            continue
        core = NEAREST.get(system.core, system.core)
        cpi = load_timing(core).other_cpi
        for network in NETWORKS:
            if network not in system.cycles:
                continue
            count, cycles = instructions.get((core, f"{network}_int8")), system.cycles[network]
            if count is None:
                raise UsageError(
                    f"The baseline has no record of {BASELINE_ENGINE} for {network}_int8 on {core}.",
                    "Give a file with the records of docs/bench.md, Comparing.",
                )
            rows.append(
                [
                    f"{system.board} ({CORES[system.core]})",
                    f"{system.engine} {system.round}",
                    network,
                    f"{count:,.0f}",
                    f"{cycles:,.0f}",
                    f"{cycles / count:.2f}",
                    f"{cpi:.2f}",
                    f"{100 * (cpi * count / cycles - 1):+.0f} %",
                ]
            )
    head = [
        "board",
        "published with",
        "network",
        "instructions",
        "published cycles",
        "each",
        "each, estimated",
    ]
    return markdown_table([*head, "error of the estimate"], rows, range(3, 8))


def kinds_table() -> str:
    """Return a Markdown table of the timing tables: how many of their numbers are estimated and assumed, and which are
    assumed."""
    rows = []
    for path in sorted(DIRECTORY.glob("*.toml")):
        costs = _costs(load_timing(path.stem))
        assumed = [name for name, kind in costs.items() if kind == "assumed"]
        rows.append(
            [
                f"`profiles/timing/{path.name}`",
                f"{len(costs) - len(assumed)}",
                f"{len(assumed)}",
                ", ".join(f"`{name}`" for name in assumed) or "-",
            ]
        )
    return markdown_table(["table", "estimated", "assumed", "assumed numbers"], rows, (1, 2))


def _costs(timing: TimingTable) -> dict[str, str]:
    """Return the kind of each class and rule of ``timing``."""
    return {name: cost.kind for name, cost in {**timing.classes, **timing.rules}.items()}


def sections(records: Sequence[BaselineRecord]) -> dict[str, str]:
    """Return the generated tables of the page by their names. ``records`` are those of the baseline."""
    systems = published_systems()
    estimates = estimated_cycles(PERFORMANCE.read_text("utf-8"))
    published = (
        f"**{title}**\n\n{published_table(systems, estimates, core)}" for core, title in CORES.items()
    )
    return {
        "kinds": kinds_table(),
        "published": "\n\n".join(published),
        "errors": error_table(systems, records),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.estimates.timing_sources", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "baseline", type=Path, help="File with the records of TensorFlow Lite Micro with CMSIS-NN."
    )
    parser.add_argument("--check", action="store_true", help="Only report whether the page is up to date.")
    options = parser.parse_args(arguments)
    try:
        tables = sections(read_baseline(options.baseline))
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    return run(PAGE, tables, ["--check"] if options.check else [])


if __name__ == "__main__":
    sys.exit(main())
