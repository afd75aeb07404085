"""Define the network of the benchmark as PyTorch code, for a conversion from ``module:function``. The weights come from
the exported program (.pt2) whose path is in the environment variable ``MNIST_PT2``."""

import os

import torch
from torch import nn
from torch.nn import functional


class DsCnn(nn.Module):
    """A convolution, four depthwise-separable convolutions, the mean over all positions, and a dense layer."""

    def __init__(self, weights):
        super().__init__()
        for name, value in weights.items():
            self.register_buffer(name, value)

    def _layer(self, name, x, **options):
        return functional.relu(
            functional.conv2d(x, getattr(self, f"{name}_w"), getattr(self, f"{name}_b"), **options)
        )

    def forward(self, image):
        x = self._layer("conv_0", functional.pad(image, (1, 2, 1, 2)), stride=2)
        for k in range(4):
            x = self._layer(f"depthwise_{k}", x, padding=1, groups=x.shape[1])
            x = self._layer(f"conv_{k + 1}", x)
        return torch.softmax(functional.linear(x.mean((2, 3)), self.dense_0_w, self.dense_0_b), -1)


def network():
    program = torch.export.load(os.environ["MNIST_PT2"])
    return DsCnn(program.state_dict), (torch.zeros(1, 1, 28, 28),)
