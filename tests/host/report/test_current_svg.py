"""The drawing of a recording is well-formed and shows every window and every peak."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from arenite.host.energy.energy_record import recording_record
from arenite.host.energy.meters.trace import Trace
from arenite.host.energy.windows.find import find_windows
from arenite.host.energy.windows.result import measure
from arenite.host.report.current_svg import current_page, current_svg
from arenite.profiles.boards import load_board
from tests.host.energy.meters import waveform


def _result(**changes):
    """Return the energy of six simulated inferences with marks. ``changes`` replace fields of the recording."""
    truth = waveform.make(3, inferences=6)
    times = np.arange(0, truth.seconds, 2e-5)
    marks = truth.mark(times).astype(np.uint8)
    trace = replace(Trace(times, truth.at(times), 3.0, 5e4, marks=marks), **changes)
    return measure(trace, find_windows(trace))


def _points(svg: str) -> list[tuple[float, float]]:
    """Return the coordinates (x, y) of all points of the line of the current."""
    paths = re.findall(r'class="ar-line" d="([^"]*)"', svg)
    return [(float(x), float(y)) for path in paths for x, y in re.findall(r"([\d.]+) ([\d.]+)", path)]


def test_every_window_is_shaded_and_named():
    result = _result()
    svg = current_svg(result)
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg")
    titles = re.findall(r"<title>inference (\d+): ([\d.]+) µJ", svg)
    assert [int(number) for number, _ in titles] == [1, 2, 3, 4, 5, 6, 2, 3, 4]
    assert [float(uj) for _, uj in titles[:6]] == pytest.approx(result.energy_uj, rel=1e-3)
    assert "baseline" in svg and "<script" not in svg and "http" not in svg.replace("http://www.w3.org", "")


def test_a_peak_of_one_sample_is_drawn():
    result = _result()
    without_peak = current_svg(result)
    current = result.trace.current_a.copy()
    index = int(np.searchsorted(result.trace.time_s, result.windows.spans[0].start_s)) - 200
    current[index] = 0.3
    with_peak = current_svg(replace(result, trace=replace(result.trace, current_a=current)))
    assert min(y for _, y in _points(with_peak)) == pytest.approx(34 + 200 * (1 - 1 / 1.08), abs=1)
    assert "300 mA" in with_peak and "300 mA" not in without_peak


def test_a_gap_interrupts_the_line():
    truth = _result().trace
    assert truth.marks is not None
    keep = (truth.time_s < 0.2) | (truth.time_s > 0.35)
    result = _result()
    cut = replace(truth, time_s=truth.time_s[keep], current_a=truth.current_a[keep], marks=truth.marks[keep])
    line_count, line_count_with_gap = (
        current_svg(replace(result, trace=t)).count('class="ar-line"') for t in (truth, cut)
    )
    assert line_count_with_gap > line_count


def test_the_page_is_complete_and_self_contained():
    result = _result()
    record = recording_record(result, load_board("nucleo_l4r5zi"), None, notes=("a <note>",))
    page = current_page(record, result, "model <1>.tflite")
    assert f"{record['energy_uj_per_inference']['median']:.4g} µJ" in page
    assert "a &lt;note&gt;" in page and "model &lt;1&gt;" in page
    assert "<script" not in page and "src=" not in page
