"""Print the folder that contains the package onnx, such as .../site-packages, as an argument for export_onnx.py."""

from pathlib import Path

import onnx

assert onnx.__file__ is not None
print(Path(onnx.__file__).parents[1])
