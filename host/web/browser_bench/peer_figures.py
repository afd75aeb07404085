"""The figures of other runtimes in the same page, and the comparison with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.host.bench.verification import VerificationResult
from arenite.host.web.browser_bench.peers import Peer


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

    ``edges``: "own" or "float", see ``peers.ModelForm``. ``load_ms``: the load of the runtime, and the time from the
    request to open the model to its first answer. ``times_us``: for each batch, the mean duration of an inference in
    microseconds, with the copies of its inputs and outputs.
    """

    peer: Peer
    error: str = ""
    edges: str = ""
    verification: VerificationResult | None = None
    load_ms: float = 0.0
    times_us: tuple[float, ...] = ()

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
                "max_abs_diff": self.verification.max_abs_diff,
                "accuracy": self.verification.accuracy,
                "time_us": time_json(self.times_us),
                "load_ms": {"value": round(self.load_ms, 2), "kind": "measured"},
            }
        return result


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
