"""Compare a histogram of what a device saw with that of the calibration data, in integers.

PSI is the population stability index, the sum of ``(p - q) * ln(p / q)`` over the bins. KS is the Kolmogorov-Smirnov
distance, the largest difference of the cumulative shares. Both are in millionths. The arithmetic fits into 64 bits
for counts up to ``MAX_COUNT``, so that firmware can compute the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MAX_COUNT = 2**30
MAX_BINS = 64

_SHARE_BITS = 24
_LOG_BITS = 16
_LN2_MILLIONTHS = 693_147


def psi_millionths(counts: Sequence[int], reference: Sequence[int]) -> int:
    """Return the population stability index of two histograms with the same bins.

    Half a count is added to each bin, so that an empty bin has a logarithm. Raises ``ValueError`` for bins that
    differ in number and for counts out of range.
    """
    _check(counts, reference)
    bins = len(counts)
    total, reference_total = 2 * sum(counts) + bins, 2 * sum(reference) + bins
    log_totals = _log2(reference_total) - _log2(total)
    result = 0
    for count, reference_count in zip(counts, reference, strict=True):
        own, other = 2 * count + 1, 2 * reference_count + 1
        share = (own << _SHARE_BITS) // total - (other << _SHARE_BITS) // reference_total
        result += share * (_log2(own) - _log2(other) + log_totals)
    # The sum has 24 + 16 fractional bits. Twenty of them are enough for millionths. Rounding can leave a small
    # negative sum.
    return max(result >> 20, 0) * _LN2_MILLIONTHS >> 20


def psi(counts: Sequence[int], reference: Sequence[int]) -> float:
    """Return the population stability index of two histograms with the same bins. Sums over many devices may be above
    ``MAX_COUNT``; they are scaled down. Raises ``ValueError`` like ``psi_millionths``."""
    return psi_millionths(_scaled(counts), _scaled(reference)) / 1e6


def reference_histograms(reference: dict[str, Any]) -> dict[str, list[int]]:
    """Return the histograms of a release's calibration data by the names that cohorts give them. A model without
    classes has none of classes."""
    inputs = {f"inputs.{k}": counts for k, counts in enumerate(reference["inputs"])}
    return {"classes": reference["classes"], **inputs} if reference["classes"] else inputs


def ks_millionths(counts: Sequence[int], reference: Sequence[int]) -> int:
    """Return the Kolmogorov-Smirnov distance of two histograms with the same bins; 0 if one of them is empty. Raises
    ``ValueError`` like ``psi_millionths``."""
    _check(counts, reference)
    total, reference_total = sum(counts), sum(reference)
    if not total or not reference_total:
        return 0
    largest = seen = reference_seen = 0
    for count, reference_count in zip(counts, reference, strict=True):
        seen, reference_seen = seen + count, reference_seen + reference_count
        difference = (seen << _SHARE_BITS) // total - (reference_seen << _SHARE_BITS) // reference_total
        largest = max(largest, abs(difference))
    return largest * 1_000_000 >> _SHARE_BITS


def _scaled(counts: Sequence[int]) -> Sequence[int]:
    largest = max(counts)
    return counts if largest <= MAX_COUNT else [count * MAX_COUNT // largest for count in counts]


def _log2(value: int) -> int:
    """Return the binary logarithm of a positive integer below 2**63 with 16 fractional bits, rounded down."""
    exponent = value.bit_length() - 1
    # The mantissa is in [1, 2) with 31 fractional bits. Each squaring yields one more bit of its logarithm.
    mantissa = value << 31 - exponent if exponent <= 31 else value >> exponent - 31
    result = exponent
    for _ in range(_LOG_BITS):
        mantissa = mantissa * mantissa >> 31
        bit = mantissa >> 32
        mantissa >>= bit
        result = result << 1 | bit
    return result


def _check(counts: Sequence[int], reference: Sequence[int]) -> None:
    if len(counts) != len(reference) or not 0 < len(counts) <= MAX_BINS:
        raise ValueError(f"{len(counts)} bins cannot be compared with {len(reference)}")
    if not all(0 <= count <= MAX_COUNT for count in (*counts, *reference)):
        raise ValueError("a count is negative or above 2**30")
