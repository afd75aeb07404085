"""Functions that return a PyTorch model and example inputs, for tests of sources given as module:function."""

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
    """Return a convolutional network and example inputs with a batch of 2."""
    torch.manual_seed(3)
    model = Net()
    model(torch.rand(4, 3, 12, 8))  # batch statistics that are not 0 and 1
    return model, (torch.rand(2, 3, 12, 8),)


def bare():
    """Return a model without example inputs."""
    return net()[0]


class Bessel(nn.Module):
    def forward(self, values):
        return torch.special.bessel_j0(values)


def without_form():
    """Return a model with an operator that litert-torch cannot convert, and example inputs."""
    return nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.ReLU(), Bessel())), (torch.rand(1, 8),)


def number():
    """Return something that is no model."""
    return 3


def broken():
    """Fail with an exception."""
    raise RuntimeError("the weights are elsewhere")


def upsampling():
    """Return transposed convolutions with padding on both sides and with output padding, and example inputs."""
    return nn.Sequential(
        nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1),
        nn.ReLU(),
        nn.ConvTranspose2d(4, 2, 3, stride=3, padding=1, output_padding=2),
    ), (torch.zeros(1, 3, 5, 4),)


def random_slopes():
    """Return RReLU with default limits and with others, between transposed convolutions with padding, and example
    inputs."""
    return nn.Sequential(
        nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1),
        nn.RReLU(),
        nn.Conv2d(4, 2, 3),
        nn.RReLU(0.5, 0.7),
    ), (torch.zeros(1, 3, 5, 4),)


class Branch(nn.Module):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x


def branch():
    """Return a model with a branch that depends on the input, and example inputs."""
    return Branch(), (torch.ones(1, 4),)


class Sorted(nn.Module):
    def __init__(self):
        super().__init__()
        self.scores = nn.Linear(4, 4)
        self.order = Order()

    def forward(self, x):
        return self.order(self.scores(x))


class Order(nn.Module):
    def forward(self, x):
        return torch.sort(x).values


def ordered():
    """Return a model whose layer 'order' sorts, for which there is no kernel."""
    return Sorted(), (torch.zeros(1, 4),)
