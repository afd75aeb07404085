"""Put answers into words for the prompt of a language model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from arenite.counts import count_of
from arenite.host.camera.answers.answer import Answer, Box

#: The most classes, boxes, values and classes of a mask that a text names.
MAX_CLASSES, MAX_BOXES, MAX_VALUES = 3, 8, 8
#: A class of a mask is named if it covers at least this share of the mask.
_MASK_SHARE = 0.05


def answers_text(answers: Mapping[int, Answer]) -> str:
    """Return one line per camera with its answer in words. ``answers`` has the newest answer of each camera, by the
    index of the camera, which is only named if there are several."""
    if len(answers) == 1:
        return answer_text(next(iter(answers.values())))
    return "\n".join(f"Camera {camera}: {answer_text(answers[camera])}" for camera in sorted(answers))


def answer_text(answer: Answer) -> str:
    """Return the labels, scores and places of an answer as text, such as ``1 object: face (score 0.93) in the centre,
    20 % wide and 30 % high``."""
    if answer.kind == "classes":
        names = [f"{_name(c.label, c.index)} (score {c.score:.2f})" for c in answer.classes[:MAX_CLASSES]]
        return ", or ".join(names) if names else "nothing was recognized"
    if answer.kind == "boxes":
        return _boxes_text(answer.boxes)
    if answer.kind == "points":
        score = "" if answer.score is None else f", score {answer.score:.2f}"
        return f"{len(answer.points)} points of one thing{score}"
    if answer.mask is not None:
        shares = _mask_shares(answer.mask)
        return "areas: " + ", ".join(f"class {index} on {share:.0%}" for index, share in shares.items())
    if answer.score is not None:
        return f"a score of {answer.score:.2f}"
    values = ", ".join(f"{value:.2f}" for value in answer.values[:MAX_VALUES])
    return f"the numbers {values}" if values else "nothing"


def answer_content(answer: Answer) -> object:
    """Return what must differ between two answers so that the second is news: the best class, the labels of all boxes,
    or the classes of the mask, else the text. Scores and places change with every frame."""
    if answer.kind == "classes":
        return "classes", tuple(_name(c.label, c.index) for c in answer.classes[:1])
    if answer.kind == "boxes":
        return "boxes", tuple(sorted(_name(box.label, box.index) for box in answer.boxes))
    if answer.mask is not None:
        return "mask", tuple(_mask_shares(answer.mask))
    return answer.kind, answer_text(answer)


def _boxes_text(boxes: tuple[Box, ...]) -> str:
    if not boxes:
        return "nothing was found"
    texts = [
        f"{_name(box.label, box.index)} (score {box.score:.2f}) {_place(box)}, "
        f"{_percent(box.right - box.left)} % wide and {_percent(box.bottom - box.top)} % high"
        for box in boxes[:MAX_BOXES]
    ]
    if len(boxes) > MAX_BOXES:
        texts.append(f"and {len(boxes) - MAX_BOXES} more")
    return f"{count_of(len(boxes), 'object')}: " + "; ".join(texts)


def _place(box: Box) -> str:
    """Return the ninth of the frame that has the centre of the box, in words."""
    across = _third((box.left + box.right) / 2, ("left", "", "right"))
    down = _third((box.top + box.bottom) / 2, ("top", "", "bottom"))
    words = " ".join(word for word in (down, across) if word)
    return f"at the {words}" if words else "in the centre"


def _third(position: float, words: tuple[str, str, str]) -> str:
    return words[0] if position < 1 / 3 else words[2] if position > 2 / 3 else words[1]


def _percent(share: float) -> int:
    return round(100 * min(max(share, 0.0), 1.0))


def _name(label: str, index: int) -> str:
    return label or f"class {index}"


def _mask_shares(mask: np.ndarray) -> dict[int, float]:
    """Return the share of the mask for each class that covers enough of it."""
    indices, counts = np.unique(mask, return_counts=True)
    shares = {int(index): int(count) / mask.size for index, count in zip(indices, counts, strict=True)}
    return {index: share for index, share in shares.items() if share >= _MASK_SHARE}
