"""A module:function source: the trained network out of the file that ``MNIST_PT2`` names."""

import os

import torch


def network():
    program = torch.export.load(os.environ["MNIST_PT2"])
    return program.module(), program.example_inputs[0]
