"""Read the metadata that Ultralytics' exporter writes about a YOLO model: its task, class names and picture size.

ONNX files contain the metadata in ``metadata_props``, TFLite files in a text file of a ZIP archive at the end of the
model. Field names and layouts follow the exporter's documentation (https://docs.ultralytics.com/modes/export). The
tests use files that were written in the same way, not files of the exporter itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.converters.graph.tensor import Tensor
from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.converters.processing.post.steps import Nms, TopK
from arenite.converters.processing.specification.image_steps import Crop, ImageSource, Letterbox, Resize
from arenite.converters.processing.specification.preprocessing import Normalize, Preprocessing
from arenite.host.camera.model.flatbuffer_reader import Buffer
from arenite.host.camera.model.tflite_metadata import archived_text
from arenite.input_files import parse_json, parse_literal

#: The names of the text file in the archive: that of newer and that of older versions of the exporter.
_ARCHIVED_NAMES = ("metadata.json", "temp_meta.txt")
#: The gray value of the margins of a letterbox.
_MARGIN = (114,)


@dataclass(frozen=True)
class UltralyticsMetadata:
    """The metadata of a YOLO model.

    ``task`` is detect, segment, pose, classify or another task. ``names`` has the names of the classes. ``points`` is
    the number of keypoints per box, and ``point_values`` the number of values per keypoint (2 or 3). ``unit`` is the
    unit of coordinates in the output: pixels, or fractions of the input.
    """

    task: str
    names: tuple[str, ...]
    points: int
    point_values: int
    unit: str
    size: tuple[int, int]  # height and width for which the model was exported; 0 if not recorded

    def preprocessing(self, height: int, width: int) -> Preprocessing | None:
        """Return the preprocessing of RGB pictures for an input of ``height`` x ``width`` pixels. 1 x 1 means an input
        of any size; the size for which the model was exported is then used. Return None if that is not recorded."""
        if (height, width) == (1, 1):
            height, width = self.size
            if not height or not width:
                return None
        steps: tuple[Any, ...] = (Letterbox(width, height, _MARGIN, convention="opencv"),)
        if self.task == "classify":
            steps = (Resize(short_side=min(height, width)), Crop(width, height))
        return Preprocessing(ImageSource(), (*steps, Normalize(255.0)))

    def postprocessing(self, outputs: Sequence[Tensor]) -> Postprocessing | None:
        """Return the postprocessing; None for tasks and outputs that no step supports. Instance masks are ignored, so
        the answers of a segmentation model are boxes."""
        from arenite.converters.processing.post.detector_steps import Detections, Yolo

        shape = outputs[0].shape
        if self.task == "classify":
            return Postprocessing((TopK(min(5, outputs[0].elements)),))
        if self.task not in ("detect", "segment", "pose") or len(shape) != 3:
            return None
        classes = len(self.names)
        # A model that was exported with NMS has a row of 6 values per box: corners, score and class. Without NMS, a
        # model of 2 classes may also have 6 values per row, but it has thousands of rows.
        if self.task == "detect" and shape[-1] == 6 and shape[1] <= 1000:
            return Postprocessing(
                (Detections(output=0, order="xyxy", unit=self.unit, threshold=0.25, most=min(shape[1], 100)),)
            )
        # Older YOLO versions also have an objectness score per box.
        objectness = min(shape[1:]) == 5 + classes and not self.points
        head = Yolo(
            objectness=objectness,
            unit=self.unit,
            classes=classes,
            points=self.points,
            point_values=self.point_values,
        )
        return Postprocessing((head, Nms(0.45, 100)))


def read_ultralytics_metadata(
    path: Path, data: Buffer, metadata: Mapping[str, bytes]
) -> UltralyticsMetadata | None:
    """Return the metadata that the exporter wrote; None for other files. ``metadata`` has the ``metadata_props`` of an
    ONNX file; ``data`` is the content of the file at ``path``."""
    entries: Mapping[str, Any] = {key: value.decode("utf-8", "replace") for key, value in metadata.items()}
    unit = "pixels"
    if path.suffix.lower() != ".onnx":
        entries, unit = _table(archived_text(path, data, _ARCHIVED_NAMES)), "fractions"
    names = _table(entries.get("names"))
    if not names or "stride" not in entries:
        return None
    shape = _value(entries.get("kpt_shape"))
    points, values = shape if isinstance(shape, (list, tuple)) and len(shape) == 2 else (0, 3)
    try:
        ordered = tuple(str(names[key]) for key in sorted(names, key=int))
        size = _value(entries.get("imgsz"))
        sides = (int(size[0]), int(size[1])) if isinstance(size, (list, tuple)) and len(size) == 2 else (0, 0)
        return UltralyticsMetadata(
            str(entries.get("task", "detect")), ordered, int(points), int(values), unit, sides
        )
    except (TypeError, ValueError, OverflowError):  # a number may be infinite
        return None


def _table(value: Any) -> Mapping[Any, Any]:
    """Return ``value`` as a mapping. It may be a mapping, a list (its indices become the keys), or a text that contains
    one of them. Return {} for other values."""
    parsed = _value(value)
    if isinstance(parsed, list):
        return dict(enumerate(parsed))
    return parsed if isinstance(parsed, Mapping) else {}


def _value(value: Any) -> Any:
    """Return the value of a text that is JSON or a Python literal, and None for other texts. A value that is not a text
    is returned as it is."""
    if not isinstance(value, str):
        return value
    for parse in (parse_json, parse_literal):
        with contextlib.suppress(ValueError):
            return parse(value)
    return None
