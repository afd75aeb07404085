"""Serve frames with one model on one runtime. No data is copied between the stages.

The preprocessing reads the camera's buffer once and writes into the runtime's own input memory. The answer is read from
the runtime's own output memory.
"""

from __future__ import annotations

import time
from collections import OrderedDict

import numpy as np

from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.answers.answer_reader import AnswerReader
from arenite.host.camera.frames.frame import CropWindow, Format, Frame
from arenite.host.camera.frames.preprocessor import FramePreprocessor
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.model.camera_model import CameraModel
from arenite.host.camera.runtimes.base import Runtime

#: The maximum number of preprocessors that are kept. A camera has one format, but regions of its frames have several
#: sizes.
MAX_PREPROCESSORS = 16


class ModelServer:
    """A ``StagedServer`` of one model. ``slots`` is the number of frames that can be processed at the same time.

    Two threads must not use the same slot at once. ``prepare``, ``invoke`` and ``answer`` of different slots may
    overlap.
    """

    def __init__(self, model: CameraModel, runtime: Runtime, name: str = "") -> None:
        self.model, self.runtime = model, runtime
        self.name = name or model.name
        self.slots = len(runtime.slots)
        self._preprocessors: list[
            OrderedDict[tuple[Format, CropWindow | None], tuple[FramePreprocessor, AnswerReader]]
        ] = [OrderedDict() for _ in runtime.slots]
        self._readers: list[AnswerReader | None] = [None] * self.slots
        self.bytes_written = 0  # bytes that the preprocessing of the last frame wrote
        self.preprocessing_code = ""  # FramePreprocessor.code
        self._number = 0

    @property
    def labels(self) -> tuple[str, ...]:
        return self.model.labels

    @property
    def staged(self) -> ModelServer:
        return self

    def model_of(self, slot: int = 0) -> str:
        """Return the name of the model. It is the same for every slot."""
        return self.name

    def prepare(self, frame: Frame, slot: int = 0, window: CropWindow | None = None) -> None:
        """Write the pixels of ``frame``, or only the pixels of its part ``window``, into the model's input of
        ``slot``."""
        known = self._preprocessors[slot]
        bound = known.get((frame.format, window))
        if bound is None:
            bound = self._bind(frame.format, window, slot)
        preprocessor, self._readers[slot] = bound
        preprocessor.run(frame)

    def bind(self, format: Format, window: CropWindow | None = None) -> None:
        """Prepare for frames of ``format``, so that the first frame takes no longer than others. Raises
        ``UsageError``."""
        for slot in range(self.slots):
            if (format, window) not in self._preprocessors[slot]:
                self._bind(format, window, slot)

    def _bind(
        self, format: Format, window: CropWindow | None, slot: int
    ) -> tuple[FramePreprocessor, AnswerReader]:
        memory = self.runtime.slots[slot]
        preprocessor = FramePreprocessor(self.model.preprocessing, format, memory.inputs[0], window)
        reader = AnswerReader(self.model.postprocessing, memory, self.model.labels, preprocessor.geometry)
        known = self._preprocessors[slot]
        known[format, window] = preprocessor, reader
        if len(known) > MAX_PREPROCESSORS:
            known.popitem(last=False)
        self.bytes_written = preprocessor.bytes_written + preprocessor.scratch_bytes
        self.preprocessing_code = preprocessor.code
        return preprocessor, reader

    def invoke(self, slot: int = 0) -> None:
        self.runtime.invoke(slot)

    def warm(self) -> None:
        """Run the model on the previous input of the first slot. The result is not needed."""
        self.runtime.invoke(0)

    def answer(self, slot: int = 0) -> Answer:
        """Return the answer to the frame that was prepared last in ``slot``."""
        reader = self._readers[slot]
        assert reader is not None, "nothing was prepared"
        return reader.read()

    def input(self, slot: int = 0) -> np.ndarray:
        """Return a view of the prepared input as bytes, shape (n,), uint8."""
        return self.runtime.slots[slot].inputs[0].array().reshape(-1).view(np.uint8)

    def serve(self, frame: Frame, slot: int = 0, window: CropWindow | None = None) -> ServedFrame:
        """Run all stages in sequence, and return the answer and the times. The caller still has to release the
        frame."""
        clock = time.monotonic_ns
        t0 = clock()
        self.prepare(frame, slot, window)
        t1 = clock()
        self.runtime.invoke(slot)
        t2 = clock()
        answer = self.answer(slot)
        t3 = clock()
        number = self._number
        self._number += 1
        return ServedFrame(
            number,
            frame.source,
            frame.sequence,
            frame.time_ns,
            {"preprocess": (t0, t1), "invoke": (t1, t2), "postprocess": (t2, t3)},
            answer,
            model=self.name,
            missed=frame.missed,
            width=frame.format.width,
            height=frame.format.height,
        )

    def close(self) -> None:
        self.runtime.close()
