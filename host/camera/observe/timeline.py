"""Write a run as a trace that opens in Perfetto (ui.perfetto.dev) and chrome://tracing.

The file has the JSON array form of the Trace Event Format. Its closing bracket may be missing, so that the file of a
killed run can also be opened. The following words are those of the format. Every stage has a track, so that overlapping
frames are visible. A flow connects the stages of one frame. Counters show rate, power, temperature, energy and the
governor's levers. Instants mark dropped and late frames and the governor's actions. Times are those of the monotonic
clock in microseconds, so that the trace can be compared with other traces of the same computer.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.frames.served_frame import STAGES, ServedFrame
from arenite.host.camera.observe.history import NewActions
from arenite.host.camera.sinks.writer import LineWriter, to_stderr

_PROCESS = 1
#: Perfetto treats track 0 as the idle thread, and the track with the number of the process as its main thread, so
#: neither is used.
_GOVERNOR_TRACK, _FIRST_TRACK = 2, 10
#: The tracks of one camera, as offsets from its first track: one per usual stage, one for other stages, one for events.
#: The next camera has its first track ``_PER_SOURCE`` tracks later.
_OTHER_TRACK, _EVENTS_TRACK, _PER_SOURCE = len(STAGES), len(STAGES) + 1, 10
#: The default of ``limit_frames``. A frame takes about 1 KB, so the file grows to about 20 MB.
LIMIT_FRAMES = 20_000


class Timeline:
    """A sink that writes the trace, and a listener of the loop's state (``loop_state.py``).

    After ``limit_frames`` frames, only late frames and frames that follow dropped frames are written, at most
    ``limit_frames`` further frames. Counters and the governor's actions are written until the end.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        limit_frames: int = LIMIT_FRAMES,
        title: str = "arenite camera",
        report: Callable[[str], None] = to_stderr,
    ) -> None:
        """Create the file ``path``. Raises ``UsageError`` if it cannot be written."""
        self._writer = LineWriter(path, report=report)
        self._limit = limit_frames
        self._frames_written = 0
        self._tracks: set[int] = set()
        self._actions = NewActions()
        self._closed = False
        # The bracket and the first event are one line, so that a file without further events is valid too.
        self._writer.write("[" + _to_line(_metadata_event("process_name", 0, name=title)))
        self._write_event(_metadata_event("thread_name", _GOVERNOR_TRACK, name="governor"))
        self._write_event(_metadata_event("thread_sort_index", _GOVERNOR_TRACK, sort_index=_GOVERNOR_TRACK))

    @property
    def failure(self) -> str | None:
        return self._writer.failure

    def take(self, served: ServedFrame, frame: Frame | None = None) -> None:
        eventful = served.late or served.missed > 0
        if self._frames_written >= self._limit and not (eventful and self._frames_written < 2 * self._limit):
            return
        self._frames_written += 1
        base = _FIRST_TRACK + served.source * _PER_SOURCE
        if base not in self._tracks:
            self._open_tracks(base, served.source)
        # Format the text without json.dumps, which would take three times as long in the loop's thread.
        head = f'"pid":{_PROCESS},"tid":'
        parts = []
        flow = "s"
        end = 0
        last = len(served.spans) - 1
        for k, (stage, (start, end)) in enumerate(served.spans.items()):
            at, spent = start / 1e3, (end - start) / 1e3
            tid = base + (STAGES.index(stage) if stage in STAGES else _OTHER_TRACK)
            args = f'{{"frame":{served.number},"sequence":{served.sequence}}}'
            parts.append(
                f'{{"ph":"X","name":{json.dumps(stage)},"cat":"stage",{head}{tid},"ts":{at:.3f},"dur":{spent:.3f},'
                f'"args":{args}}},\n'
            )
            if last > 0:
                # A flow belongs to the slice (here: stage) that is open at its time, so it gets the slice's start time.
                flow = "s" if k == 0 else "f" if k == last else "t"
                bind = ',"bp":"e"' if flow == "f" else ""
                parts.append(
                    f'{{"ph":"{flow}","name":"frame","cat":"frame","id":{served.number},{head}{tid},'
                    f'"ts":{at:.3f}{bind}}},\n'
                )
        self._writer.write("".join(parts))
        at = (end or time.monotonic_ns()) / 1e3
        track = base + _EVENTS_TRACK
        if served.missed:
            self._write_instant(
                f"dropped {served.missed}", "drop", track, at, frame=served.number, count=served.missed
            )
        if served.late:
            self._write_instant("late", "late", track, at, frame=served.number, age_ms=served.age_ns / 1e6)
        if served.by != "model":
            self._write_instant(served.by, "by", track, at, frame=served.number)
        if self._frames_written == self._limit:
            self._write_instant(
                "from here on only late frames and frames after dropped ones", "limit", track, at
            )

    def update(self, state: Mapping[str, Any]) -> None:
        at = time.monotonic_ns() / 1e3
        governor = state.get("governor") or {}
        counters: dict[str, dict[str, Any]] = {
            "frames": {"per second": state.get("fps")},
            "power": _with_limit("W", state.get("power"), (state.get("budget") or {}).get("power_w")),
            "temperature": _with_limit(
                "°C", state.get("temperature"), (state.get("budget") or {}).get("temperature_c")
            ),
            "energy": {"J": state.get("energy_j")},
        }
        for lever in governor.get("levels") or []:
            counters[f"governor: {lever['lever']}"] = {"level": lever["level"]}
        for name, values in counters.items():
            known = {k: v for k, v in values.items() if v is not None}
            if known:
                self._write_event(
                    {"ph": "C", "name": name, "pid": _PROCESS, "ts": round(at, 3), "args": known}
                )
        now = state.get("t_s")
        for action in self._actions.find_new(state):
            when = at if now is None else max(at - (now - action["t_s"]) * 1e6, 0.0)
            name = f"{action['lever']}: {action['from']} → {action['to']}"
            self._write_instant(name, "governor", _GOVERNOR_TRACK, when, reason=action["reason"])

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            # The last event is followed by the bracket instead of a comma.
            at = round(time.monotonic_ns() / 1e3, 3)
            end = {
                "ph": "i",
                "name": "end",
                "cat": "run",
                "pid": _PROCESS,
                "tid": _GOVERNOR_TRACK,
                "ts": at,
                "s": "t",
            }
            self._writer.write(json.dumps(end, separators=(",", ":")) + "]\n")
            self._writer.close()

    def _open_tracks(self, base: int, source: int) -> None:
        self._tracks.add(base)
        camera = f"camera {source}: " if source else ""
        for track, name in enumerate((*STAGES, "other", "events")):
            self._write_event(_metadata_event("thread_name", base + track, name=camera + name))
            self._write_event(_metadata_event("thread_sort_index", base + track, sort_index=base + track))

    def _write_instant(self, name: str, kind: str, track: int, at: float, **args: Any) -> None:
        self._write_event(
            {
                "ph": "i",
                "name": name,
                "cat": kind,
                "pid": _PROCESS,
                "tid": track,
                "ts": round(at, 3),
                "s": "t",
            }
            | ({"args": args} if args else {})
        )

    def _write_event(self, event: Mapping[str, Any]) -> None:
        self._writer.write(_to_line(event))


def _to_line(event: Mapping[str, Any]) -> str:
    return json.dumps(event, separators=(",", ":"), ensure_ascii=False) + ",\n"


def _metadata_event(event: str, track: int, **args: Any) -> dict[str, Any]:
    return {"ph": "M", "name": event, "pid": _PROCESS, "tid": track, "args": args}


def _with_limit(name: str, reading: Mapping[str, Any] | None, limit: float | None) -> dict[str, Any]:
    """Return a value and its limit as two series of one counter, so that they are drawn in one chart."""
    return {name: reading.get("value"), f"{name} limit": limit} if reading else {}
