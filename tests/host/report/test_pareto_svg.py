"""The drawing of builds is well-formed and complete, and its axes are readable."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from arenite.host.report.bench_page import pareto_page
from arenite.host.report.pareto_svg import pareto_svg, si_text, ticks

SVG = "{http://www.w3.org/2000/svg}"
LIMITS = {"ram": 128 * 1024, "flash": 1 << 20}


def build(
    label: str, ram: int, flash: int, instructions: int, dominated_by: str | None = None
) -> dict[str, Any]:
    """Return the JSON of a build; the sizes are in bytes."""
    return {
        "label": label,
        "optimise": label.split()[0],
        "ram": ram,
        "flash": flash,
        "instructions": instructions,
        "kind": "estimated",
        "fits": ram <= LIMITS["ram"],
        "stream_input": "stream-input" in label,
        "dominated_by": dominated_by,
    }


BUILDS = [
    build("speed", 140_000, 300_000, 5_700_000),
    build("balanced no-passes", 100_000, 250_000, 6_000_000, "ram"),
    build("ram", 33_000, 240_000, 6_000_000),
    build("ram stream-input", 16_000, 240_000, 6_100_000),
]


def test_every_build_is_in_both_panels_and_the_legend() -> None:
    root = ElementTree.fromstring(pareto_svg(BUILDS, LIMITS))
    circles = list(root.iter(f"{SVG}circle"))
    squares = [e for e in root.iter(f"{SVG}rect") if e.get("class") != "ar-paper"]
    assert (len(circles), len(squares)) == (3 * 3, 3)
    assert sum("ar-open" in (e.get("class") or "") for e in circles) == 3
    words = [e.text for e in root.iter(f"{SVG}text")]
    assert "speed, does not fit" in words and "balanced no-passes (dominated by ram)" in words
    assert [words.count(str(n)) for n in (1, 2, 3, 4)] == [3, 3, 3, 3]
    titles = {e.text for e in root.iter(f"{SVG}title")}
    assert "ram: RAM 33,000 B, flash 240,000 B, 6,000,000 instructions" in titles


def test_marks_are_at_the_right_places() -> None:
    """A build with less RAM is further left, and a build with fewer instructions is lower."""
    root = ElementTree.fromstring(pareto_svg([BUILDS[0], BUILDS[2]], LIMITS))
    speed, ram = (
        (float(e.get("cx") or 0), float(e.get("cy") or 0)) for e in list(root.iter(f"{SVG}circle"))[:2]
    )
    assert ram[0] < speed[0] and ram[1] < speed[1]


def test_a_limit_is_drawn_only_if_it_is_near() -> None:
    near = pareto_svg(BUILDS, LIMITS).count('class="ar-limit"')
    far = pareto_svg(BUILDS, {"ram": 1 << 24, "flash": 1 << 24}).count('class="ar-limit"')
    assert (near, far) == (1, 0)


@pytest.mark.parametrize("max_value", [0.9, 1, 7, 12, 99, 1234, 5_700_000, 4e9])
def test_axes_have_four_to_eleven_round_values(max_value: float) -> None:
    values = ticks(max_value)
    assert values[0] == 0 and values[-1] <= max_value and 4 <= len(values) <= 11
    assert len({si_text(v) for v in values}) == len(values)


def test_large_numbers_on_axes_have_si_prefixes() -> None:
    assert [si_text(v) for v in (0, 500, 20_000, 1_500_000, 2e9)] == ["0 ", "500 ", "20 k", "1.5 M", "2 G"]


def test_the_page_has_the_table_and_escapes_names() -> None:
    content = {
        "model": {"path": "a/<b>.tflite", "sha256": "0" * 64},
        "board": {"name": "board", "core": "cortex-m4f"},
        "builds": BUILDS,
    }
    page = pareto_page(content, pareto_svg(BUILDS, LIMITS))
    assert "&lt;b&gt;.tflite" in page and "<b>.tflite" not in page
    assert page.count('<td class="no">no</td>') == 1 and "~5,700,000" in page
    assert "<script" not in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")
