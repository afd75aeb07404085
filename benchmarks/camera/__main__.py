"""Measure all targets of the camera loop in one run, on the same frames: ``python -m benchmarks.camera``.

The frames are 1280x720 YUYV pictures of photographs, in a ring of buffers. Every contender uses one thread, and they
take turns of 30 frames. The figures are medians over at least ``--frames`` frames after a warm-up. ``--json`` prints
one object on standard output. ``--docs`` updates docs/camera-performance.md. PARTS runs only these parts: naive
(plain OpenCV code), recorded (the same, on a recording), mediapipe, written (bytes that the loop writes to memory),
steady (jitter), cold (cold start), governor, answers (agreement with references). MediaPipe's environment (about 500
MB) is created on first use. The exit code is 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arenite.errors import AreniteError
from arenite.files import write_atomic
from arenite.host.report.generated_tables import DOCS, replace_section
from benchmarks.camera import answer_agreement, cold_start, frame_jitter
from benchmarks.camera import comparison as compare
from benchmarks.camera.cases import cases
from benchmarks.camera.governor_rows import governor_rows
from benchmarks.camera.machine import describe_machine
from benchmarks.camera.pictures import LARGE_RING
from benchmarks.camera.recording import compare_with_recording
from benchmarks.camera.rows import (
    Row,
    answer_rows,
    cold_row,
    memory_row,
    naive_rows,
    peer_rows,
    recorded_row,
    stage_text,
    steady_row,
)
from benchmarks.camera.store_rows import store_row
from benchmarks.camera.tables import machine_text, stages_table, targets_table

OUT = Path("out/camera").resolve()
PARTS = ("naive", "recorded", "mediapipe", "written", "steady", "cold", "governor", "answers")
MIN_FRAMES = 300
COLD_RUNS = 15


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.camera", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", metavar="PARTS", help=f"Parts to run: {', '.join(PARTS)}. Default: all."
    )
    parser.add_argument("--frames", type=int, default=MIN_FRAMES)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--docs", action="store_true", help="Also update docs/camera-performance.md.")
    options = parser.parse_args(argv)
    unknown = set(options.parts) - set(PARTS)
    if unknown or options.frames < 1:
        parser.error(
            f"unknown parts: {', '.join(sorted(unknown))}" if unknown else "--frames must be at least 1"
        )
    if options.docs and (options.frames < MIN_FRAMES or options.parts):
        parser.error(f"--docs requires all parts, and {MIN_FRAMES} frames or more")
    try:
        result = measure_parts(tuple(options.parts) or PARTS, options.frames)
    except AreniteError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    write_atomic(OUT / "result.json", json.dumps(result, indent=1) + "\n")
    rows = [Row(**row) for row in result["rows"]]
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        for row in rows:
            verdict = {True: "met", False: "MISSED", None: ""}[row.met]
            print(f"{verdict:7} {row.what}: {row.measured}" + (f"  [{row.target}]" if row.target else ""))
    if options.docs:
        page = DOCS / "camera-performance.md"
        text = page.read_text("utf-8")
        for name, content in sections(result).items():
            text = replace_section(text, name, content)
        write_atomic(page, text)
    return 1 if any(row.met is False for row in rows) else 0


def sections(result: dict[str, Any]) -> dict[str, str]:
    """Return the generated tables of docs/camera-performance.md by name."""
    return {
        "targets": targets_table([Row(**row) for row in result["rows"]]),
        "stages": stages_table(result["stages"]),
        "machine": machine_text(result["machine"]),
    }


def measure_parts(parts: Sequence[str], frames: int) -> dict[str, Any]:
    """Run ``parts`` and return the result as a JSON object. Raises ``AreniteError`` if a part cannot be run."""
    all_cases = {case.name: case for case in cases()}
    face = all_cases["blazeface"]
    load = os.getloadavg()[0]
    rows: list[Row] = []
    stages: list[dict[str, Any]] = []

    def selected(part: str) -> bool:
        if part in parts:
            print(f"{part} ...", file=sys.stderr, flush=True)
        return part in parts

    if selected("naive"):
        for case in all_cases.values():
            comparison = compare.compare_with_baseline(case, frames)
            rows += naive_rows(comparison)
            stages.append(_stages(comparison))
            print(f"  {case.title}: {stage_text(comparison)}", file=sys.stderr)
        for case in (all_cases["vww"], face):
            rows.append(memory_row(compare.compare_with_baseline(case, frames, LARGE_RING)))
    if selected("recorded"):
        rows += [recorded_row(compare_with_recording(case, frames)) for case in all_cases.values()]
    if selected("mediapipe"):
        rows += peer_rows(compare.compare_with_mediapipe(face, frames))
    if selected("written"):
        rows += [store_row(case) for case in all_cases.values()]
    if selected("steady"):
        rows += [
            steady_row(frame_jitter.measure_jitter(face, 2 * frames, None)),
            steady_row(frame_jitter.measure_jitter(face, frames, 30.0)),
        ]
    if selected("cold"):
        rows.append(cold_row("from Python", cold_start.measure_python(str(face.path), COLD_RUNS)))
        rows.append(cold_row("`arenite camera`", cold_start.measure_command(str(face.path), COLD_RUNS)))
    if selected("governor"):
        rows += governor_rows()
    if selected("answers"):
        for case in all_cases.values():
            agreement = answer_agreement.compare_answers(case)
            rows += answer_rows(case.title, agreement)
            for line in agreement.differences:
                print(f"  {case.title}: {line}", file=sys.stderr)
    order = {name: place for place, name in enumerate(GROUPS)}
    rows.sort(key=lambda row: order.get(row.group, len(order)))
    return {
        "schema": "arenite.camera-benchmark/1",
        "frames": frames,
        "machine": describe_machine(load),
        "rows": [row.to_json() for row in rows],
        "stages": stages,
    }


#: Groups of rows, in the order of the table.
GROUPS = ("overhead", "naive", "peer", "written", "steady", "cold", "governor", "answers")


def _stages(comparison: compare.LoopComparison) -> dict[str, Any]:
    """Return the median times of one model, in milliseconds, and the numbers of frames, as a JSON object."""
    from benchmarks.camera.rows import ms

    split = {name: ms(values) for name, values in comparison.ours.stages.items()}
    total = ms(comparison.ours.frame_ns)
    return {
        "model": comparison.case.title,
        "runtime": comparison.runtime,
        "ms": split | {"rest": total - sum(split.values()), "whole": total},
        "naive_ms": {"invoke": ms(comparison.naive_invoke), "whole": ms(comparison.naive)},
        "frames": {"ours": len(comparison.ours.frame_ns), "naive": len(comparison.naive)},
    }


if __name__ == "__main__":
    raise SystemExit(main())
