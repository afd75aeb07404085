"""Train a small classifier for each activation of a framework: ``train_activations.py keras|torch DATA.npz FOLDER``.

The folder gets NAME.keras or NAME.pt2. DATA.npz has x [samples, features] and the class numbers y.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

#: Training steps, samples per step, and learning rate.
STEPS, BATCH, RATE = 400, 64, 0.004

#: The functions of keras.activations that compute each value alone. The last line has operations of keras.ops with
#: arguments.
KERAS_NAMES = """
celu elu exponential gelu hard_shrink hard_sigmoid hard_silu hard_tanh leaky_relu log_sigmoid mish relu relu6 selu
sigmoid silu soft_shrink softplus softsign sparse_plus sparse_sigmoid squareplus tanh tanh_shrink
threshold gelu_tanh
"""
#: The functions that compute each value from several features. Sparsemax is missing, because a network with it does not
#: learn.
KERAS_VECTORS = ["glu", "log_softmax", "softmax"]

#: Activations whose networks only learn with normalized values.
NORMALIZED = ("exponential",)

TORCH_NAMES = """
CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish PReLU ReLU ReLU6 RReLU SELU SiLU
Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink Threshold GELU_tanh
"""
TORCH_VECTORS = ["GLU", "LogSoftmax", "Softmax", "Softmin"]


def keras_activation(name: Any) -> Any:
    """Return a function or layer that computes the activation ``name``."""
    import keras

    functions = {
        "threshold": lambda x: keras.ops.threshold(x, 0.1, -0.2),
        "gelu_tanh": lambda x: keras.ops.gelu(x, approximate=True),
        "gelu": lambda x: keras.ops.gelu(x, approximate=False),
        "glu": lambda x: keras.ops.glu(x, axis=-1),
    }
    return functions.get(name) or keras.layers.Activation(name)


def train_keras(x: np.ndarray, y: np.ndarray, folder: Path) -> None:
    """Train and save a network for each activation of Keras."""
    import keras

    for name in KERAS_NAMES.split() + KERAS_VECTORS:
        keras.utils.set_random_seed(1)
        values = first = keras.Input((x.shape[1],))
        for units in (24, 16):
            values = keras.layers.Dense(2 * units if name == "glu" else units)(values)
            if name in NORMALIZED:
                values = keras.layers.BatchNormalization(momentum=0.9)(values)
            values = keras_activation(name)(values)
        model = keras.Model(first, keras.layers.Dense(int(y.max()) + 1)(values))
        model.compile(
            keras.optimizers.Adam(RATE, clipnorm=1.0),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
        model.fit(x, y, batch_size=BATCH, epochs=max(1, STEPS * BATCH // len(x)), verbose=0)
        model.save(folder / f"{name}.keras")


def torch_activation(name: Any) -> Any:
    """Return a module that computes the activation ``name``."""
    from torch import nn

    arguments = {"CELU": (2.0,), "Threshold": (0.1, -0.2)} | dict.fromkeys(TORCH_VECTORS, (-1,))
    return nn.GELU("tanh") if name == "GELU_tanh" else getattr(nn, name)(*arguments.get(name, ()))


def train_torch(x: np.ndarray, y: np.ndarray, folder: Path) -> None:
    """Train and save a network for each activation of PyTorch."""
    import torch
    from torch import nn

    values, labels = torch.tensor(x), torch.tensor(y)
    for name in TORCH_NAMES.split() + TORCH_VECTORS:
        torch.manual_seed(1)
        factor = 2 if name == "GLU" else 1
        model = nn.Sequential(
            nn.Linear(x.shape[1], 24 * factor),
            torch_activation(name),
            nn.Linear(24, 16 * factor),
            torch_activation(name),
            nn.Linear(16, int(y.max()) + 1),
        )
        optimizer = torch.optim.Adam(model.parameters(), RATE)
        for _ in range(STEPS):
            rows = torch.randint(0, len(x), (BATCH,))
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(values[rows]), labels[rows]).backward()
            optimizer.step()
        torch.export.save(torch.export.export(model.eval(), (values[:1],)), folder / f"{name}.pt2")


if __name__ == "__main__":
    with np.load(sys.argv[2]) as data:
        {"keras": train_keras, "torch": train_torch}[sys.argv[1]](data["x"], data["y"], Path(sys.argv[3]))
