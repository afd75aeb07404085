"""Run the baseline: plain OpenCV code with VideoCapture, cvtColor, resize, set_tensor, invoke and get_tensor.

``VideoCapture`` returns BGR pictures. For a camera that sends YUYV, OpenCV's V4L2 backend converts the complete frame
into an internal picture, and ``read`` returns a copy of this picture (``retrieveFrame`` of cap_v4l.cpp, 4.x and 5.x).
The benchmark has no camera, so this module does the same conversion and copy.
"""

from __future__ import annotations

import time
from typing import Any

import cv2
import numpy as np
from ai_edge_litert.interpreter import Interpreter

from benchmarks.camera.blazeface_reference import decode, short_range
from benchmarks.camera.cases import Case
from benchmarks.camera.pictures import HEIGHT, WIDTH

#: The smallest score of a face that is reported.
MIN_SCORE = 0.5


class BaselineLoop:
    """Plain OpenCV code that processes a frame. ``run`` returns (class, score), or a list of faces. ``invoke_ns`` is
    the time of the latest inference in nanoseconds."""

    def __init__(self, case: Case) -> None:
        cv2.setNumThreads(1)
        self.kind = case.kind
        self.interpreter = Interpreter(model_path=str(case.path), num_threads=1)
        self.interpreter.allocate_tensors()
        self.input = self.interpreter.get_input_details()[0]
        self.outputs = sorted(self.interpreter.get_output_details(), key=lambda d: -int(np.prod(d["shape"])))
        self.size = (int(self.input["shape"][2]), int(self.input["shape"][1]))
        self.anchors = short_range()
        self.frame = np.empty((HEIGHT, WIDTH, 3), np.uint8)
        self.invoke_ns = 0

    def run(self, yuyv: np.ndarray) -> Any:
        bgr = self.read(yuyv)
        rgb = cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB)
        small = cv2.resize(rgb, self.size)
        self.interpreter.set_tensor(self.input["index"], self.tensor(small)[None])
        start = time.perf_counter_ns()
        self.interpreter.invoke()
        self.invoke_ns = time.perf_counter_ns() - start
        tensors = [self.interpreter.get_tensor(d["index"])[0] for d in self.outputs]
        if self.kind == "faces":
            return decode(tensors[0], tensors[1][:, 0], self.anchors, MIN_SCORE)
        scale, zero = self.outputs[0]["quantization"]
        scores = (tensors[0].astype(np.float32) - zero) * scale if scale else tensors[0]
        best = int(scores.argmax())
        return best, float(scores[best])

    def read(self, yuyv: np.ndarray) -> np.ndarray:
        """Do the work of ``VideoCapture.read`` for a camera frame, without the system calls."""
        cv2.cvtColor(yuyv.reshape(HEIGHT, WIDTH, 2), cv2.COLOR_YUV2BGR_YUYV, dst=self.frame)
        return self.frame.copy()

    def tensor(self, small: np.ndarray) -> np.ndarray:
        """Return the RGB picture ``small`` as input tensor, normalized or quantized as the model's documentation
        specifies."""
        dtype = self.input["dtype"]
        if dtype == np.float32:
            return small.astype(np.float32) / 127.5 - 1.0
        if dtype == np.uint8:
            return small
        return (small.astype(np.int16) - 128).astype(np.int8)
