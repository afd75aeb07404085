"""Test that the benchmark of the ways to wait for a frame measures every variant in turns, and that its table is in the
documentation."""

from __future__ import annotations

import os
import sys

import pytest

pytest.importorskip("cv2", reason="needs opencv-python-headless")

from arenite.host.report.generated_tables import DOCS, replace_section
from benchmarks.camera.wake_up import FRAMES_PER_TURN, VARIANTS, machine_text, measure, table

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scheduling of Linux")


@pytest.mark.slow
def test_every_variant_is_measured_in_turns() -> None:
    policy = os.sched_getscheduler(0)
    # Two rounds of all variants at 30 frames per second; the first round is not counted.
    result = measure(2.2 * len(VARIANTS) * FRAMES_PER_TURN / 30)
    assert os.sched_getscheduler(0) == policy
    titles = [variant["title"] for variant in result["variants"]]
    assert sorted(titles + result["refused"]) == sorted(variant.title for variant in VARIANTS)
    assert len(titles) >= 7
    for variant in result["variants"]:
        assert 0 < variant["all"]["p50_ms"] <= variant["all"]["p99_ms"]
        assert variant["cpu_ms"] > 0 and variant["invoke_ms"] > 0
        assert variant["undisturbed"]["frames"] <= variant["all"]["frames"] <= 2 * FRAMES_PER_TURN
    lines = table(result).splitlines()
    assert len(lines) == 2 + len(titles) and all(line.count("|") == lines[0].count("|") for line in lines)
    assert "Load of the machine" in machine_text(result)


def test_the_table_is_in_the_documentation() -> None:
    page = (DOCS / "camera-performance.md").read_text("utf-8")
    assert replace_section(page, "wake-up", "x") != page
    for variant in VARIANTS[:-1]:
        assert f"| {variant.title} |" in page
