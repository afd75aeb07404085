"""Compare the outputs of a network with those of the float model, in a way that shows changed decisions.

An output after a softmax or sigmoid is compared as probabilities: an error of a logit counts as much as it changes
the probabilities. Errors of logits far below the largest logit change nothing. Probabilities close to 0 or 1 hide
errors, so the probabilities are also computed at 2 and 4 times the temperature, which counts the errors of more
samples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arenite.converters.graph.model import Subgraph
from arenite.converters.quantize.sensitivity.sensitivity import output_probes

_TEMPERATURES = (1.0, 2.0, 4.0)


class OutputDistance:
    """The float model's values of ``probes``: its outputs, or the inputs of their softmax or sigmoid.

    Args:
        graph: the float model.
        expected: the values of each probe for all samples, [samples, ...].
    """

    def __init__(self, graph: Subgraph, expected: Sequence[np.ndarray]) -> None:
        self.probes = output_probes(graph)
        readers = {op.inputs[0]: op for op in graph.ops if op.name in ("SOFTMAX", "LOGISTIC")}
        self._readers = {i: readers[i].name for i in self.probes if i in readers}
        self._betas = {i: float(readers[i].options.get("beta", 1.0)) for i in self._readers}
        self._expected = {
            i: self._comparable_values(i, e) for i, e in zip(self.probes, expected, strict=True)
        }
        self._power = {i: [float(np.mean(v**2)) for v in values] for i, values in self._expected.items()}

    def errors(self, actual: Sequence[np.ndarray]) -> list[float]:
        """Return the mean squared error of each probe as a share of the float model's mean square."""
        return [self.error(i, a) for i, a in zip(self.probes, actual, strict=True)]

    def error(self, probe: int, actual: np.ndarray) -> float:
        """Return the mean squared error of one probe as a share of the float model's mean square."""
        compared = zip(
            self._comparable_values(probe, actual), self._expected[probe], self._power[probe], strict=True
        )
        return float(np.mean([np.mean((a - e) ** 2) / max(power, 1e-30) for a, e, power in compared]))

    def _comparable_values(self, probe: int, values: np.ndarray) -> list[np.ndarray]:
        """Return the probabilities of a probe at each temperature, or only ``values`` if no softmax or sigmoid
        follows."""
        values = values.astype(np.float64)
        reader = self._readers.get(probe)
        if reader is None:
            return [values]
        scaled = [values * self._betas[probe] / t for t in _TEMPERATURES]
        return [_softmax(v) if reader == "SOFTMAX" else _sigmoid(v) for v in scaled]


def _softmax(values: np.ndarray) -> np.ndarray:
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def _sigmoid(values: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 + 0.5 * np.tanh(values / 2))  # exp would overflow for large negative values
