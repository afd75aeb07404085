"""Choose other ranges of int8 tensors if the network's outputs become more exact.

A narrower range has smaller steps, but clips values. How much of the error of clipping reaches the outputs depends on
the layers that follow: clipping the input of a TANH or very negative logits changes nothing. A range wider than the
observed one has larger steps, but clips fewer values of other samples. For each group of tensors with one scale, the
float model runs with only this group rounded, and with only this group clipped:

- The error of rounding grows with the square of the step. It is measured with several steps and averaged.
- The error of clipping is measured on samples that did not determine the range: the samples are divided into parts, and
  each part is clipped to the range of the other parts. A value that occurs in few samples therefore counts.

The range with the smallest sum is chosen. Ranges of the model's inputs do not change. No range changes if the error of
clipping to the observed ranges is larger than the error of rounding: large values are then so rare that the samples do
not show what clipping costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.model import Model, Subgraph
from arenite.converters.quantize.calibration.observations import Observations
from arenite.converters.quantize.calibration.trained_ranges import trained_ranges
from arenite.converters.quantize.graph.operator_rules import WEIGHTS
from arenite.converters.quantize.graph.type_assignment import activation_quantization, assign_types
from arenite.converters.quantize.recipes.recipe import Recipe
from arenite.converters.quantize.remedies.output_distance import OutputDistance
from arenite.converters.quantize.remedies.rounded_graph import DependentGraph, dependent_graph
from arenite.converters.quantize.sensitivity.sensitivity import output_probes
from arenite.converters.tflite.litert.interpreter import LiteRtModel, run_tensor_values
from arenite.converters.tflite.reader import parse


@dataclass(frozen=True)
class BetterRanges:
    """The result of ``better_ranges``.

    ``ranges`` has (low, high) by name for the tensors whose ranges should change. ``are_tails_unknown`` says that
    large values are too rare to learn from the samples what clipping costs, so that nothing should be clipped.
    ``clipping`` is the expected error of clipping other samples to ``ranges``, and ``observed_clipping`` that of
    clipping them to the observed ranges: mean squared errors as in ``OutputDistance``.
    """

    ranges: Mapping[str, tuple[float, float]]
    are_tails_unknown: bool = False
    clipping: float = 0.0
    observed_clipping: float = 0.0


#: The shares of the lowest and the highest value that are tried.
_SHARES = (1.3, 1.2, 1.1, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.22, 0.16, 0.1)

#: The step of the observed range is multiplied by these factors to measure the error of rounding.
_STEPS = (1.0, 1.11, 1.23, 1.37)

#: The number of parts into which the samples are divided.
_PARTS = 4

#: The error of clipping counts this many times, because it comes from few samples, and other samples may be clipped
#: more.
_CAUTION = 4.0

#: The range of a group with a smaller share of the error of all groups does not change.
_MIN_SHARE = 0.03

#: A range is changed if the error is at most this share of the error with the observed range.
_MAX_ERROR_SHARE = 0.95

#: The largest number of multiply-accumulates of all runs, the cost of an operator in multiply-accumulates, and the
#: estimated number of ranges that are tried for each group. They limit the search to about half a minute.
_MAX_WORK = 5e10
_OPERATOR_WORK = 5e3
_RANGES_PER_GROUP = 12

#: Without this number of calibration samples, the ranges would fit these samples, not the network's task.
_MIN_CALIBRATION = 32

#: The largest number of samples that are used, and the number that large networks use.
_MAX_SAMPLES = 256
_MIN_SAMPLES = 96

#: The largest number of bytes of the tensors that are stored for all samples.
_MAX_BYTES = 1 << 29


def better_ranges(
    flatbuffer: bytes,
    recipe: Recipe,
    observations: Observations,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> BetterRanges:
    """Return the ranges of int8 tensors of the float model ``flatbuffer`` that should be narrower than the observed
    ranges. The result is empty if no range should change, if there are fewer than 32 samples, if the
    search would take too long, or if the model has a state.

    ``progress`` is called with (steps done, number of steps) before each step. Each group has two steps.
    """
    model = parse(flatbuffer)
    graph = model.main
    if (
        len(observations.inputs) < _MIN_CALIBRATION
        or len(model.subgraphs) > 1
        or any(t.is_variable for t in graph.tensors)
    ):
        return BetterRanges({})
    groups = _groups(model, recipe, observations)
    if not groups:
        return BetterRanges({})
    groups, count = _select_affordable(graph, groups, len(observations.inputs))
    stored = sorted({i for g in groups for i in (*g.inputs, *g.changed)})
    if not groups or count * 4 * sum(graph.tensors[i].elements for i in stored) > _MAX_BYTES:
        return BetterRanges({})
    samples = [observations.inputs[k * len(observations.inputs) // count] for k in range(count)]
    measures = _Measures(flatbuffer, graph, samples, stored)
    searches = [_GroupSearch(g, measures) for g in groups]
    for number, search in enumerate(searches):
        progress(number, 2 * len(searches))
        search.measure_rounding()
    total = sum(search.rounding for search in searches)
    observed_clipping = sum(search.clipping for search in searches)
    if observed_clipping > total:
        return BetterRanges({}, True, observed_clipping, observed_clipping)
    ranges: dict[str, tuple[float, float]] = {}
    clipping = observed_clipping
    for number, search in enumerate(searches):
        progress(len(searches) + number, 2 * len(searches))
        if search.part.changed & set(graph.inputs):
            continue
        if search.rounding + _CAUTION * search.clipping < _MIN_SHARE * total:
            continue
        low_share, high_share = search.best_shares()
        if (low_share, high_share) == (1.0, 1.0):
            continue
        stats = [observations.tensors[i] for i in search.part.changed]
        low, high = min(0.0, *(s.low for s in stats)), max(0.0, *(s.high for s in stats))
        # Six digits keep the image's record short.
        limits = float(f"{low * low_share:.6g}"), float(f"{high * high_share:.6g}")
        ranges |= {graph.tensors[i].name: limits for i in sorted(search.part.changed)}
        clipping += search.clipping_error(low_share, high_share) - search.clipping
    return BetterRanges(ranges, False, clipping, observed_clipping)


def _groups(model: Model, recipe: Recipe, observations: Observations) -> list[DependentGraph]:
    """Return the part of the graph that depends on each group of int8 tensors with a calibrated range."""
    graph = model.main
    trained = trained_ranges(model)
    a = assign_types(graph, recipe, observations.tensors, trained=trained)
    names = [t.name for t in graph.tensors]
    groups = []
    for forms in a.groups:
        tensors = {form.tensor for form in forms if graph.tensors[form.tensor].data is None}
        is_plain = all(form.dtype == "int8" for form in forms) and tensors <= set(observations.tensors)
        is_named = all(names.count(names[i]) == 1 and names[i] not in trained for i in tensors)
        if tensors and is_plain and is_named:
            groups.append(dependent_graph(model, tensors))
    return groups


def _select_affordable(
    graph: Subgraph, groups: Sequence[DependentGraph], samples: int
) -> tuple[list[DependentGraph], int]:
    """Return the groups whose search is cheap enough, and the number of samples. In a large network, these groups are
    near the outputs."""
    work = [_work(graph, g) * (len(_STEPS) + _RANGES_PER_GROUP) for g in groups]
    count = int(min(samples, np.clip(_MAX_WORK / max(sum(work), 1.0), _MIN_SAMPLES, _MAX_SAMPLES)))
    order = sorted(range(len(groups)), key=lambda k: work[k])
    cheap = np.cumsum([work[k] * count for k in order]) <= _MAX_WORK
    return [groups[k] for k in sorted(np.array(order)[cheap])], count


def _work(graph: Subgraph, part: DependentGraph) -> float:
    """Return the estimated multiply-accumulates of one run of ``part``."""
    total = 0.0
    for op in part.ops:
        total += _OPERATOR_WORK + sum(graph.tensors[i].elements for i in op.outputs if i >= 0)
        if op.name in WEIGHTS:
            weights = graph.tensors[op.inputs[WEIGHTS[op.name].weights]]
            channels = max(weights.shape[WEIGHTS[op.name].axis], 1) if weights.shape else 1
            total += graph.tensors[op.outputs[0]].elements * (weights.elements // channels)
    return total


class _Measures:
    """The float model's values for all samples, and the errors of its outputs."""

    def __init__(
        self,
        flatbuffer: bytes,
        graph: Subgraph,
        samples: Sequence[Sequence[np.ndarray]],
        stored: Sequence[int],
    ) -> None:
        probes = output_probes(graph)
        self.count = len(samples)
        rows = list(run_tensor_values(flatbuffer, samples, sorted({*stored, *probes})))
        self.values = {i: [row[i] for row in rows] for i in (*stored, *probes)}
        self.expected = {i: np.stack(self.values[i]) for i in probes}
        self.distance = OutputDistance(graph, list(self.expected.values()))
        self.part_numbers = np.arange(self.count) % _PARTS

    def error(self, actual: Mapping[int, np.ndarray]) -> float:
        """Return the mean error of the probes. Probes that are not in ``actual`` have no error."""
        errors = [self.distance.error(i, values) for i, values in actual.items()]
        return sum(errors) / len(self.expected)

    def run(
        self,
        part: DependentGraph,
        flatbuffer: bytes,
        samples: Sequence[int],
        results: Mapping[int, np.ndarray],
    ) -> None:
        """Run the model ``flatbuffer`` of ``part`` on ``samples``, and put its outputs into ``results``."""
        litert = LiteRtModel(flatbuffer)
        order = [detail["index"] for detail in litert.inputs]
        for k in samples:
            litert.run([self.values[i][k] for i in order])
            for probe, value in zip(results, litert.results(), strict=True):
                results[probe][k] = value.reshape(results[probe][k].shape)


@dataclass
class _GroupSearch:
    """The search for the range of one group of tensors."""

    part: DependentGraph
    measures: _Measures
    rounding: float = 0.0  # the error of rounding with the observed range

    def __post_init__(self) -> None:
        values = [self.measures.values[i] for i in sorted(self.part.changed)]
        self.lows = np.array([min(0.0, *(float(v.min()) for v in row)) for row in zip(*values, strict=True)])
        self.highs = np.array([max(0.0, *(float(v.max()) for v in row)) for row in zip(*values, strict=True)])
        self.probes = [i for i in self.measures.expected if i in self.part.computed]
        self._clipping: dict[tuple[float, float], float] = {}

    def measure_rounding(self) -> None:
        """Measure ``rounding``."""
        low, high = float(self.lows.min()), float(self.highs.max())
        if low == high or not self.probes:
            return
        shares = []
        for factor in _STEPS:
            results = self._exact_results()
            quant = activation_quantization(low * factor, high * factor, "int8")
            model = self.part.rounded_model(quant, self.probes)
            self.measures.run(self.part, model, range(self.measures.count), results)
            shares.append(self.measures.error(results) / factor**2)
        self.rounding = float(np.mean(shares))

    @property
    def clipping(self) -> float:
        """The error of clipping with the observed range."""
        return self.clipping_error(1.0, 1.0)

    def best_shares(self) -> tuple[float, float]:
        """Return the shares of the lowest and the highest value with the smallest error, or (1, 1)."""
        low, high = float(self.lows.min()), float(self.highs.max())
        a = b = 1.0
        if low < 0 < high:
            a = b = self._find_minimum(lambda share: self._error(share, share), 1.0)
        for _ in range(2):
            if high > 0:
                b = self._find_minimum(lambda share: self._error(a, share), b)  # noqa: B023 (called at once)
            if low < 0:
                a = self._find_minimum(lambda share: self._error(share, b), a)  # noqa: B023
        return (a, b) if self._error(a, b) <= _MAX_ERROR_SHARE * self._error(1.0, 1.0) else (1.0, 1.0)

    @staticmethod
    def _find_minimum(error: Callable[[float], float], start: float) -> float:
        """Return the share at which ``error`` has its next minimum, beginning at ``start``."""
        best = start
        for step in (1, -1):
            place = _SHARES.index(best) + step
            while 0 <= place < len(_SHARES) and error(_SHARES[place]) < error(best):
                best = _SHARES[place]
                place += step
        return best

    def _error(self, low_share: float, high_share: float) -> float:
        """Return the error of rounding plus ``_CAUTION`` times the error of clipping, with shares of the observed
        range."""
        low, high = float(self.lows.min()), float(self.highs.max())
        step = (high * high_share - low * low_share) / (high - low)
        return self.rounding * step**2 + _CAUTION * self.clipping_error(low_share, high_share)

    def clipping_error(self, low_share: float, high_share: float) -> float:
        """Return the error if each part of the samples is clipped to shares of the range of the other parts."""
        if (low_share, high_share) not in self._clipping:
            results = self._exact_results()
            for number in range(_PARTS):
                inside = self.measures.part_numbers == number
                low = float(self.lows[~inside].min()) * low_share
                high = float(self.highs[~inside].max()) * high_share
                outside = np.flatnonzero(inside & ((self.lows < low) | (self.highs > high)))
                if outside.size:
                    model = self.part.clipped_model(low, high, self.probes)
                    self.measures.run(self.part, model, [int(k) for k in outside], results)
            self._clipping[low_share, high_share] = self.measures.error(results)
        return self._clipping[low_share, high_share]

    def _exact_results(self) -> dict[int, np.ndarray]:
        """Return a copy of the float model's values of the probes, by tensor."""
        return {i: self.measures.expected[i].copy() for i in self.probes}
