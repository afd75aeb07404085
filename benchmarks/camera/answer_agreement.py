"""Compare the camera loop's answers with the answers of two references. Both resize with Pillow, and run the stock
LiteRT interpreter.

The first reference samples the picture at the same points as the preprocessing steps of the model
(``Image.transform``), but converts, resizes and normalizes in float and does not round to bytes in between. It shows
the effect of the loop's integer arithmetic. The second reference uses ``Image.resize``, which averages over all pixels
that an input value covers, and rounds to bytes. It gives a different picture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from arenite.converters.processing.image.reference import preprocess_image
from arenite.converters.processing.specification.image_steps import Letterbox
from arenite.converters.processing.specification.pixel_formats import color_order, unpack
from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.frames.preprocessor import FramePreprocessor
from benchmarks.camera.arenite_loop import AreniteLoop
from benchmarks.camera.blazeface_reference import decode, overlap, short_range
from benchmarks.camera.cases import Case
from benchmarks.camera.pictures import HEIGHT, WIDTH, Picture, pictures

#: The smallest score of a face that is reported.
MIN_SCORE = 0.5
#: Two boxes show the same face if their intersection over union is at least this.
MIN_OVERLAP = 0.8


@dataclass(frozen=True)
class AnswerAgreement:
    """The agreement of the loop's answers with the references.

    Args:
        frames: the number of compared frames.
        same: for each reference, the number of frames with the same answer: the same top class, the same best box, or
            no box in both answers.
        differences: a description of each frame with different answers.
        skew: the number of input tensors that differ in any byte from the tensor that NumPy computes with the same
            preprocessing steps.
    """

    frames: int
    same: dict[str, int]
    differences: tuple[str, ...]
    skew: int


#: The names of the first and the second reference.
FLOAT, PILLOW = "float", "Pillow"


def compare_answers(case: Case) -> AnswerAgreement:
    """Run the loop and both references on all pictures, and return how often their answers agree."""
    reference = Reference(case)
    differences, skew = [], 0
    same: dict[str, int] = dict.fromkeys((FLOAT, PILLOW), 0)
    with AreniteLoop(case) as ours:
        answers = [ours.answer(picture) for picture in pictures()]
        letterbox = any(isinstance(step, Letterbox) for step in ours.model.preprocessing.steps)
        for picture, answer in zip(pictures(), answers, strict=True):
            for method in same:
                expected = (
                    reference.faces(picture, letterbox, method)
                    if case.kind == "faces"
                    else reference.top(picture, method)
                )
                if _same_answer(answer, expected):
                    same[method] += 1
                else:
                    differences.append(f"{picture.name}: {_answer_text(answer)}; {method}: {expected}")
            skew += not _same_tensor(ours, picture)
    return AnswerAgreement(len(answers), same, tuple(differences), skew)


def _same_tensor(ours: AreniteLoop, picture: Picture) -> bool:
    """Return whether the loop's code and NumPy compute the same input tensor with the model's preprocessing steps."""
    memory = ours.runtime.slots[0].inputs[0]
    format = Format("yuyv", WIDTH, HEIGHT, (2 * WIDTH,))
    feed = FramePreprocessor(ours.model.preprocessing, format, memory)
    feed.run(Frame(format, (picture.yuyv.ctypes.data,), picture.yuyv, 0, 0))
    pixels = unpack(picture.yuyv, "yuyv", WIDTH, HEIGHT)
    expected = preprocess_image(feed.spec, pixels, color_order("yuyv"))
    return np.array_equal(memory.array().reshape(-1), np.asarray(expected).reshape(-1))


class Reference:
    """Resizes pictures with Pillow, normalizes them in float, and runs the stock interpreter."""

    def __init__(self, case: Case) -> None:
        self.interpreter = Interpreter(model_path=str(case.path), num_threads=1)
        self.interpreter.allocate_tensors()
        self.input = self.interpreter.get_input_details()[0]
        self.outputs = sorted(self.interpreter.get_output_details(), key=lambda d: -int(np.prod(d["shape"])))
        self.side = int(self.input["shape"][1])

    def top(self, picture: Picture, method: str = PILLOW) -> tuple[int, float]:
        """Return the best class and its score."""
        scores = self._run(_resized(picture, (self.side, self.side), method))[0]
        best = int(scores.argmax())
        return best, round(float(scores[best]), 4)

    def faces(self, picture: Picture, letterbox: bool, method: str = PILLOW) -> np.ndarray | None:
        """Return left, top, right and bottom of the best face as fractions of the frame, or None."""
        side = self.side
        inner = (side, round(HEIGHT * side / WIDTH)) if letterbox else (side, side)
        left, top = (side - inner[0]) // 2, (side - inner[1]) // 2
        canvas = np.zeros((side, side, 3), np.float32)
        canvas[top : top + inner[1], left : left + inner[0]] = _resized(picture, inner, method)
        raw, logits = self._run(canvas)
        decoded = decode(raw, logits[:, 0], short_range(), MIN_SCORE)
        if not decoded:
            return None
        box = decoded[0][:4] * side - np.array([left, top, left, top])
        return np.round(box / np.array([*inner, *inner]), 4)

    def _run(self, pixels: np.ndarray) -> list[np.ndarray]:
        """Run the model on RGB pixels (0 to 255), and return its outputs as real numbers, the largest tensor first."""
        values = pixels.astype(np.float32)
        scale, zero = self.input["quantization"]
        dtype = self.input["dtype"]
        if dtype == np.float32:
            values = values / 127.5 - 1
        else:
            # Inputs of the zoo's integer models: (p - 127) / 128 for uint8, p / 255 for int8.
            real = (values - 127) / 128 if dtype == np.uint8 else values / 255
            limits = np.iinfo(dtype)
            values = np.rint(real / scale + zero).clip(limits.min, limits.max)
        self.interpreter.set_tensor(self.input["index"], values.astype(dtype)[None])
        self.interpreter.invoke()
        dequantized = []
        for detail in self.outputs:
            raw = self.interpreter.get_tensor(detail["index"])[0].astype(np.float32)
            scale, zero = detail["quantization"]
            dequantized.append((raw - zero) * scale if scale else raw)
        return dequantized


def _resized(picture: Picture, size: tuple[int, int], method: str) -> np.ndarray:
    """Return the resized picture as float32 [height, width, 3], 0 to 255, RGB."""
    from PIL import Image

    if method == PILLOW:
        small = Image.fromarray(picture.rgb).resize(size, Image.Resampling.BILINEAR)
        return np.asarray(small).astype(np.float32)
    # Interpolate between two pixels per axis around the middle of each value, as in the preprocessing steps. The planes
    # are float32 (Pillow's mode F).
    step = (WIDTH / size[0], 0.0, 0.0, 0.0, HEIGHT / size[1], 0.0)
    planes = [
        Image.fromarray(np.ascontiguousarray(plane)).transform(
            size, Image.Transform.AFFINE, step, Image.Resampling.BILINEAR
        )
        for plane in np.moveaxis(to_rgb(picture.yuyv), 2, 0)
    ]
    return np.stack([np.asarray(plane) for plane in planes], 2)


def to_rgb(yuyv: np.ndarray) -> np.ndarray:
    """Convert a YUYV picture, uint8 [height, 2 * width], to RGB, float32 [height, width, 3] from 0 to 255, by BT.601 in
    studio range (ITU-R BT.601-7), without rounding."""
    pairs = yuyv.reshape(len(yuyv), -1, 4).astype(np.float32)
    luma = (pairs[..., 0::2] - 16).reshape(len(yuyv), -1) * (255 / 219)
    u, v = (np.repeat(pairs[..., k] - 128, 2, axis=1) * (255 / 112) for k in (1, 3))
    red, blue = luma + 0.701 * v, luma + 0.886 * u
    green = luma - (0.299 * 0.701 * v + 0.114 * 0.886 * u) / 0.587
    return np.stack([red, green, blue], 2).clip(0, 255)


def _same_answer(answer: Answer, expected: np.ndarray | tuple[int, float] | None) -> bool:
    if answer.kind == "classes":
        assert isinstance(expected, tuple)
        return answer.classes[0].index == expected[0]
    if expected is None or not answer.boxes:
        return expected is None and not answer.boxes
    best = answer.boxes[0]
    return (
        overlap(np.array([best.left, best.top, best.right, best.bottom]), np.asarray(expected)) >= MIN_OVERLAP
    )


def _answer_text(answer: Answer) -> str:
    if answer.kind == "classes":
        return f"class {answer.classes[0].index} ({answer.classes[0].score:.2f})"
    if not answer.boxes:
        return "no face"
    best = answer.boxes[0]
    return f"face {best.left:.2f} {best.top:.2f} {best.right:.2f} {best.bottom:.2f} ({best.score:.2f})"
