"""The anomaly head in NumPy. Scores, thresholds and state equal those of the C code in every byte."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arenite.converters.anomaly import low_rank
from arenite.converters.anomaly.plan import BITS, MAX_U32, AnomalyPlan, Units

#: A class is a running mean of at most this number of examples; later ones count as if they were the last of them.
MAX_EXAMPLES = 256
_ONE = 1 << BITS


@dataclass(frozen=True)
class Judgement:
    """The result for one embedding: its score and the threshold, both with 16 fractional bits (``MAX_U32`` is "no
    threshold yet"), and whether the score is above the threshold."""

    score: int
    threshold: int
    alarm: bool


@dataclass(frozen=True)
class Nearest:
    """The nearest class (-1 for none) and the mean squared difference to its prototype, with 16 fractional bits."""

    index: int
    distance: int


def difference(units: Units, source: np.ndarray, output: np.ndarray) -> np.ndarray:
    """Return output - source of an autoencoder in units of the input, as int8. Both arrays are int8."""
    scaled = (output.astype(np.int64) - units.output_zero) * units.multiplier
    values = ((scaled + (1 << (BITS - 1))) >> BITS) - (source.astype(np.int64) - units.input_zero)
    clipped: np.ndarray = np.clip(values, -128, 127).astype(np.int8)
    return clipped


def logarithm(value: int) -> int:
    """Return the logarithm to base 2 with 16 fractional bits, a straight line between powers of two; 0 for 0."""
    if value == 0:
        return 0
    exponent = value.bit_length() - 1
    return exponent << BITS | ((value << (31 - exponent)) & 0x7FFFFFFF) >> 15


def exponential(value: int) -> int:
    """Return the inverse of ``logarithm``."""
    if value < 0:
        return 0
    exponent, mantissa = value >> BITS, _ONE | (value & (_ONE - 1))
    if exponent > 31:
        return MAX_U32
    return mantissa >> (BITS - exponent) if exponent < BITS else mantissa << (exponent - BITS)


class ReferenceHead:
    """An anomaly head with its state. ``state`` has one element of ``plan.state_dtype``, whose bytes are those of the
    device."""

    def __init__(self, plan: AnomalyPlan) -> None:
        self.plan = plan
        self.state = np.zeros(1, plan.state_dtype)
        self._parameters = plan.parameters

    def score(self, embedding: np.ndarray) -> int:
        """Return the score of an int8 embedding with 16 fractional bits, 0 if nothing was learned yet."""
        state = self.state[0]
        if state["count"] == 0:
            return 0
        if self.plan.head.rank:
            values = low_rank.divided(embedding, state, self._parameters["floor"])
            return low_rank.score(values, state, self.plan)
        deviation = (embedding.reshape(-1).astype(np.int64) << BITS) - state["mean"]
        variance = state["variance"].astype(np.int64) + self._parameters["floor"]
        ratio = np.minimum((deviation * deviation + (variance >> 1)) // variance, MAX_U32)
        return int(ratio.sum()) // self.plan.size

    def threshold(self) -> int:
        """Return the largest score that is normal, with 16 fractional bits; ``MAX_U32`` during warm-up."""
        state = self.state[0]
        if state["count"] < self._parameters["warmup"]:
            return MAX_U32
        deviation = math.isqrt(int(state["score_variance"]) << BITS)
        return max(
            exponential(int(state["score_mean"]) + (deviation * self._parameters["sigmas"] >> 8)), _ONE
        )

    def update(self, embedding: np.ndarray) -> Judgement:
        """Return the score of an int8 embedding and whether it is an alarm, then learn it, unless the head is frozen
        or the embedding raised an alarm."""
        score, threshold = self.score(embedding), self.threshold()
        judgement = Judgement(score, threshold, score > threshold)
        state, parameters = self.state[0], self._parameters
        if state["frozen"] or (judgement.alarm and not parameters["learn_all"]):
            return judgement
        memory = 1 << parameters["memory_bits"]
        if state["count"] >= parameters["warmup"] >> 1:
            state["scores"] = min(int(state["scores"]) + 1, memory)
            value = np.array([logarithm(score)], np.int64)
            mean, variance = _learn(state["score_mean"], state["score_variance"], value, int(state["scores"]))
            state["score_mean"], state["score_variance"] = mean[0], variance[0]
        learned = int(state["count"]) - (parameters["warmup"] >> 2)
        state["count"] = min(int(state["count"]) + 1, memory)
        values = embedding.reshape(-1).astype(np.int64) << BITS
        state["mean"], state["variance"] = _learn(
            state["mean"], state["variance"], values, int(state["count"])
        )
        if self.plan.head.rank and learned > 0:
            low_rank.learn(low_rank.divided(embedding, state, parameters["floor"]), state, self.plan, learned)
        return judgement

    def freeze(self, frozen: bool = True) -> None:
        """Learn nothing more, or learn again."""
        self.state[0]["frozen"] = frozen

    def reset(self) -> None:
        """Forget statistics and scores, but not the classes. Ends a freeze."""
        for name in self.plan.state_dtype.names or ():
            if name not in ("taught", "prototypes"):
                self.state[0][name] = 0

    def teach(self, index: int, embedding: np.ndarray) -> int:
        """Learn an int8 example of class ``index``. Return the number of its examples, 0 if there is no such class."""
        if index >= self.plan.head.classes:
            return 0
        state = self.state[0]
        count = min(int(state["taught"][index]) + 1, MAX_EXAMPLES)
        state["taught"][index] = count
        prototype = self._prototype(index)
        change = (embedding.reshape(-1).astype(np.int64) * 256 - prototype + (count >> 1)) // count
        prototype += change.astype(np.int16)
        return count

    def forget(self, index: int) -> None:
        """Forget class ``index``."""
        if index < self.plan.head.classes:
            self.state[0]["taught"][index] = 0
            self._prototype(index)[:] = 0

    def classify(self, embedding: np.ndarray) -> Nearest:
        """Return the class with the nearest prototype; -1 if none was taught or the nearest one is too far."""
        nearest = Nearest(-1, MAX_U32)
        values = embedding.reshape(-1).astype(np.int64) * 256
        for index in range(self.plan.head.classes):
            if self.state[0]["taught"][index]:
                gap = values - self._prototype(index)
                distance = int((gap * gap).sum()) // self.plan.size
                if nearest.index < 0 or distance < nearest.distance:
                    nearest = Nearest(index, distance)
        return nearest if nearest.distance <= self._parameters["limit"] else Nearest(-1, nearest.distance)

    def _prototype(self, index: int) -> np.ndarray:
        size = self.plan.size
        prototypes: np.ndarray = self.state[0]["prototypes"]
        return prototypes[index * size : (index + 1) * size]


def _learn(
    mean: np.ndarray, variance: np.ndarray, value: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance after ``value``, the ``n``-th one. All have 16 fractional bits."""
    old = mean.astype(np.int64)
    before = value - old
    new = old + (before + (n >> 1)) // n
    product = (before * (value - new)) >> BITS
    spread = variance.astype(np.int64)
    return new, spread + (product - spread + (n >> 1)) // n
