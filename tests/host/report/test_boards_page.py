"""The HTML pages of several bench results are well-formed, complete and self-contained, and work in a browser."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from arenite.host.bench.store.changes import RegressionRules
from arenite.host.bench.store.history import series_of
from arenite.host.bench.store.run_rows import BuildMode
from arenite.host.bench.store.store import Store
from arenite.host.report.boards_page import matrix_page
from arenite.host.report.history_page import history_page
from arenite.host.report.trend_svg import TrendPoint, trend_svg
from tests.browser import Browser
from tests.host.bench.sample_results import result, timed

_VOID = {"meta", "br", "wbr", "rect", "path", "circle", "line"}


class _Balanced(HTMLParser):
    """Checks that elements are closed in order and that nothing is loaded from other addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "link", "img", "iframe")
        assert not any(name in ("src", "href") for name, _ in attrs)
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def read(page: str) -> str:
    """Return the text of a page, after checking that its elements are closed and that it contains no URL."""
    parser = _Balanced()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    assert not re.search(r"https?://(?!www\.w3\.org/)", page)
    return parser.text


def cell(bench_result: dict[str, Any] | None, model: str, board: str, **more: Any) -> dict[str, Any]:
    """Return the JSON of a cell of a bench matrix: one model on one board."""
    defaults = {"optimise": None, "protocol": "arenite", "passes": True, "stream_input": False, "data": None}
    return {"model": model, "board": board, "error": None, "result": bench_result, **defaults, **more}


def matrix() -> dict[str, Any]:
    """Return the JSON of a bench matrix with six cells, one of which has no result."""
    energy = {"energy_uj_per_inference": {"median": 12.5, "kind": "estimated"}}
    return {
        "file": "/x/b<e>nch.toml",
        "notes": ["net on b (mlperf): left <out>"],
        "cells": [
            cell(result(), "net", "qemu_a"),
            cell(
                result(inference__instructions={"p50": 11111}, energy=energy), "net", "qemu_a", optimise="ram"
            ),
            cell(timed(1234.5, 1300), "net", "real_b"),
            cell(None, "net", "tiny_c", error={"problem": "needs 9 B more <SRAM>", "hint": "x"}),
            cell(result(samples__bit_exact=9), "two", "qemu_a"),
            cell(timed(7.5, 8), "two", "real_b", data="/d/people.npz"),
        ],
    }


def test_the_page_of_a_matrix_has_every_cell_and_note() -> None:
    text = " ".join(read(matrix_page(matrix())).split())
    for phrase in (
        "b<e>nch.toml: board by board",
        "5 of 6 benches with a result",
        "49 of 50 answers bit-exact",
        "20,000 instructions",
        "11,111 instructions",
        "1,234.5 µs",
        "~12.5 (estimated)",
        "needs 9 B more <SRAM>",
        "9 of 10",
        "4,800",
        "14,000",
        "people.npz",
        "FULLY_CONNECTED",
        "left <out>",
    ):
        assert phrase in text, phrase


def test_the_grid_shows_the_fastest_build() -> None:
    page = matrix_page(matrix())
    grid = page.split("the fastest build</h2>")[1].split("</table>")[0]
    assert "11,111" in grid and "20,000" in grid and "1,234.5 µs" in grid
    assert 'class="n no">20,000' in grid  # the model with a wrong answer


def history(folder: Path) -> str:
    """Return the page of two series of six runs. In the last run of the first series, the arena is larger."""
    path = folder / "s.sqlite"
    with Store(path) as store:
        for k in range(6):
            grown = 4000 + (100 if k == 5 else 0)
            bench_result = result(inference__instructions={"p50": 20000 + 10 * k}, memory__arena=grown)
            store.add(bench_result, BuildMode(), "random", None)
            store.add(timed(1000 + k, 1010), BuildMode("ram"), "random", None)
        series = series_of(store.runs(results=False), RegressionRules())
        latest = [store.run(s.points[-1].run.id) for s in series]
    return history_page(str(path), series, latest, RegressionRules())


def test_history_draws_trends_and_names_regressions(tmp_path: Path) -> None:
    page = history(tmp_path)
    text = " ".join(read(page).split())
    assert "arena B 4,000 4,100 grew by more than 0 B run 9" in text
    assert "net on nucleo_l4r5zi, ram" in text and "Latest runs by board" in text
    drawings = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(drawings) >= 7
    for drawing in drawings:
        root = ET.fromstring(drawing)
        circles = root.findall("{http://www.w3.org/2000/svg}circle")
        assert len(circles) == 6
        assert all(0 <= float(c.get("cy", "")) <= 170 for c in circles)


@pytest.mark.parametrize("values", [[5.0], [0.0, 0.0], [1, 1_000_000], [0.9, 0.91, 0.905], [3e9, 3.0001e9]])
def test_larger_values_are_drawn_higher(values: list[float]) -> None:
    root = ET.fromstring(
        trend_svg("a < b & c", [TrendPoint(str(k), v, "<said>", k == 1) for k, v in enumerate(values)])
    )
    heights = [float(c.get("cy", "")) for c in root.findall("{http://www.w3.org/2000/svg}circle")]
    order = sorted(range(len(values)), key=lambda k: values[k])
    assert all(heights[a] >= heights[b] for a, b in itertools.pairwise(order))
    assert all(26 <= h <= 144 for h in heights)


@pytest.mark.browser
def test_the_pages_fit_the_window_of_a_browser_without_errors(tmp_path: Path) -> None:
    (tmp_path / "m.html").write_text(matrix_page(matrix()))
    (tmp_path / "h.html").write_text(history(tmp_path))
    with Browser(tmp_path / "profile") as browser:
        for name, tables in (("m.html", 5), ("h.html", 5)):
            browser.open((tmp_path / name).as_uri())
            count, fits, wide = browser.value(
                "[document.querySelectorAll('table').length,"
                " document.documentElement.scrollWidth <= window.innerWidth + 1,"
                " [...document.querySelectorAll('.track')].every(e => e.getBoundingClientRect().width > 50)]"
            )
            assert count >= tables and fits and wide, name
        assert browser.errors == []
