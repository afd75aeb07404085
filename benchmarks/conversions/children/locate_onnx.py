"""Print the folder with the package onnx."""

from pathlib import Path

import onnx

assert onnx.__file__ is not None
print(Path(onnx.__file__).parents[1])
