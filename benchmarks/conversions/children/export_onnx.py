"""A PyTorch program (.pt2) as ONNX. Arguments: the program, the new file, and the folder that has the package onnx.

Runs in the environment "torch", which has no ONNX of its own.
"""

import sys

import torch

source, target, packages = sys.argv[1:]
sys.path.append(packages)
program = torch.export.load(source)
module = program.module()
# The exporter switches to evaluation, which an exported program is in for good.
module.train = lambda mode=True: module
inputs = program.example_inputs[0]
torch.onnx.export(module, inputs, target, dynamo=False, opset_version=17, input_names=["image"])
