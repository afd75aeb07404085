"""Read the boxes of a detector, with their landmarks, from the results of the C code."""

from __future__ import annotations

import struct
from collections.abc import Callable

from arenite.converters.processing.post.detector_plan import BoxesPlan
from arenite.host.camera.answers.answer import Answer, Box
from arenite.host.camera.answers.frame_mapping import FrameMapping
from arenite.host.camera.answers.postprocess_call import PreparedCall
from arenite.host.camera.answers.scores import key_to_real

#: Coordinates in the results are integers in this unit, a fraction of the input.
_UNIT = 1.0 / 65536
_NO_BOXES = Answer("boxes")
#: One box in the results: top, left, bottom, right, sort key, class, anchor.
_BOX = struct.Struct("<iiiiiHH")


def boxes_reader(
    plan: BoxesPlan, labels: tuple[str, ...], call: PreparedCall
) -> Callable[[FrameMapping], Answer]:
    """Return a function that reads the boxes. Its argument maps coordinates of the input to the frame."""
    real = key_to_real(plan.numbers.dtype, plan.key_scale, plan.key_zero, plan.logits)
    known = len(labels)
    function, arguments, results, points = call.function, call.arguments, call.results, call.points
    unpack, size = _BOX.unpack_from, _BOX.size
    row = 2 * plan.points  # the number of coordinates of a box's landmarks
    unpack_row = struct.Struct(f"<{row}i").unpack_from

    def read(mapping: FrameMapping) -> Answer:
        count = function(*arguments)
        if not count:
            return _NO_BOXES
        left, top, width, height = mapping.left, mapping.top, mapping.width * _UNIT, mapping.height * _UNIT
        detected = []
        for k in range(count):
            y1, x1, y2, x2, key, index, _ = unpack(results, k * size)
            x1, x2, y1, y2 = left + x1 * width, left + x2 * width, top + y1 * height, top + y2 * height
            landmarks: tuple[tuple[float, float], ...] = ()
            if row:
                xy = unpack_row(points, 4 * k * row)
                landmarks = tuple(
                    [(left + xy[i] * width, top + xy[i + 1] * height) for i in range(0, row, 2)]
                )
            detected.append(
                Box(
                    # A box that reaches beyond the frame is cut at its edge.
                    x1 if 0.0 <= x1 <= 1.0 else _clip(x1),
                    y1 if 0.0 <= y1 <= 1.0 else _clip(y1),
                    x2 if 0.0 <= x2 <= 1.0 else _clip(x2),
                    y2 if 0.0 <= y2 <= 1.0 else _clip(y2),
                    real(key),
                    index,
                    labels[index] if index < known else "",
                    landmarks,
                )
            )
        return Answer("boxes", boxes=tuple(detected))

    return read


def _clip(coordinate: float) -> float:
    return 1.0 if coordinate > 1.0 else 0.0
