"""The HTML pages of bench and inspect are complete and self-contained, mark estimates, and work in a real browser."""

from __future__ import annotations

import copy
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from arenite.host.build.fit import verdicts
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import prepare
from arenite.host.cli.main import main
from arenite.host.report.arena_svg import arena_svg
from arenite.host.report.bench_page import bench_page
from arenite.profiles.boards import load_board
from tests.host.report.page_in_browser import MEASURE_SCRIPT, load_in_browser
from tests.host.small_graphs import classifier, save

HOSTILE = "<script>alert(1)</script>\"'&"

RESULT: dict[str, Any] = {
    "model": {"path": f"a/{HOSTILE.replace('/', '')}.tflite", "sha256": "0123456789abcdef" * 4, "macs": 4_321_000},
    "board": {"name": "qemu_mps2_an386", "core": "cortex-m4f"},
    "samples": {"count": 10, "bit_exact": 9, "max_abs_diff": 1, "accuracy": 0.875},
    "inference": {
        "instructions": {"p50": 1_234_567, "p95": 1_300_001, "p99": 1_300_002, "min": 1, "max": 1_300_002},
        "latency_us": None,
        "cycles": {"p50": 1_604_937, "kind": "estimated"},
    },
    "init": {"instructions": 10},
    "memory": {
        "arena": 1500, "arena_lower_bound": 1400, "arena_status": "gap", "stack": 300, "stack_kind": "measured",
        "static": 200, "ram_total": 2000, "predicted_ram_total": 2111,
    },
    "flash": {"weights": 3000, "code": 1000, "total": 4000, "predicted_total": 4222},
    "layers": [
        {"index": 0, "op": "CONV_2D", "shape": "1x6x6x6", "macs": 1000, "instructions": 12_500, "cycles": 17_750,
         "kernel": "ar_conv_2d_s8_dsp", "tier": "dsp"},
        {"index": 1, "op": HOSTILE, "shape": HOSTILE, "macs": 0, "instructions": 0, "cycles": None,
         "kernel": None, "tier": None},
    ],
}  # fmt: skip


def page(result: dict[str, Any], tmp_path: Path, notes: tuple[str, ...] = ()) -> str:
    """Return the HTML page of a bench result, with the fit verdicts of three boards and a drawing of the arena."""
    prepared = prepare(save(classifier(), tmp_path / "m.tflite"))
    boards = [load_board(n) for n in ("qemu_mps2_an386", "nucleo_f030r8", "nucleo_l4r5zi")]
    fits = [v.to_json() for v in verdicts(prepared, boards, BuildOptions("balanced"))]
    return bench_page(result, fits, arena_svg(prepared.model.main, prepared.plan, prepared.needs), notes)


class Text(HTMLParser):
    """Parses the visible text and all start tags. An unbalanced tag raises an error."""

    VOID = ("meta", "br")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.tags, self.open = "", [], []  # type: ignore[var-annotated]
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag == "p" and self.open[-1] != "p":
            raise AssertionError("unbalanced <p>")
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data + " "


def assert_self_contained(html: str) -> None:
    """Check that the page contains no script and no URL, except for the namespace of the drawing."""
    without_namespace = html.replace('xmlns="http://www.w3.org/2000/svg"', "")
    for address in ("http:", "https:", "//", "url(", "@import", "src="):
        assert address not in without_namespace, address
    for tag, attributes in Text(html).tags:
        assert tag not in ("script", "link", "img", "iframe", "object", "embed", "base"), tag
        assert not any(name.startswith("on") or name in ("href", "src", "data") for name in attributes), tag


def test_the_page_of_a_bench_has_every_figure_and_escapes_names(tmp_path: Path) -> None:
    html = page(RESULT, tmp_path, notes=(f"Tensor {HOSTILE} was repaired.",))
    assert_self_contained(html)
    text = re.sub(r"\s+", " ", Text(html).text)
    for figure in (
        "9 of 10", "87.5%", "1,234,567", "1,300,001 / 1,300,002", "2,000 B", "4,000 B", "4,321,000", "arena 1,500 B",
        "1,604,937", "17,750", "conv_2d_s8_dsp",
        "stack 300 B", "static 200 B", "weights 3,000 B", "code 1,000 B", "2,111 B", "4,222 B", "1,400 B", "12.50",
        "nucleo_f030r8", f"Tensor {HOSTILE} was repaired.", "0123456789abcdef…",
    ):  # fmt: skip
        assert figure in text, figure
    assert text.count(HOSTILE) == 3  # operator, shape and note
    assert "RAM (measured)" in text and "estimated" in text


def test_estimates_are_not_called_measured(tmp_path: Path) -> None:
    result = copy.deepcopy(RESULT)
    result["memory"]["stack_kind"] = "estimated"
    for layer in result["layers"]:
        layer["instructions"] = None
    text = Text(page(result, tmp_path)).text
    assert "the stack is the predicted bound" in text
    assert "Instructions per layer were not counted" in text and "Layers (measured" not in text


def test_the_page_of_a_real_board_has_a_latency(tmp_path: Path) -> None:
    result = copy.deepcopy(RESULT)
    result["inference"] = {
        "instructions": None,
        "latency_us": {"p50": 12_345.5, "p95": 1.0, "p99": 1.0, "min": 1.0, "max": 1.0},
        "cycles": None,
    }
    text = Text(page(result, tmp_path)).text
    assert "12,345.5" in text and "instructions per inference" not in text


def test_the_page_of_inspect_is_self_contained(tmp_path: Path) -> None:
    model = save(classifier(), tmp_path / "m.tflite")
    assert main(["inspect", str(model), "--html", str(tmp_path / "page.html")]) == 0
    html = (tmp_path / "page.html").read_text()
    assert_self_contained(html)
    text = Text(html).text
    for op in ("CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "SOFTMAX"):
        assert op in text


@pytest.mark.browser
@pytest.mark.parametrize("width", [500, 1400])
def test_the_page_fits_the_window_of_a_browser_without_errors(width: int, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page(RESULT, tmp_path))
    dom, messages = load_in_browser(path, width)
    assert "multiply-accumulates" in dom and messages == []
    # The same page with a script that measures it and writes to the console, which proves that messages are captured.
    path.write_text(path.read_text().replace("</body>", MEASURE_SCRIPT + "</body>"))
    dom, messages = load_in_browser(path, width)
    assert len(messages) == 1 and "a message" in messages[0]
    match = re.search(r"<title>page (\d+) of (\d+), picture (\d+)</title>", dom)
    assert match is not None
    wide, viewport, picture = map(int, match.groups())
    assert wide <= viewport and viewport >= width - 20
    assert picture > 100
