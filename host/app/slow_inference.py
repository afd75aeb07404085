"""Find out what to try if an inference takes longer than a hop: only settings that the application can have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from arenite.host.app.sensor_stream import SensorStream
from arenite.profiles.board import Board

#: The estimated seconds of the inferences of one hop on a board, for a goal of --optimise.
Seconds = Callable[[Board, str], float]


@dataclass(frozen=True)
class SlowInference:
    """An application whose inferences take longer than a hop, and what may be chosen instead.

    Attributes:
        board: the board.
        optimise: the goal of --optimise.
        hop: samples from one inference to the next.
        rate: samples per second.
        hops: the hops that the application can have, in samples.
        where: the record that has the hop.
        boards: other boards.
        goals: other goals of --optimise.
    """

    board: Board
    optimise: str
    hop: int
    rate: int
    hops: range
    where: str
    boards: Iterable[Board]
    goals: Iterable[str]

    def hint(self, seconds: Seconds) -> str:
        """Return the sentence that says what to try."""
        hop_s = self.hop / self.rate
        texts = []
        longer = longer_hop(seconds(self.board, self.optimise) * self.rate, self.hops)
        if longer is not None:
            texts.append(hop_advice(self.where, longer, self.hops))
        for goal in self.goals:
            if (needed_s := seconds(self.board, goal)) < hop_s:
                texts.append(f"use --optimise {goal} ({_milliseconds(needed_s)})")
        for other in self.boards:
            if (needed_s := seconds(other, self.optimise)) < hop_s:
                texts.append(f"choose {other.name} ({_milliseconds(needed_s)})")
                break
        else:
            texts.append("choose a faster board")
        text = ", or ".join(texts)
        return f"{text[0].upper()}{text[1:]}."


def hops_of(*streams: SensorStream) -> range:
    """Return the hops that the models of an application can all have, in samples: multiples of the steps of their
    features, up to the longest for which each model depends on all samples."""
    step = math.lcm(*(stream.step for stream in streams))
    return range(step, min(stream.longest_hop for stream in streams) + 1, step)


def longer_hop(inference_samples: float, hops: range) -> int | None:
    """Return the shortest hop of which an inference takes at most half. If there is none, return the longest hop, or
    None if an inference takes longer than it."""
    for hop in hops:
        if hop >= 2 * inference_samples:
            return hop
    return hops[-1] if hops and hops[-1] > inference_samples else None


def hop_advice(where: str, hop: int, hops: range) -> str:
    """Return the advice to choose ``hop`` or a longer one of ``hops`` in the record ``where``."""
    return f"set hop in {where} to {hop} " + (f"or more, up to {hops[-1]}" if hop < hops[-1] else "samples")


def _milliseconds(seconds: float) -> str:
    return f"an estimated {1000 * seconds:,.0f} ms"
