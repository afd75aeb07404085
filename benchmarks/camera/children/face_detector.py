"""Measure MediaPipe Tasks' FaceDetector. This program runs in a Python environment that contains MediaPipe, and
does not import Arenite.

    python face_detector.py MODEL.tflite RGB.npy YUYV.npy

RGB.npy contains the pictures as uint8 [pictures, height, width, 3], and YUYV.npy contains the same pictures as
uint8 [pictures, height, width, 2].

The program first prints {"ready": true, "version": "..."} with MediaPipe's version. Then each line of JSON on standard
input requests a round: it detects faces in the pictures, in order and repeated, and measures the time. The fields of a
request are:

- "mode": MediaPipe's running mode, "image" or "video";
- "input": the format of the frames, "rgb" or "yuyv";
- "frames": the number of frames;
- "processors": the number of processors that the threads may use, or 0 for all.

The reply is one line of JSON with these fields:

- "ns": the time of each frame in nanoseconds; unless "processors" is 1, frames in which a thread was interrupted are
  left out;
- "found": for each picture the face with the highest score as [left, top, right, bottom, score], with edges as
  fractions of the width and height; null if there is no face or the picture was not used.
"""

import importlib
import json
import os
import resource
import sys
import time
from typing import Any

import cv2
import flatbuffers
import numpy as np
from mediapipe.tasks.metadata import metadata_schema_py_generated as metadata
from mediapipe.tasks.metadata import schema_py_generated as schema
from mediapipe.tasks.python import BaseOptions, vision

# The module is imported by its name, because type checkers would resolve `import mediapipe` to the module in the parent
# folder.
mp: Any = importlib.import_module("mediapipe")


def add_normalization(model: bytes) -> bytes:
    """Return ``model`` with the metadata that MediaPipe requires for a float input. They specify that a pixel p becomes
    (p - 127.5) / 127.5."""
    normalization = metadata.NormalizationOptionsT()
    normalization.mean, normalization.std = [127.5], [127.5]
    unit = metadata.ProcessUnitT()
    unit.optionsType, unit.options = metadata.ProcessUnitOptions.NormalizationOptions, normalization
    pixels = metadata.ImagePropertiesT()
    pixels.colorSpace = metadata.ColorSpaceType.RGB
    content = metadata.ContentT()
    content.contentPropertiesType = metadata.ContentProperties.ImageProperties
    content.contentProperties = pixels
    tensors = [metadata.TensorMetadataT() for _ in range(3)]
    for tensor, name in zip(tensors, ("input", "regressors", "classificators"), strict=True):
        tensor.name = name
    tensors[0].content, tensors[0].processUnits = content, [unit]
    graph = metadata.SubGraphMetadataT()
    graph.inputTensorMetadata, graph.outputTensorMetadata = tensors[:1], tensors[1:]
    model_metadata = metadata.ModelMetadataT()
    model_metadata.name, model_metadata.subgraphMetadata = "face detector", [graph]

    loaded = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(model, 0))
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(serialize(model_metadata, b"M001"), np.uint8)
    loaded.buffers.append(buffer)
    entry = schema.MetadataT()
    entry.name, entry.buffer = "TFLITE_METADATA", len(loaded.buffers) - 1
    loaded.metadata = [*(loaded.metadata or []), entry]
    return serialize(loaded, b"TFL3")


def serialize(table, identifier: bytes) -> bytes:
    """Return a table of the flatbuffers object API as a file with the given file identifier."""
    builder = flatbuffers.Builder(0)
    builder.Finish(table.Pack(builder), identifier)
    return bytes(builder.Output())


class Detectors:
    """Two detectors with the same model, one for each of MediaPipe's running modes."""

    def __init__(self, model: bytes) -> None:
        def create(mode):
            options = vision.FaceDetectorOptions(BaseOptions(model_asset_buffer=model), running_mode=mode)
            return vision.FaceDetector.create_from_options(options)

        self.image = create(vision.RunningMode.IMAGE)
        self.video = create(vision.RunningMode.VIDEO)
        self.now_ms = 0

    def detect(self, mode: str, rgb: np.ndarray):
        """Return MediaPipe's result for ``rgb``, uint8 [height, width, 3]. In mode "video", frames are 33 ms apart."""
        picture = mp.Image(image_format=mp.ImageFormat.SRGB, data=rgb)
        if mode == "image":
            return self.image.detect(picture)
        self.now_ms += 33
        return self.video.detect_for_video(picture, self.now_ms)

    def close(self) -> None:
        self.image.close()
        self.video.close()


def confine(processors: int, allowed: set) -> None:
    """Let all threads of this process, and the threads that they start later, run only on the ``processors`` lowest
    processor numbers in ``allowed``. If ``processors`` is 0, they may run on all of ``allowed``."""
    permitted = set(sorted(allowed)[:processors]) if processors else allowed
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), permitted)


def best(result, width: int, height: int):
    """Return [left, top, right, bottom, score] of the best face, with edges as fractions of the picture, or None if
    there is no face. ``width`` and ``height`` are the size of the picture in pixels."""
    if not result.detections:
        return None
    detection = max(result.detections, key=lambda each: each.categories[0].score)
    box = detection.bounding_box
    edges = (box.origin_x, box.origin_y, box.origin_x + box.width, box.origin_y + box.height)
    parts = [edge / side for edge, side in zip(edges, (width, height, width, height), strict=True)]
    return [*parts, detection.categories[0].score]


def main() -> None:
    cv2.setNumThreads(1)
    with open(sys.argv[1], "rb") as stream:
        detectors = Detectors(add_normalization(stream.read()))
    rgb, yuyv = np.load(sys.argv[2]), np.load(sys.argv[3])
    height, width = rgb.shape[1:3]
    allowed = os.sched_getaffinity(0)
    print(json.dumps({"ready": True, "version": mp.__version__}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        confine(request["processors"], allowed)
        from_camera = request["input"] == "yuyv"
        times: list[int] = []
        detections: list[list[float] | None] = [None] * len(rgb)
        interrupted = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        for number in range(request["frames"]):
            k = number % len(rgb)
            start = time.perf_counter_ns()
            picture = cv2.cvtColor(yuyv[k], cv2.COLOR_YUV2RGB_YUYV) if from_camera else rgb[k]
            result = detectors.detect(request["mode"], picture)
            elapsed = time.perf_counter_ns() - start
            before, interrupted = interrupted, resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
            # On one processor MediaPipe's own threads interrupt each other, which is a part of a frame's cost.
            if interrupted == before or request["processors"] == 1:
                times.append(elapsed)
            detections[k] = best(result, width, height)
        print(json.dumps({"ns": times, "found": detections}), flush=True)
    detectors.close()


if __name__ == "__main__":
    main()
