"""Train a small classifier for each activation of a framework: ``train_activations.py keras|torch DATA.npz FOLDER``.

The folder gets NAME.keras or NAME.pt2. DATA.npz has x [samples, features] and the class numbers y.
"""

import sys
from pathlib import Path

import numpy as np

STEPS, BATCH, RATE = 400, 64, 0.004

#: Names of functions in keras.activations.
KERAS = ["selu", "softplus", "log_sigmoid", "mish"]


def train_keras(x: np.ndarray, y: np.ndarray, folder: Path) -> None:
    import keras

    for name in KERAS:
        keras.utils.set_random_seed(1)
        model = keras.Sequential(
            [
                keras.Input((x.shape[1],)),
                keras.layers.Dense(24, activation=name),
                keras.layers.Dense(16, activation=name),
                keras.layers.Dense(int(y.max()) + 1),
            ]
        )
        model.compile(
            keras.optimizers.Adam(RATE), keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        )
        model.fit(x, y, batch_size=BATCH, epochs=max(1, STEPS * BATCH // len(x)), verbose=0)
        model.save(folder / f"{name}.keras")


def train_torch(x: np.ndarray, y: np.ndarray, folder: Path) -> None:
    import torch
    from torch import nn

    activations = {"CELU": nn.CELU(2.0), "SELU": nn.SELU(), "Softplus": nn.Softplus(), "Mish": nn.Mish()}
    values, labels = torch.tensor(x), torch.tensor(y)
    for name, activation in activations.items():
        torch.manual_seed(1)
        model = nn.Sequential(
            nn.Linear(x.shape[1], 24),
            activation,
            nn.Linear(24, 16),
            activation,
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
