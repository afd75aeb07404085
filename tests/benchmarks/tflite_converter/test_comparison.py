"""The comparison with TFLiteConverter has the same samples in every run, and its page shows the measured figures."""

from __future__ import annotations

import ast

import numpy as np

from benchmarks.tflite_converter.__main__ import (
    CHILD,
    NETWORKS,
    PAGE,
    Comparison,
    Figures,
    row,
    score,
    summary,
)
from benchmarks.tflite_converter.samples import Task, rows, tasks, waves


def test_samples_are_the_same_in_every_run() -> None:
    for first, second in ((waves(40), waves(40)), (rows(40), rows(40))):
        assert np.array_equal(first.x, second.x) and np.array_equal(first.y, second.y)
        assert first.x.dtype == np.float32 and len(np.unique(first.y)) > 3


def test_every_network_has_samples_and_a_row_on_the_page() -> None:
    tree = ast.parse(CHILD.read_text("utf-8"))
    (networks,) = [n.value for n in tree.body if isinstance(n, ast.AnnAssign) and n.value is not None]
    assert isinstance(networks, ast.Dict)
    trained = {
        ast.literal_eval(name): ast.literal_eval(entry.elts[0])  # type: ignore[arg-type]
        for name, entry in zip(networks.keys, networks.values, strict=True)
        if isinstance(entry, ast.Tuple)
    }
    assert trained == NETWORKS and len(NETWORKS) == 10
    assert set(NETWORKS.values()) <= set(tasks())
    page = PAGE.read_text("utf-8")
    assert all(f"| {name} |" in page for name in NETWORKS)


def test_the_summary_counts_networks() -> None:
    theirs = Figures(0.9, 0.97, 30.0, 0.02, 1000)
    comparisons = [
        Comparison("a", 0.95, theirs, Figures(0.9, 0.98, 31.0, 0.01, 1000)),
        Comparison("b", 0.95, theirs, Figures(0.8, 0.96, 29.0, 0.03, 1001)),
        Comparison("c", 0.95, theirs, Figures(0.91, None, 30.0, 0.016, 900)),
    ]
    text = summary(comparisons)
    assert (
        "score of TFLiteConverter's in 2" in text
        and "or more in 1 of 2" in text
        and "SQNR in 2" in text
        and "not larger in 2" in text
    )
    assert "is 0.80." in text and row(comparisons[0])[-3] == "0.50"


def test_scores_are_accuracy_or_r2() -> None:
    task = Task(np.zeros((2, 1), np.float32), np.array([0, 2]))
    assert score(np.array([[0.9, 0.1, 0.0], [0.2, 0.5, 0.3]]), task.y) == 0.5
    values = np.array([[0.0], [1.0], [2.0]], np.float32)
    assert score(values, values) == 1.0 and abs(score(np.ones((3, 1)), values)) < 1e-6
