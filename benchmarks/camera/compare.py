"""Contenders on the same frames in turns: what disturbs the machine disturbs all of them alike."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from benchmarks.camera.cases import Case
from benchmarks.camera.interrupted import PATIENCE, Interruptions
from benchmarks.camera.mediapipe import FaceDetector
from benchmarks.camera.naive import Naive
from benchmarks.camera.ours import Ours, Times
from benchmarks.camera.pictures import RING, ring

#: Frames of one turn: long against a switch of caches, short against what else happens on a machine.
TURN = 30
WARM_UP = 60
#: How MediaPipe is run, what it is given, and how many processors its threads may use (0: all): it cannot be told to
#: use one thread.
MEDIAPIPE = tuple(
    (mode, given, processors)
    for mode in ("image", "video")
    for given in ("rgb", "yuyv")
    for processors in (1, 0)
)


@dataclass
class Comparison:
    """Times in ns per frame."""

    case: Case
    ours: Times
    naive: list[int] = field(default_factory=list)
    naive_invoke: list[int] = field(default_factory=list)
    runtime: str = ""


def with_naive(case: Case, frames: int, buffers: int = RING) -> Comparison:
    """At least ``frames`` of each, after warming up, on frames in so many ``buffers``."""
    shown = [picture.yuyv for picture in ring(buffers)]
    naive = Naive(case)
    with Ours(case) as ours:
        made = Comparison(case, ours.times, runtime=ours.runtime.name)
        for k in range(WARM_UP):
            naive.run(shown[k % len(shown)])
        ours.run(WARM_UP, times=Times(), buffers=buffers)
        interruptions = Interruptions()
        for _ in turns(frames):
            interruptions.begin()
            for k in range(TURN + 1):
                begun = time.perf_counter_ns()
                naive.run(shown[k % len(shown)])
                taken = time.perf_counter_ns() - begun
                # The first one finds the caches of the other contender.
                if not interruptions.happened() and k:
                    made.naive.append(taken)
                    made.naive_invoke.append(naive.invoke_ns)
            ours.run(TURN, buffers=buffers)
            if min(len(made.naive), len(made.ours.whole)) >= frames:
                break
    return made


@dataclass
class PeerComparison:
    """Times in ns per frame. ``found``: the peer's best faces."""

    ours: Times
    version: str
    peer: dict[tuple[str, str, int], list[int]]
    found: list[Any]


def with_mediapipe(case: Case, frames: int) -> PeerComparison:
    """At least ``frames`` of each way to run MediaPipe, and as many of ours between them."""
    with FaceDetector(case.path) as peer, Ours(case) as ours:
        peer_ns: dict[tuple[str, str, int], list[int]] = {way: [] for way in MEDIAPIPE}
        for way in MEDIAPIPE:
            peer.round(*way, WARM_UP)
        ours.run(WARM_UP, times=Times())
        found: list[Any] = []
        for _ in turns(frames):
            for way in MEDIAPIPE:
                done = peer.round(*way, TURN)
                peer_ns[way] += done.ns
                found = done.found
                ours.run(TURN)
            if min(len(ours.times.whole), *map(len, peer_ns.values())) >= frames:
                break
        return PeerComparison(ours.times, peer.version, peer_ns, found)


def turns(frames: int) -> range:
    """As many as give ``frames`` of each contender when a good part of them is interrupted."""
    return range(PATIENCE * -(-frames // TURN))
