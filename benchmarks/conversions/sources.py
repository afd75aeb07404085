"""Write one trained network in the formats of all frameworks, and write samples for the reference models."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from arenite.converters.importers.environments import environment
from arenite.converters.quantize.checks.sample_range import representable_range
from arenite.converters.tflite.reader import load
from arenite.models.datasets import dataset
from arenite.models.manifest import manifest
from arenite.models.package_members import package_members

CHILDREN = Path(__file__).parent / "children"
#: The folder for the trained network and the samples.
SOURCES = Path("out/conversions/sources").resolve()
FACTORY = "mnist_factory:network"

#: The arguments of ``arenite train`` for the network of the tables.
TRAINING = ("dscnn", "--data", "mnist", "--width", "0.5", "--epochs", "3")

#: The scale and zero point of the stored int8 keyword samples. They equal the scale and zero point of kws01_int8's
#: input.
_KEYWORD_QUANTIZATION = (0.5847029089927673, 83)

_PHOTOGRAPHS = ("sklearn/datasets/images/china.jpg", "sklearn/datasets/images/flower.jpg")
_PHOTOGRAPHS_SHA256 = "c1ef34f251839d4aea0f512ef005eeba01e9109bce8f7f4b7c4da6e3f45c54e5"


def mnist_sources(folder: Path) -> dict[str, str]:
    """Train the network once and write it in every format. Return the sources for ``arenite convert``, by the name of
    the format."""
    folder.mkdir(parents=True, exist_ok=True)
    formats = ["mnist.keras", "mnist.h5", "mnist_saved", "mnist.tflite", "mnist.pt2"]
    if not all((folder / name).exists() for name in [*formats, "test.npz", "train.json"]):
        command = [sys.executable, "-m", "arenite.host.cli.main", "train", *TRAINING, "--json"]
        for name in formats:
            command += ["-o", str(folder / name)]
        done = subprocess.run(
            [*command, "--save-data", str(folder)], stdout=subprocess.PIPE, text=True, check=True
        )
        (folder / "train.json").write_text(done.stdout)
    if not (folder / "mnist.onnx").exists():
        packages = environment("onnx").run(CHILDREN / "locate_onnx.py").strip().splitlines()[-1]
        arguments = (str(folder / "mnist.pt2"), str(folder / "mnist.onnx"), packages)
        environment("torch").run(CHILDREN / "export_onnx.py", *arguments)
    if not (folder / "mnist_int8.tflite").exists():
        files = ("mnist.keras", "calibration.npz", "mnist_float16.tflite", "mnist_int8.tflite")
        environment("tensorflow").run(CHILDREN / "tflite_types.py", *(str(folder / f) for f in files))
    return {
        "Keras 3, .keras": str(folder / "mnist.keras"),
        "Keras, .h5": str(folder / "mnist.h5"),
        "SavedModel": str(folder / "mnist_saved"),
        "ONNX": str(folder / "mnist.onnx"),
        "PyTorch, .pt2": str(folder / "mnist.pt2"),
        "PyTorch, module:function": FACTORY,
        "TFLite, float32": str(folder / "mnist.tflite"),
        "TFLite, float16": str(folder / "mnist_float16.tflite"),
        "TFLite, int8 by TensorFlow": str(folder / "mnist_int8.tflite"),
    }


def training(folder: Path) -> dict:
    """Return the ``arenite.train/1`` object that ``arenite train`` printed for the network in ``folder``."""
    return json.loads((folder / "train.json").read_text())


def keyword_samples(file: Path, folder: Path) -> tuple[Path, Path]:
    """Write 200 of the 1,000 keyword samples in ``file``, evenly spread, for calibration, and the remaining 800 for the
    score. Return the paths of the two files."""
    folder.mkdir(parents=True, exist_ok=True)
    with np.load(file) as data:
        x, y = data["x"], data["y"]
    calibration = np.arange(200) * len(x) // 200
    test = np.setdiff1d(np.arange(len(x)), calibration)
    scale, zero_point = np.float32(_KEYWORD_QUANTIZATION[0]), _KEYWORD_QUANTIZATION[1]
    paths = folder / "keywords_200.npz", folder / "keywords_800.npz"
    for path, indices in zip(paths, (calibration, test), strict=True):
        np.savez(path, x=x[indices], y=y[indices], scale=scale, zero_point=zero_point)
    return paths


def photograph_samples(int8_model: Path, folder: Path, count: int = 600) -> tuple[Path, Path]:
    """Write ``count`` patches of two photographs, in the size and range of the input of the model ``int8_model``. 200
    patches are for calibration, the remaining patches for the comparison. They have no labels. Return the paths of the
    two files."""
    main = load(int8_model).main
    tensor = main.tensors[main.inputs[0]]
    limits = representable_range(tensor)
    assert limits is not None
    side = tensor.shape[1]
    rng = np.random.default_rng(0)
    patches = []
    pictures = _photographs()
    for k in range(count):
        picture = pictures[k % len(pictures)]
        size = int(rng.integers(side, min(picture.size)))
        left, top = (int(rng.integers(0, edge - size + 1)) for edge in picture.size)
        patch = picture.crop((left, top, left + size, top + size)).resize(
            (side, side), Image.Resampling.BILINEAR
        )
        patches.append(np.asarray(patch, np.float32))
    x = limits[0] + np.stack(patches) / 255 * (limits[1] - limits[0])
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / f"{int8_model.stem}_200.npz", folder / f"{int8_model.stem}_rest.npz"
    np.savez(paths[0], x=x[:200].astype(np.float32))
    np.savez(paths[1], x=x[200:].astype(np.float32))
    return paths


def dense_samples(folder: Path) -> tuple[Path, Path]:
    """Write MNIST samples for the network of ``benchmarks.flash_budget``: 1,300 pictures that were not used in
    training, and the test set. Return the paths of the two files."""
    data = dataset("mnist")
    paths = folder / "dense_1300.npz", folder / "dense_test.npz"
    np.savez(paths[0], x=data.x_train.reshape(-1, 784)[-1300:], y=data.y_train[-1300:])
    np.savez(paths[1], x=data.x_test.reshape(-1, 784), y=data.y_test)
    return paths


def _photographs() -> list[Image.Image]:
    # The photographs are in the same package, scikit-learn, as the data set "digits".
    files = replace(
        manifest().datasets["digits"], name="photographs", paths=_PHOTOGRAPHS, sha256=_PHOTOGRAPHS_SHA256
    )
    return [Image.open(io.BytesIO(data)).convert("RGB") for data in package_members(files, "datasets")]
