"""A histogram of latencies with fixed buckets.

A bucket is a quarter of an octave: latencies below 8 us have a bucket each, and every other bucket is at most 25 %
wide. The arithmetic is integer, so that firmware computes the same index.
"""

from __future__ import annotations

from collections.abc import Sequence

#: The number of buckets. The last one holds everything from 29 s.
BUCKETS = 96


def bucket_of(latency_us: int) -> int:
    """Return the index of the bucket of a latency in microseconds."""
    if latency_us < 4:
        return max(latency_us, 0)
    shift = latency_us.bit_length() - 3
    return min(4 * (shift + 1) + ((latency_us >> shift) & 3), BUCKETS - 1)


def upper_bound_us(bucket: int) -> int:
    """Return the largest latency of a bucket in microseconds. The last bucket has no bound; its value is that of a
    bucket of normal width."""
    if bucket < 4:
        return bucket
    shift = bucket // 4 - 1
    return ((4 + bucket % 4 + 1) << shift) - 1


def percentile_us(counts: Sequence[int], percent: int) -> int | None:
    """Return the upper bound in microseconds of the bucket in which the percentile lies, or None without
    latencies."""
    total = sum(counts)
    if total == 0:
        return None
    rank = max((total * percent + 99) // 100, 1)
    seen = 0
    for bucket, count in enumerate(counts):
        seen += count
        if seen >= rank:
            return upper_bound_us(bucket)
    raise AssertionError("the ranks end with the total")


def to_pairs(counts: Sequence[int]) -> list[list[int]]:
    """Return the buckets that are not empty as ``[index, count]``, for messages."""
    return [[bucket, count] for bucket, count in enumerate(counts) if count]
