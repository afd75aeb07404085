"""Format the measurements as the tables of docs/camera-performance.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arenite.host.report.generated_tables import markdown_table
from benchmarks.camera.rows import Row

_VERDICT = {True: "met", False: "**missed**", None: ""}


def targets_table(rows: Sequence[Row]) -> str:
    cells = [[row.what, row.target, row.measured, _VERDICT[row.met], row.kind] for row in rows]
    return markdown_table(["", "target", "here", "", "kind"], cells)


def stages_table(stages: Sequence[Mapping[str, Any]]) -> str:
    """Return the Markdown table of milliseconds per frame, with a row per model and a column per stage."""
    names = ("capture", "preprocess", "invoke", "postprocess", "rest", "whole")
    head = ["model", "runtime", *names[:-1], "total", "plain OpenCV code", "its invoke", "frames"]
    cells = []
    for each in stages:
        cell = [each["model"], f"`{each['runtime']}`"]
        cell += [f"{each['ms'].get(name, 0.0):.3f}" for name in names]
        cell += [f"{each['naive_ms']['whole']:.3f}", f"{each['naive_ms']['invoke']:.3f}"]
        cells.append([*cell, str(min(each["frames"].values()))])
    return markdown_table(head, cells, range(2, len(head)))


def machine_text(machine: Mapping[str, Any]) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}; "
        f"{packages}. Load of the machine before the run: {machine['load_before']}."
    )
