"""The histograms that a device counts are those of the fleet's agent in Python."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.firmware.update.program import MAX_CLASSES
from arenite.host.fleet.drift import MAX_BINS
from arenite.host.fleet.latency_histogram import BUCKETS, upper_bound_us
from arenite.host.fleet.observations import (
    BINS,
    INPUT_STATISTICS,
    DriftReference,
    Observations,
    confidence_bin,
    input_bins,
)
from tests.firmware.agent.device import CLASSES, CONFIDENCE, INPUT, LATENCY, Device

pytest.importorskip("cbor2", reason="needs cbor2: pip install 'arenite[update]'")
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
_BOUNDS = [bound for k in range(BUCKETS) for bound in (upper_bound_us(k), upper_bound_us(k) + 1)]
_LATENCIES = st.one_of(st.sampled_from([n for n in _BOUNDS if n < 2**32]), st.integers(0, 2**32 - 1))
_CLASS_NUMBERS = st.sampled_from([1, 5, MAX_CLASSES])


@st.composite
def inferences(draw: st.DrawFn, classes: int) -> tuple[bytes, int, bytes]:
    edges = st.binary(min_size=1, max_size=40) | st.sampled_from(
        [b"\x80\x7f", b"\x80" * 9, b"\x7f" * 9, b"\xff\x00"]
    )
    return draw(edges), draw(_LATENCIES), draw(st.binary(min_size=classes, max_size=classes))


@settings(max_examples=150, deadline=None)
@given(data=st.data(), classes=_CLASS_NUMBERS, is_signed=st.booleans())
def test_the_counts_are_those_of_python(data: st.DataObject, classes: int, is_signed: bool) -> None:
    device = Device(classes)
    expected = Observations(DriftReference(((0,) * BINS,) * len(INPUT_STATISTICS), (0,) * classes))
    sign = 128 if is_signed else 0
    for values, latency_us, scores in data.draw(st.lists(inferences(classes), min_size=1, max_size=12)):
        device.observe(values, latency_us, scores, input_sign=sign, sign=sign)
        x, y = (
            (np.frombuffer(part, np.uint8) ^ np.uint8(sign ^ 128)).view(np.int8) for part in (values, scores)
        )
        best = int(np.argmax(y))
        expected.add(latency_us, input_bins(x), best, confidence_bin(int(y[best])))
    assert device.counts(LATENCY) == expected.latency
    assert device.counts(CLASSES) == expected.classes
    assert device.counts(CONFIDENCE) == expected.confidence
    assert [device.counts(INPUT), device.counts(INPUT + 1)] == expected.inputs


def test_large_inputs_do_not_overflow() -> None:
    """The sum of 2^24 values of 255 is just below 2^32."""
    values = np.full(2**24, 127, np.int8)
    values[::2] = -128
    for tensor in (values, np.full(2**24, 127, np.int8)):
        device = Device()
        device.observe(tensor.tobytes(), 0, bytes(5))
        mean, deviation = (device.counts(INPUT + k).index(1) for k in (0, 1))
        assert (mean, deviation) == input_bins(tensor)


def test_counts_stay_at_the_largest_number() -> None:
    device = Device()
    for _ in range(65_540):
        device.observe(b"\x00", 3, bytes(5))
    for number, bucket in ((LATENCY, 3), (CLASSES, 0), (CONFIDENCE, 8), (INPUT, 8), (INPUT + 1, 0)):
        counts = device.counts(number)
        assert counts[bucket] == sum(counts) == 65_535
    assert device.ask(0, 1, {}).body["n"] == 65_540


def test_a_model_without_scores_or_bytes_has_fewer_histograms() -> None:
    device = Device(0, has_input=False)
    device.observe(b"\x00", 3, b"")
    assert sum(device.counts(LATENCY)) == 1
    assert [device.counts(number) for number in (CLASSES, CONFIDENCE, 3, INPUT, INPUT + 1)] == [[]] * 5
    assert [len(Device().counts(number)) for number in (15, INPUT, INPUT + 1, 18)] == [0, BINS, BINS, 0]
    assert MAX_CLASSES == MAX_BINS
