"""Write the tables of ``docs/training.md`` from the zoo's manifest: ``python -m arenite.host.report.training_doc``."""

from __future__ import annotations

import sys

from arenite.host.report.generated_tables import DOCS, markdown_table, run
from arenite.models.manifest import manifest
from arenite.models.training.training_records import training_records

PAGE = DOCS / "training.md"


def sections() -> dict[str, str]:
    """Return the generated Markdown parts of the page, by the name in their marker lines."""
    records = training_records().values()
    rows = [
        (
            f"`{r.name}`",
            r.title,
            f"`{r.options.command}`",
            f"{100 * r.value:.2f} % {r.metric}",
            f"{r.samples:,}",
            f"{r.parameters:,}",
            f"{r.seconds:.0f}",
        )
        for r in records
    ]
    head = (
        "name",
        "what it is",
        "command",
        "test score, float32",
        "samples",
        "parameters",
        "seconds",
    )
    machines = "; ".join(sorted({r.on for r in records}))
    files = manifest().datasets.values()
    sources = [(f"`{d.name}`", d.title, f"{d.package.name} {d.package.version}", d.licence) for d in files]
    return {
        "sources": markdown_table(("files", "contents", "package", "license"), sources),
        "trainings": f"{markdown_table(head, rows, right=(4, 5, 6))}\n\n"
        f"Seconds are for the training alone, on {machines}.",
    }


if __name__ == "__main__":
    sys.exit(run(PAGE, sections()))
