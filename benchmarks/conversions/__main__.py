"""Convert and bench every kind of source, with scores before and after: ``python -m benchmarks.conversions``.

This program trains one network on MNIST, writes it in every format, converts each file with ``arenite convert``, and
benches the image on an emulated Cortex-M4. Then it converts the same network with every recipe. With ``--shared
FOLDER`` it also converts the MLPerf Tiny float models in FOLDER/models with the data in FOLDER/data. Images, reports
and a JSON object per row are written to out/conversions. ``--docs`` updates docs/conversions.md from all rows in that
folder. NAMES runs only the rows whose names contain one of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arenite.errors import AreniteError
from arenite.files import write_atomic
from arenite.host.report.generated_tables import DOCS, replace_section
from benchmarks.conversions.runs import Case, run
from benchmarks.conversions.sources import SOURCES as FOLDER
from benchmarks.conversions.sources import (
    dense_samples,
    keyword_samples,
    mnist_sources,
    photograph_samples,
    training,
)
from benchmarks.conversions.tables import (
    budget_table,
    recipes_table,
    references_table,
    sources_table,
    training_sentence,
)

OUT = Path("out/conversions").resolve()
RECIPES = ("int8", "int8_percentile", "int8_mse", "int8_entropy", "w4", "w4_mixed", "int16x8")
SOURCES, MNIST, KEYWORDS, MODELS = "sources", "recipes mnist", "recipes keywords", "models"
BUDGET, SMALL_BOARD = "budget", "qemu_netduinoplus2"
#: The network that ``python -m benchmarks.flash_budget`` trains.
DENSE = Path("out/budget/dense.tflite").resolve()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conversions", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--shared", type=Path, help="Folder with models/*_float32.tflite and data/kws01.npz.")
    parser.add_argument("--docs", action="store_true", help="Also update docs/conversions.md.")
    parser.add_argument("--only-docs", action="store_true", help="Only update docs/conversions.md.")
    options = parser.parse_args(argv)
    cases = all_cases(options.shared)
    failed = 0
    for case in [] if options.only_docs else [c for c in cases if _selected(c, options.names)]:
        try:
            row = run(case, OUT)
        except AreniteError as error:
            failed += 1
            print(f"{case.slug}: {error}", file=sys.stderr)
            continue
        score, samples = row["convert"]["score"], row["bench"]["samples"]
        print(
            f"{case.slug}: {score['source']['value']:.4f} to {score['image']['value']:.4f}, "
            f"{samples['bit_exact']}/{samples['count']} bit-exact",
            file=sys.stderr,
        )
        failed += samples["bit_exact"] != samples["count"]
    if options.docs or options.only_docs:
        page = DOCS / "conversions.md"
        text = page.read_text("utf-8")
        for name, content in sections(cases).items():
            text = replace_section(text, name, content)
        write_atomic(page, text)
    return 1 if failed else 0


def _selected(case: Case, names: Sequence[str]) -> bool:
    return not names or any(name in case.slug for name in names)


def all_cases(shared: Path | None) -> list[Case]:
    """Return the conversions of all tables. Without the folder ``shared``, those of its models are left out."""
    folder = FOLDER
    sources = mnist_sources(folder)
    calibration, test = folder / "calibration.npz", folder / "test.npz"
    # The table compares sources, so all float sources get the same recipe.
    cases = [
        Case(SOURCES, name, source, calibration, test, () if "int8" in name else ("--recipe", "int8"))
        for name, source in sources.items()
    ]
    network = str(folder / "mnist.tflite")
    cases += [Case(MNIST, r, network, calibration, test, ("--recipe", r)) for r in RECIPES]
    if DENSE.exists():
        calibration, test = dense_samples(folder)
        options = (
            "--calibration-samples",
            "300",
            "--board",
            SMALL_BOARD,
            "--budget",
            "drop=1%",
            "--trials",
            "12",
        )
        cases.append(Case(BUDGET, "drop=1%", str(DENSE), calibration, test, options, board=SMALL_BOARD))
    if shared is None:
        return cases
    models = shared.resolve() / "models"
    calibration, test = keyword_samples(shared / "data" / "kws01.npz", folder)
    network = str(models / "kws01_float32.tflite")
    cases += [Case(KEYWORDS, r, network, calibration, test, ("--recipe", r)) for r in RECIPES]
    cases.append(Case(MODELS, "kws01", network, calibration, test, reference=models / "kws01_int8.tflite"))
    for name in ("ic01", "vww01"):
        published = models / f"{name}_int8.tflite"
        calibration, test = photograph_samples(published, folder)
        network = str(models / f"{name}_float32.tflite")
        cases.append(Case(MODELS, name, network, calibration, test, reference=published))
    return cases


def sections(cases: Sequence[Case]) -> dict[str, str]:
    """Return the generated parts of docs/conversions.md by name, from all rows that are stored in ``OUT``."""
    records: dict[str, list[dict[str, Any]]] = {}
    for case in cases:
        path = OUT / f"{case.slug}.json"
        if path.exists():
            records.setdefault(case.group, []).append(json.loads(path.read_text()))
    versions = {k: v for r in records.get(SOURCES, []) for k, v in r["convert"]["source"]["versions"].items()}
    return {
        "training": training_sentence(training(FOLDER), versions),
        "sources": sources_table(records.get(SOURCES, [])),
        "recipes": recipes_table(records.get(MNIST, [])),
        "keywords": recipes_table(records.get(KEYWORDS, [])),
        "models": references_table(records.get(MODELS, [])),
        "budget": budget_table(records.get(BUDGET, [])),
    }


if __name__ == "__main__":
    sys.exit(main())
