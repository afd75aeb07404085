"""The figures of other runtimes in the same page, and the comparison with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.host.bench.verification import VerificationResult
from arenite.host.web.browser_bench.peers import Peer

#: Runtimes that round in another way differ from the reference kernels by a few steps in most samples, and by more in
#: some.
_MAX_TYPICAL_STEPS = 10


def time_json(times_us: Sequence[float]) -> dict[str, Any]:
    """Return the median and the minimum of ``times_us``, durations in microseconds."""
    return {
        "p50": round(float(np.median(times_us)), 1),
        "min": round(min(times_us), 1),
        "kind": "measured",
    }


@dataclass(frozen=True)
class PeerFigures:
    """The figures of another runtime. ``error`` has the reason if it did not run the model; the other fields are then
    empty.

    ``edges``: "own" or "float", see ``ModelForm``. ``bytes_differ``: number of bytes of all outputs that differ from
    those of LiteRT's reference kernels. ``load_ms``: the load of the runtime, and the time from the
    request to open the model to its first answer. ``times_us``: for each batch, the mean duration of an inference in
    microseconds, with the copies of its inputs and outputs. ``transfer_bytes``: the bytes that the page loads to run
    the model: the runtime's files and the model, each after gzip.
    """

    peer: Peer
    error: str = ""
    edges: str = ""
    verification: VerificationResult | None = None
    bytes_differ: int = 0
    load_ms: float = 0.0
    times_us: tuple[float, ...] = ()
    transfer_bytes: int = 0

    def as_json(self) -> dict[str, Any]:
        result: dict[str, Any] = {
            "name": self.peer.name,
            "package": self.peer.package.name,
            "version": self.peer.package.version,
            "error": self.error or None,
        }
        if self.verification is not None:
            result |= {
                "edges": self.edges,
                "bit_exact": len(self.verification.exact),
                "bytes_differ": self.bytes_differ,
                "max_abs_diff": self.verification.max_abs_diff,
                "accuracy": self.verification.accuracy,
                "time_us": time_json(self.times_us),
                "transfer_bytes": self.transfer_bytes,
                "load_ms": {"value": round(self.load_ms, 2), "kind": "measured"},
            }
            result |= {"latency_us": result["time_us"], "first_answer_ms": result["load_ms"]["value"]}
        return result


def peer_figures(
    peer: Peer,
    edges: str,
    verification: VerificationResult,
    expected: Sequence[Sequence[np.ndarray]],
    outputs: Sequence[Sequence[np.ndarray]],
    load_ms: float,
    times_us: tuple[float, ...],
    transfer_bytes: int,
) -> PeerFigures:
    """Return the figures of a runtime. ``expected`` and ``outputs`` have the outputs of each sample, from the reference
    kernels and from the runtime.

    A runtime whose quantized outputs are far from the expected ones for most samples does something else than the
    network, so it has an error instead of figures.
    """
    steps = [
        max((abs(a.astype(np.int64) - b).max(initial=0) for a, b in pairs if a.dtype.kind in "iu"), default=0)
        for pairs in (list(zip(*rows, strict=True)) for rows in zip(expected, outputs, strict=True))
    ]
    typical = float(np.median(steps))
    if typical > _MAX_TYPICAL_STEPS:
        return PeerFigures(
            peer,
            f"its outputs differ from LiteRT's reference kernels by {typical:.0f} steps or more in half of the samples",
        )
    differ = sum(
        int(np.count_nonzero(np.frombuffer(a.tobytes(), np.uint8) != np.frombuffer(b.tobytes(), np.uint8)))
        for rows in zip(expected, outputs, strict=True)
        for a, b in zip(*rows, strict=True)
    )
    return PeerFigures(peer, "", edges, verification, differ, load_ms, times_us, transfer_bytes)


def ratio_json(times_us: Sequence[float], peers: Sequence[PeerFigures]) -> dict[str, Any] | None:
    """Return the ratio of ``times_us`` to the times of the fastest of ``peers``. Return None if no runtime ran the
    model.

    The batches of a round follow each other within a tenth of a second, so their ratio depends less on other load of
    the computer than their durations: "p50" is the median of the rounds' ratios. "min" is the ratio of the minima. The
    fastest runtime has the greatest "p50".
    """
    ratios = {
        peer.peer.name: (
            float(np.median([own / other for own, other in zip(times_us, peer.times_us, strict=True)])),
            min(times_us) / min(peer.times_us),
        )
        for peer in peers
        if peer.times_us
    }
    if not ratios:
        return None
    fastest, (median, shortest) = max(ratios.items(), key=lambda item: item[1])
    return {"peer": fastest, "p50": round(median, 3), "min": round(shortest, 3), "kind": "measured"}
