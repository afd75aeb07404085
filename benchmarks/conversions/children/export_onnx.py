"""Export a PyTorch program (.pt2) to ONNX. Arguments: the program, the ONNX file, and the folder with the package onnx.

This program runs in the environment "torch", which does not contain the package onnx.
"""

import sys

import torch

source, target, packages = sys.argv[1:]
sys.path.append(packages)
program = torch.export.load(source)
module = program.module()
# The exporter calls train(False). An exported program does not support this call, because it is always in evaluation
# mode.
module.train = lambda mode=True: module
inputs = program.example_inputs[0]
torch.onnx.export(module, inputs, target, dynamo=False, opset_version=17, input_names=["image"])
