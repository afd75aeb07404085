"""Compare Arenite's camera loop with other implementations (the contenders) on the same frames. They run in turns, so
that other load on the machine affects all of them alike."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from benchmarks.camera.arenite_loop import AreniteLoop, LoopTimes
from benchmarks.camera.baseline_loop import BaselineLoop
from benchmarks.camera.cases import Case
from benchmarks.camera.interruptions import MAX_TURN_RATIO, Interruptions
from benchmarks.camera.mediapipe import FaceDetector
from benchmarks.camera.pictures import RING, ring

#: The number of frames of one turn. It is large compared with the frames that refill the caches, but a turn is short
#: compared with changes of other load.
FRAMES_PER_TURN = 30
WARM_UP_FRAMES = 60
#: The ways to run MediaPipe: its running mode, the input format, and the number of processors for its threads (0: all).
#: MediaPipe has no option to use only one thread.
MEDIAPIPE = tuple(
    (mode, input_format, processors)
    for mode in ("image", "video")
    for input_format in ("rgb", "yuyv")
    for processors in (1, 0)
)


@dataclass
class LoopComparison:
    """The times of Arenite's loop (``ours``) and of plain OpenCV code (``naive``), in nanoseconds per frame.
    ``naive_invoke`` has the inference times of the plain code, ``runtime`` is the name of the loop's runtime."""

    case: Case
    ours: LoopTimes
    naive: list[int] = field(default_factory=list)
    naive_invoke: list[int] = field(default_factory=list)
    runtime: str = ""


def compare_with_baseline(case: Case, frames: int, buffers: int = RING) -> LoopComparison:
    """Measure at least ``frames`` frames of both loops after a warm-up, in a ring of ``buffers`` buffers."""
    ring_frames = [picture.yuyv for picture in ring(buffers)]
    naive = BaselineLoop(case)
    with AreniteLoop(case) as ours:
        comparison = LoopComparison(case, ours.times, runtime=ours.runtime.name)
        for k in range(WARM_UP_FRAMES):
            naive.run(ring_frames[k % len(ring_frames)])
        ours.run(WARM_UP_FRAMES, times=LoopTimes(), buffers=buffers)
        interruptions = Interruptions()
        for _ in turns(frames):
            interruptions.begin()
            for k in range(FRAMES_PER_TURN + 1):
                start = time.perf_counter_ns()
                naive.run(ring_frames[k % len(ring_frames)])
                elapsed = time.perf_counter_ns() - start
                # The first frame of a turn is not counted, because the caches hold the data of Arenite's loop.
                if not interruptions.happened() and k:
                    comparison.naive.append(elapsed)
                    comparison.naive_invoke.append(naive.invoke_ns)
            ours.run(FRAMES_PER_TURN, buffers=buffers)
            if min(len(comparison.naive), len(comparison.ours.frame_ns)) >= frames:
                break
    return comparison


@dataclass
class PeerComparison:
    """The times of Arenite's loop (``ours``) and of each way to run MediaPipe (``peer``), in nanoseconds per frame.
    ``faces`` has MediaPipe's best face of each picture."""

    ours: LoopTimes
    version: str
    peer: dict[tuple[str, str, int], list[int]]
    faces: list[Any]


def compare_with_mediapipe(case: Case, frames: int) -> PeerComparison:
    """Measure at least ``frames`` frames of each way to run MediaPipe, and as many frames of Arenite's loop in
    between."""
    with FaceDetector(case.path) as peer, AreniteLoop(case) as ours:
        peer_ns: dict[tuple[str, str, int], list[int]] = {way: [] for way in MEDIAPIPE}
        for way in MEDIAPIPE:
            peer.round(*way, WARM_UP_FRAMES)
        ours.run(WARM_UP_FRAMES, times=LoopTimes())
        faces: list[Any] = []
        for _ in turns(frames):
            for way in MEDIAPIPE:
                turn = peer.round(*way, FRAMES_PER_TURN)
                peer_ns[way] += turn.ns
                faces = turn.faces
                ours.run(FRAMES_PER_TURN)
            if min(len(ours.times.frame_ns), *map(len, peer_ns.values())) >= frames:
                break
        return PeerComparison(ours.times, peer.version, peer_ns, faces)


def turns(frames: int) -> range:
    """Return the numbers of the turns to try until ``frames`` frames are counted. They include additional turns,
    because interrupted frames are not counted."""
    return range(MAX_TURN_RATIO * -(-frames // FRAMES_PER_TURN))
