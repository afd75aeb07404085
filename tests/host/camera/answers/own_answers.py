"""Compute the camera loop's answer to one picture, for comparisons with reference answers."""

from __future__ import annotations

import numpy as np

from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.answers.answer_reader import AnswerReader
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.frames.preprocessor import FramePreprocessor
from arenite.host.camera.model.camera_model import CameraModel
from tests.host.camera.answers.interpreter_runs import InterpreterModel


class LoopPipeline:
    """Computes the answer to a picture in the same steps as the camera loop."""

    def __init__(self, model: CameraModel) -> None:
        self._model, self._running = model, InterpreterModel(model)

    def answer(self, picture: np.ndarray) -> Answer:
        """Return the answer to ``picture``, uint8 [height, width, 3] in the order red, green, blue."""
        picture = np.ascontiguousarray(picture)
        height, width, _ = picture.shape
        format = Format("rgb", width, height, (3 * width,))
        preprocessor = FramePreprocessor(self._model.preprocessing, format, self._running.slot.inputs[0])
        preprocessor.run(Frame(format, (picture.ctypes.data,), picture, 0, 0))
        self._running.invoke()
        slot, geometry = self._running.slot, preprocessor.geometry
        return AnswerReader(self._model.postprocessing, slot, self._model.labels, geometry).read()
