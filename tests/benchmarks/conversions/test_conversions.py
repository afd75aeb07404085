"""Tests of the tables about conversion in the documentation: the rows have the figures that the commands print, and the
page has every table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arenite.converters.quantize.dataset.dataset import load_dataset
from arenite.converters.tflite.reader import load
from arenite.errors import ToolError
from arenite.host.report.generated_tables import DOCS, replace_section
from benchmarks.conversions.runs import Case, run
from benchmarks.conversions.sources import keyword_samples
from benchmarks.conversions.tables import recipes_table, references_table, sources_table
from tests.converters.quantize import trained_models
from tests.development_models import SHARED, shared_model


@pytest.fixture
def case(tmp_path: Path) -> Case:
    source = tmp_path / "trained.tflite"
    source.write_bytes(trained_models.classifier())
    for name, count, seed in (("calibration", 60, 5), ("test", 90, 6)):
        x, y = trained_models.samples(count, seed)
        np.savez(tmp_path / f"{name}.npz", x=x, y=y)
    return Case(
        "sources", "dense", str(source), tmp_path / "calibration.npz", tmp_path / "test.npz", samples=4
    )


@pytest.mark.slow
@pytest.mark.qemu
def test_a_row_has_the_figures_of_convert_and_bench(case: Case, tmp_path: Path) -> None:
    row = run(case, tmp_path / "out")
    samples, score = row["bench"]["samples"], row["convert"]["score"]
    assert (samples["count"], samples["bit_exact"]) == (4, 4) and samples["accuracy"] is not None
    assert row["source_bytes"] == len(trained_models.classifier()) and score["source"]["samples"] == 90
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert names >= {"sources-dense.json", "sources-dense.html", "sources-dense.image.tflite"}
    for table in (sources_table([row]), recipes_table([row]), references_table([row])):
        (line,) = (text for text in table.splitlines() if "dense" in text)
        assert f"{score['source']['value']:.2%}" in line and f"{score['image']['value']:.2%}" in line
        assert "4/4" in line and f"{row['bench']['memory']['ram_total']:,}" in line
        assert len({text.count("|") for text in table.splitlines()}) == 1


def test_a_failing_command_raises_an_error(case: Case, tmp_path: Path) -> None:
    case.test.unlink()
    with pytest.raises(ToolError, match=r"test\.npz does not exist"):
        run(case, tmp_path / "out")


def test_the_page_has_every_table() -> None:
    page = (DOCS / "conversions.md").read_text("utf-8")
    for name in ("training", "sources", "recipes", "keywords", "models", "budget"):
        assert f"<!-- generated: {name} -->" in replace_section(page, name, "x")


def test_keyword_samples_are_split_and_keep_their_scale(tmp_path: Path) -> None:
    main = load(shared_model("kws01_float32")).main
    calibration, test = keyword_samples(SHARED / "data" / "kws01.npz", tmp_path)
    tensors = [main.tensors[i] for i in main.inputs]
    first, second = (load_dataset(p, tensors) for p in (calibration, test))
    assert (len(first), len(second)) == (200, 800)
    calibration_inputs = {s[0].tobytes() for s in first.inputs}
    test_inputs = {s[0].tobytes() for s in second.inputs}
    assert len(calibration_inputs & test_inputs) < 10  # the data set contains a few recordings twice
    assert -130 < min(float(s[0].min()) for s in second.inputs) < -100
