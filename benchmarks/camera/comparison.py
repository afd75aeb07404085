"""Contenders on the same frames in turns: what disturbs the machine disturbs all of them alike."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from benchmarks.camera.arenite_loop import AreniteLoop, LoopTimes
from benchmarks.camera.baseline_loop import BaselineLoop
from benchmarks.camera.cases import Case
from benchmarks.camera.interruptions import PATIENCE, Interruptions
from benchmarks.camera.mediapipe import FaceDetector
from benchmarks.camera.pictures import RING, ring

#: Frames of one turn: long against a switch of caches, short against what else happens on a machine.
FRAMES_PER_TURN = 30
WARM_UP = 60
#: MediaPipe's mode, its input, and the number of processors for its threads (0: all): it has no option to
#: use one thread.
MEDIAPIPE = tuple(
    (mode, given, processors)
    for mode in ("image", "video")
    for given in ("rgb", "yuyv")
    for processors in (1, 0)
)


@dataclass
class LoopComparison:
    """Times in ns per frame."""

    case: Case
    ours: LoopTimes
    naive: list[int] = field(default_factory=list)
    naive_invoke: list[int] = field(default_factory=list)
    runtime: str = ""


def compare_with_baseline(case: Case, frames: int, buffers: int = RING) -> LoopComparison:
    """Run at least ``frames`` of each, after warming up, on frames in this number of ``buffers``."""
    shown = [picture.yuyv for picture in ring(buffers)]
    naive = BaselineLoop(case)
    with AreniteLoop(case) as ours:
        comparison = LoopComparison(case, ours.times, runtime=ours.runtime.name)
        for k in range(WARM_UP):
            naive.run(shown[k % len(shown)])
        ours.run(WARM_UP, times=LoopTimes(), buffers=buffers)
        interruptions = Interruptions()
        for _ in turns(frames):
            interruptions.begin()
            for k in range(FRAMES_PER_TURN + 1):
                begun = time.perf_counter_ns()
                naive.run(shown[k % len(shown)])
                taken = time.perf_counter_ns() - begun
                # The first one finds the caches of the other contender.
                if not interruptions.happened() and k:
                    comparison.naive.append(taken)
                    comparison.naive_invoke.append(naive.invoke_ns)
            ours.run(FRAMES_PER_TURN, buffers=buffers)
            if min(len(comparison.naive), len(comparison.ours.whole)) >= frames:
                break
    return comparison


@dataclass
class PeerComparison:
    """Times in ns per frame. ``found``: the peer's best faces."""

    ours: LoopTimes
    version: str
    peer: dict[tuple[str, str, int], list[int]]
    found: list[Any]


def compare_with_mediapipe(case: Case, frames: int) -> PeerComparison:
    """At least ``frames`` of each way to run MediaPipe, and as many of ours between them."""
    with FaceDetector(case.path) as peer, AreniteLoop(case) as ours:
        peer_ns: dict[tuple[str, str, int], list[int]] = {way: [] for way in MEDIAPIPE}
        for way in MEDIAPIPE:
            peer.round(*way, WARM_UP)
        ours.run(WARM_UP, times=LoopTimes())
        found: list[Any] = []
        for _ in turns(frames):
            for way in MEDIAPIPE:
                done = peer.round(*way, FRAMES_PER_TURN)
                peer_ns[way] += done.ns
                found = done.found
                ours.run(FRAMES_PER_TURN)
            if min(len(ours.times.whole), *map(len, peer_ns.values())) >= frames:
                break
        return PeerComparison(ours.times, peer.version, peer_ns, found)


def turns(frames: int) -> range:
    """As many as give ``frames`` of each contender when a good part of them is interrupted."""
    return range(PATIENCE * -(-frames // FRAMES_PER_TURN))
