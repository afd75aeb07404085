"""Measure what replacing the model costs a running camera loop: ``python -m benchmarks.camera.hot_swap``.

The loop serves photographs like a camera with 30 frames per second, and takes new versions of the model from a signed
repository, with shadow run, switch and probation. All versions are the same model with other padding, so a difference
comes from the replacement alone. The *swap second* is the half second before and after a switch; the new version is
loaded and warmed up in it. *Steady* frames are those while nothing was replaced, in the same run. The times are those
from the capture to the answer. The exit code is 1 if a frame was lost in a swap second, or if the 99th percentile of
the swap seconds exceeds twice the steady one. ``--json`` prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.errors import AreniteError
from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.model.camera_model import open_model
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.session import CameraSession
from arenite.host.camera.updates.serving_times import percentile
from arenite.host.update.keys import generate_key
from arenite.host.update.repository.client import cache_of
from arenite.host.update.repository.publisher import RoleKeys, add_model, init_repository
from benchmarks.camera.machine import describe_machine

FPS, WARM_UP_S, STEADY_S, SHADOW_S, PROBATION_S = 30.0, 3.0, 20.0, 3.0, 4.0
#: Half of the swap second.
HALF_S = 0.5
#: The target: the percentile of the swap seconds may be this multiple of the steady one.
MAX_RATIO = 2.0
_LIMIT_S = 300.0


@dataclass(frozen=True)
class ServedTime:
    """When a frame was answered, in seconds since the loop began; its age; and the frames lost before it."""

    t_s: float
    age_ms: float
    lost: int


class _Collector:
    """A sink that keeps the time of every answer."""

    def __init__(self) -> None:
        self.times: list[tuple[int, float, int]] = []

    def take(self, served: ServedFrame, frame: Frame | None) -> None:
        self.times.append((time.monotonic_ns(), served.age_ns / 1e6, served.missed))

    def close(self) -> None:
        pass


def run(model: str, swaps: int, steady_s: float) -> dict[str, Any]:
    """Run the loop with ``swaps`` replacements, and return the figures. Raises ``AreniteError``."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        keys = [folder / f"{role}.pem" for role in ("root", "targets", "online")]
        for key in keys:
            generate_key(key)
        roles, repository = RoleKeys(*keys), folder / "repository"
        root = init_repository(repository, roles)
        path = folder / "model.tflite"
        data = open_model(model).path.read_bytes()
        path.write_bytes(data)
        options = CameraOptions.of(
            sources=("photos",), pace="live", loop=True, fps=FPS, model=str(path), repository=str(repository),
            trusted_root=root, check_every_s=1.0, shadow_s=SHADOW_S, probation_s=PROBATION_S,
        )  # fmt: skip
        collector = _Collector()
        try:
            with CameraSession(options) as session:
                session.loop.sinks.append(collector)
                thread = threading.Thread(target=session.run, daemon=True)
                thread.start()
                time.sleep(WARM_UP_S + steady_s)
                for swap in range(swaps):
                    path.write_bytes(data + bytes(16 * (swap + 1)))
                    add_model(repository, path, "model", f"1.{swap + 1}.0", roles)
                    _wait_for_answer(session, swap + 1)
                session.stop()
                thread.join(60)
                updates = session.servers.parts["updates"]()
                began_ns = session.loop.began_ns
        finally:
            shutil.rmtree(cache_of(root.read_bytes()), ignore_errors=True)
    times = [ServedTime((t - began_ns) / 1e9, age, lost) for t, age, lost in collector.times]
    return figures(times, updates)


def _wait_for_answer(session: CameraSession, count: int) -> None:
    """Wait until ``count`` versions were accepted, returned or refused."""
    limit = time.monotonic() + _LIMIT_S
    while time.monotonic() < limit:
        events = session.servers.parts["updates"]()["events"]
        if sum(event["event"] in ("accepted", "returned", "refused") for event in events) >= count:
            return
        time.sleep(0.1)
    raise AreniteError(f"Replacement {count} did not end within {_LIMIT_S:g} s.", "Use a quieter computer.")


def figures(times: list[ServedTime], updates: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of the swap seconds, the replacements and the steady time."""
    events = updates["events"]
    switches = [event["t_s"] for event in events if event["event"] == "switched"]
    first = next((event["t_s"] for event in events if event["event"] == "found"), float("inf"))
    # A check runs every second also in the steady time, as it does before a replacement.
    steady = [each for each in times if WARM_UP_S <= each.t_s < first]
    swap = [each for each in times if any(abs(each.t_s - t) <= HALF_S for t in switches)]
    others = [each for each in times if each.t_s >= first and each not in swap]
    parts = {"steady": steady, "swap_seconds": swap, "rest_of_the_replacements": others}
    record: dict[str, Any] = {name: _part(part) for name, part in parts.items()}
    seconds = [[each for each in times if abs(each.t_s - t) <= HALF_S] for t in switches]
    record["swaps"] = [_part(second) for second in seconds]
    record["outcomes"] = [e["event"] for e in events if e["event"] in ("accepted", "returned", "refused")]
    steady_p99, swap_p99 = record["steady"]["p99_ms"], record["swap_seconds"]["p99_ms"]
    record["ratio"] = round(swap_p99 / steady_p99, 3) if steady_p99 and swap_p99 else None
    record["shadow"] = updates["shadow"]
    record["switches"] = len(switches)
    return record


def _part(times: list[ServedTime]) -> dict[str, Any]:
    ages = [each.age_ms for each in times]
    return {
        "frames": len(times),
        "lost": sum(each.lost for each in times),
        "p50_ms": _rounded(percentile(ages, 0.5)),
        "p99_ms": _rounded(percentile(ages, 0.99)),
        "max_ms": _rounded(max(ages, default=None)),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--model", default="blazeface")
    parser.add_argument("--swaps", type=int, default=10)
    parser.add_argument(
        "--seconds", type=float, default=STEADY_S, help="steady time before the first replacement"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    record = run(options.model, options.swaps, options.seconds)
    good = record["swap_seconds"]["lost"] == 0 and (record["ratio"] or float("inf")) <= MAX_RATIO
    if options.json:
        print(json.dumps(record))
        return 0 if good else 1
    print(json.dumps(describe_machine(os.getloadavg()[0])))
    print(f"{options.model}, {FPS:g} frames per second, {record['switches']} switches, {record['outcomes']}")
    print("| | frames | lost | p50 ms | p99 ms | max ms |\n|-|-|-|-|-|-|")
    for name in ("steady", "swap_seconds", "rest_of_the_replacements"):
        part = record[name]
        row = (part["frames"], part["lost"], part["p50_ms"], part["p99_ms"], part["max_ms"])
        print(f"| {name.replace('_', ' ')} | {' | '.join(map(str, row))} |")
    print(f"p99 of the swap seconds: {record['ratio']} times the steady one (target: at most {MAX_RATIO:g})")
    print("lost and p99 of each swap second:", [(each["lost"], each["p99_ms"]) for each in record["swaps"]])
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AreniteError as error:
        sys.exit(str(error))
