"""Prints the folder that has the package onnx."""

from pathlib import Path

import onnx

print(Path(onnx.__file__).parents[1])
