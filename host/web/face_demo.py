"""The model of ``arenite demo --web``: the zoo's face detector as an int8 image.

The detector is a float model, so it is converted here, with parts of the photographs that ``arenite camera --source
photos`` shows. The image is kept in the cache.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from arenite.converters.processing.image.reference import preprocess_image
from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.converters.tflite.image import load_image
from arenite.files import cache_directory, replace_file
from arenite.host.build.attachments import Attachments
from arenite.host.camera.sources.photos import photographs
from arenite.host.conversion.convert import convert as run_conversion
from arenite.host.conversion.request import ConversionRequest
from arenite.models import zoo
from arenite.models.picture_models import PictureModel, picture_model_by_name
from arenite.processes import temporary_folder

_MODEL = "face_detection_short_range"
#: A change of the calibration samples or of the conversion changes this number.
_VERSION = 1
_SAMPLES = 96
#: For some parts of a photograph, the float model's outputs are a hundred times as large as for all others. The parts
#: that this seed chooses are not among these: a single such sample would take the resolution of all others.
_SEED = 2


def face_detector(progress: Callable[[str, int, int], None] = lambda *_: None) -> Path:
    """Return the image of the face detector with its pre- and postprocessing.

    ``progress`` is called as ``progress(stage, done, total)``. Raises ``ToolError`` if the model or the photographs
    cannot be downloaded, and ``UsageError`` if no decoder of pictures is installed.
    """
    source = zoo.fetch(_MODEL)
    record = picture_model_by_name(_MODEL)
    assert record is not None
    key = hashlib.sha256(f"{_VERSION} {record.sha256}".encode()).hexdigest()[:12]
    image = cache_directory() / "web-demo" / f"{_MODEL}-{key}.tflite"
    if image.is_file():
        return image
    samples = calibration_samples(source, record)
    attachments = Attachments(_steps(record), Postprocessing.from_json(record.postprocessing), record.labels)
    with temporary_folder("arenite-demo-") as folder:
        calibration = Path(folder) / "photographs.npz"
        np.savez(calibration, x=samples)
        request = ConversionRequest(str(source), attachments=attachments, calibration=calibration)
        replace_file(image, run_conversion(request, progress).image)
    return image


def calibration_samples(source: Path, record: PictureModel) -> np.ndarray:
    """Return parts of the photographs as inputs of the float model: float32, shape (_SAMPLES, height, width, 3)."""
    rng = np.random.default_rng(_SEED)
    graph = load_image(source).model.main
    steps = _steps(record).bound(graph.tensors[graph.inputs[0]])
    pictures = photographs()
    parts = (_random_part(pictures[k % len(pictures)], rng) for k in range(_SAMPLES))
    return np.stack([preprocess_image(steps, part, "rgb") for part in parts]).astype(np.float32)


def _steps(record: PictureModel) -> Preprocessing:
    return Preprocessing.from_json(
        {**record.preprocessing, "source": {**record.preprocessing["source"], "format": "rgb"}}
    )


def _random_part(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a part of ``picture`` with the aspect ratio of a camera, 4:3 or less, and 30 to 100 % of its height."""
    height, width, _ = picture.shape
    rows = int(height * rng.uniform(0.3, 1.0))
    columns = min(width, rows * 4 // 3)
    top, left = int(rng.integers(0, height - rows + 1)), int(rng.integers(0, width - columns + 1))
    return np.ascontiguousarray(picture[top : top + rows, left : left + columns])
