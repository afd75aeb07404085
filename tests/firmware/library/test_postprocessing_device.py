"""Every kind of postprocessing gives the bytes of the NumPy code on an emulated device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arenite.converters.graph.model import Model
from tests.firmware.library.libraries import check_warnings, write_library_of
from tests.firmware.library.processing_cases import SHOW_BEST, direct_case, elementwise_model, run

pytestmark = pytest.mark.slow

SHOW_LANDMARKS = """\
    {{
        static ar_box boxes[{U}BOXES];
        static int32_t points[{U}POINTS];
        const uint32_t count = {p}postprocess(boxes, points);
        for (uint32_t i = 0; i < count; i++) {{
            show_integer(boxes[i].top), show_integer(boxes[i].left), show_integer(boxes[i].bottom);
            show_integer(boxes[i].right), show_integer(boxes[i].key), show_integer(boxes[i].index);
            show_integer(boxes[i].anchor);
            for (uint32_t k = 0; k < {U}POINTS / {U}BOXES; k++) {{
                show_integer(points[i * ({U}POINTS / {U}BOXES) + k]);
            }}
        }}
    }}
"""
SHOW_POINTS = """\
    {{
        static int32_t points[3 * {U}POINTS];
        const uint32_t count = 3 * {p}postprocess(points);
        for (uint32_t i = 0; i < count; i++) {{
            show_integer(points[i]);
        }}
    }}
"""
SHOW_MASK = """\
    {{
        static uint8_t mask[{U}MASK_WIDTH * {U}MASK_HEIGHT];
        {p}postprocess(mask);
        for (uint32_t i = 0; i < sizeof(mask); i++) {{
            show_integer(mask[i]);
        }}
    }}
"""
SSD = {"do": "boxes", "anchors": [[0.1 * k, 0.05 * k, 0.9, 0.8] for k in range(10)], "threshold": 0.3}
YOLO = {"do": "yolo", "unit": "fractions", "layout": "columns", "points": 1, "threshold": 0.2}


CASES: dict[str, tuple[Model, list[dict[str, Any]], str]] = {
    "softmax": (elementwise_model((1, 40)), [{"do": "top_k", "k": 5, "softmax": True}], SHOW_BEST),
    "average": (
        elementwise_model((1, 10, 8), (1, 10, 3)),
        [SSD | {"logits": True, "points": 2}, {"do": "nms", "iou": 0.2, "average": True, "by_class": False}],
        SHOW_LANDMARKS,
    ),
    "yolo": (elementwise_model((1, 11, 30)), [YOLO | {"objectness": True}, {"do": "nms"}], SHOW_LANDMARKS),
    "points": (elementwise_model((1, 7, 3)), [{"do": "points", "score": 2, "logits": True}], SHOW_POINTS),
    "absent": (
        elementwise_model((1, 7, 3), (1, 1)),
        [{"do": "points", "presence": 1, "threshold": 900}],
        SHOW_POINTS,
    ),
    "mask": (elementwise_model((1, 5, 7, 4)), [{"do": "mask"}], SHOW_MASK),
    "planes": (elementwise_model((1, 4, 5, 7)), [{"do": "mask", "planes": True, "channel": 2}], SHOW_MASK),
}


@pytest.mark.qemu
@pytest.mark.parametrize("board", ["qemu_mps2_an385", "qemu_mps3_an547"])
def test_device_and_host_give_equal_answers(board: str, tmp_path: Path) -> None:
    cases = {
        name: direct_case(name, model, {"steps": steps}, show, tmp_path)
        for name, (model, steps, show) in CASES.items()
    }
    lines = run(cases, board, tmp_path)
    for k, (name, case) in enumerate(cases.items()):
        assert lines[2 * k : 2 * k + 2] == case.lines, name
        assert bool(case.lines[1]) == (name != "absent"), f"{name} has no answer to compare"


def test_the_sources_pass_the_strictest_warnings(tmp_path: Path) -> None:
    models = {
        name: direct_case(name, model, {"steps": steps}, show, tmp_path).prepared
        for name, (model, steps, show) in CASES.items()
    }
    library = write_library_of(tmp_path / "library", models)
    sources = list((library / "src").glob("*_processing.c"))
    sources += [
        library / "src/arenite" / f"{name}.c" for name in ("boxes", "points", "mask", "softmax", "post_keys")
    ]
    check_warnings(sources, tmp_path)
