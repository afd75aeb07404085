"""A strict reader of the Trace Event Format, JSON array form. It checks what Perfetto's importer and flows require.

Sources: the document Trace Event Format by Google, and Perfetto's importer, which accepts an array without its closing
bracket.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from typing import Any

#: The required and the optional keys of each kind of event: metadata (M), slice (X), instant (i), counter (C), and
#: begin (s), step (t) and end (f) of a flow.
_KEYS: dict[str, tuple[set[str], set[str]]] = {
    "M": ({"name", "pid", "args"}, {"tid", "ts"}),
    "X": ({"name", "cat", "pid", "tid", "ts", "dur"}, {"args"}),
    "i": ({"name", "cat", "pid", "tid", "ts", "s"}, {"args"}),
    "C": ({"name", "pid", "ts", "args"}, {"tid"}),
    "s": ({"name", "cat", "id", "pid", "tid", "ts"}, {"args"}),
    "t": ({"name", "cat", "id", "pid", "tid", "ts"}, {"args"}),
    "f": ({"name", "cat", "id", "pid", "tid", "ts", "bp"}, {"args"}),
}


def read(text: str, *, complete: bool = True) -> list[dict[str, Any]]:
    """Return all events of a trace after checking each event, and the events of each track and flow together.
    ``complete`` says whether the text must have the closing bracket."""
    if complete:
        events = json.loads(text)
    else:
        assert text.startswith("[") and text.endswith(",\n")
        events = json.loads(text.rstrip()[:-1] + "]")
    assert isinstance(events, list)
    for event in events:
        _check(event)
    _check_tracks(events)
    _check_flows(events)
    return events


def _check(event: dict[str, Any]) -> None:
    """Check the keys of an event and the types of their values."""
    required, optional = _KEYS[event["ph"]]
    keys = set(event) - {"ph"}
    assert required <= keys <= required | optional, event
    assert isinstance(event["name"], str) and event["name"]
    # Perfetto treats thread 0 as the idle thread, and the thread with the process ID as the main thread.
    assert type(event["pid"]) is int and event["pid"] > 0
    assert type(event.get("tid", 5)) is int and (event.get("tid", 5) > event["pid"] or event["ph"] == "M")
    for key in ("ts", "dur"):
        if key in event:
            assert type(event[key]) in (int, float) and event[key] >= 0, event
    if event["ph"] == "C":
        assert event["args"] and all(type(v) in (int, float) for v in event["args"].values())
    if event["ph"] == "i":
        assert event["s"] == "t"  # instants of other scopes are on a track without a name
    if event["ph"] == "M":
        key = {"thread_sort_index": "sort_index"}.get(event["name"], "name")
        assert event["name"] in ("process_name", "thread_name", "thread_sort_index") and key in event["args"]


def _check_tracks(events: list[dict[str, Any]]) -> None:
    """Check that every track has a name, and that its slices do not overlap."""
    named_threads = {e["tid"] for e in events if e["name"] == "thread_name"}
    slices = defaultdict(list)
    for event in events:
        if event["ph"] in "Xistf":
            assert event["tid"] in named_threads, event
        if event["ph"] == "X":
            slices[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for track in slices.values():
        # Importers drop slices of a track that overlap without nesting.
        track.sort()
        for (_, end), (begin, _) in itertools.pairwise(track):
            assert begin >= end - 0.0011, (end, begin)  # times have 3 decimals


def _check_flows(events: list[dict[str, Any]]) -> None:
    """Check that every flow has a begin and an end, and that its events are at the begin of slices."""
    slices = {(e["tid"], e["ts"]) for e in events if e["ph"] == "X"}
    flows = defaultdict(list)
    for event in events:
        if event["ph"] in "stf":
            assert (event["tid"], event["ts"]) in slices, "a flow must begin with a slice"
            flows[event["id"]].append((event["ts"], event["ph"]))
    for steps in flows.values():
        order = "".join(kind for _, kind in sorted(steps, key=lambda s: s[0]))
        assert order == "s" + "t" * (len(order) - 2) + "f", order
