"""Functions that return PyTorch models, for sources given as module:function."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8),
            nn.ReLU6(),
            nn.MaxPool2d(2),
        )
        self.head = nn.Linear(8, 5)

    def forward(self, image):
        return torch.softmax(self.head(self.features(image).mean((2, 3))), -1)


def net():
    torch.manual_seed(3)
    model = Net()
    model(torch.rand(4, 3, 12, 8))  # batch statistics that are not 0 and 1
    return model, (torch.rand(2, 3, 12, 8),)


def bare():
    return net()[0]


def number():
    return 3


def broken():
    raise RuntimeError("the weights are elsewhere")
