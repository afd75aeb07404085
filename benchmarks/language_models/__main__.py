"""Compare the predictions of `arenite fit` with published runs, and write the table of docs/language-models.md.

``python -m benchmarks.language_models`` writes the tables and prints the ranges; ``--check`` only compares.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from arenite.host.report.generated_tables import DOCS, markdown_table, run
from benchmarks.language_models.published import PublishedRun, published_runs
from benchmarks.language_models.ranges import (
    bandwidth_ranges,
    decode_compute_range,
    is_held_by_others,
    prefill_range,
)

PAGE = DOCS / "language-models.md"
_COLUMNS = (
    "host",
    "model",
    "weights",
    "runtime",
    "bound",
    "predicted",
    "measured",
    "of bound",
    "held",
    "by others",
)


def runs_table(runs: Sequence[PublishedRun]) -> str:
    """Return the table of the runs: rates in tokens per second."""
    rows = [
        (
            row.host.name,
            row.name,
            row.model.quantization,
            f"[{row.runtime}]({row.source})" if row.source else f"{row.runtime} (1)",
            f"{row.prediction.decode_bound:.1f}",
            f"{row.prediction.decode_low:.1f} to {row.prediction.decode_high:.1f}",
            f"{row.tokens_s:g}",
            f"{100 * row.bandwidth_part:.0f} %",
            "yes" if row.is_held else "**no**",
            "yes" if is_held_by_others(row, runs) else "no",
        )
        for row in runs
    ]
    return markdown_table(_COLUMNS, rows, right=range(4, 8))


def summary(runs: Sequence[PublishedRun]) -> str:
    """Return a sentence that counts the runs that the ranges hold."""
    sourced = [row for row in runs if row.source]
    held, alone = sum(row.is_held for row in runs), sum(is_held_by_others(row, runs) for row in runs)
    hosts = len({row.host.name for row in runs})
    return (
        f"The ranges hold {held} of {len(runs)} runs on {hosts} hosts, {len(sourced)} of them with a public address. A "
        f"range that is computed without the run itself holds {alone}."
    )


def power_table(runs: Sequence[PublishedRun]) -> str:
    """Return the table of the published power."""
    rows = [
        (row.host.name, row.name, f"{row.prediction.watts:.1f}", f"{row.watts:g}", f"[source]({row.source})")
        for row in runs
        if row.watts is not None
    ]
    return markdown_table(("host", "model", "predicted W", "measured W", ""), rows, right=(2, 3))


def main(arguments: Sequence[str] | None = None) -> int:
    runs = published_runs()
    for processor, reached in bandwidth_ranges(runs).items():
        print(f"bandwidth, {processor}: {reached.low:.3f} to {reached.high:.3f}")
    for name, reached in (("decoding", decode_compute_range(runs)), ("prompt", prefill_range(runs))):
        print(f"computation, {name}: {reached.low:.4f} to {reached.high:.3f}")
    print(summary(runs))
    sections = {
        "published runs": f"{summary(runs)}\n\n{runs_table(runs)}",
        "published power": power_table(runs),
    }
    return run(PAGE, sections, arguments)


if __name__ == "__main__":
    sys.exit(main())
