"""An autoencoder learns to repeat what its narrow layer can hold."""

from __future__ import annotations

import numpy as np

from arenite.models.training.autoencoder import layer_values, train_autoencoder


def test_it_learns_more_than_the_mean() -> None:
    """Two numbers decide all 20 values, which have different means and scales."""
    rng = np.random.default_rng(0)
    mix, mean = rng.normal(0, 3, (2, 20)), rng.normal(0, 50, 20)

    def samples(count: int) -> np.ndarray:
        return np.asarray(rng.normal(0, 1, (count, 2)) @ mix + mean)

    layers = train_autoencoder(samples(2000), (20, 32, 4, 32, 20), 40)
    held_out = samples(500)
    left = layer_values(layers, held_out)[-1] - held_out
    assert [len(bias) for bias in layers[1::2]] == [32, 4, 32, 20]
    assert np.mean(left**2) < 0.15 * np.mean((held_out - held_out.mean(0)) ** 2)
