"""A strict reader of the Trace Event Format, JSON array form: what Perfetto's importer asks for, and what binds flows.

Facts: the format's document (Trace Event Format, Google) and Perfetto's importer, which takes an array without its
closing bracket for complete.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from typing import Any

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
    """All events, checked one by one and together. ``complete``: the closing bracket is there."""
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
    must, may = _KEYS[event["ph"]]
    keys = set(event) - {"ph"}
    assert must <= keys <= must | may, event
    assert isinstance(event["name"], str) and event["name"]
    # Thread 0 is the idle one to Perfetto; the thread with the process's number is its main one.
    assert type(event["pid"]) is int and event["pid"] > 0
    assert type(event.get("tid", 5)) is int and (event.get("tid", 5) > event["pid"] or event["ph"] == "M")
    for key in ("ts", "dur"):
        if key in event:
            assert type(event[key]) in (int, float) and event[key] >= 0, event
    if event["ph"] == "C":
        assert event["args"] and all(type(v) in (int, float) for v in event["args"].values())
    if event["ph"] == "i":
        assert event["s"] == "t"  # others lie on a track without a name
    if event["ph"] == "M":
        key = {"thread_sort_index": "sort_index"}.get(event["name"], "name")
        assert event["name"] in ("process_name", "thread_name", "thread_sort_index") and key in event["args"]


def _check_tracks(events: list[dict[str, Any]]) -> None:
    named = {e["tid"] for e in events if e["name"] == "thread_name"}
    slices = defaultdict(list)
    for event in events:
        if event["ph"] in "Xistf":
            assert event["tid"] in named, event
        if event["ph"] == "X":
            slices[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for found in slices.values():
        # Slices of a track that overlap without nesting are dropped by importers.
        found.sort()
        for (_, end), (begin, _) in itertools.pairwise(found):
            assert begin >= end - 0.0011, (end, begin)  # printed with 3 digits


def _check_flows(events: list[dict[str, Any]]) -> None:
    slices = {(e["tid"], e["ts"]) for e in events if e["ph"] == "X"}
    flows = defaultdict(list)
    for event in events:
        if event["ph"] in "stf":
            assert (event["tid"], event["ts"]) in slices, "a flow must lie at the start of a slice"
            flows[event["id"]].append((event["ts"], event["ph"]))
    for steps in flows.values():
        order = "".join(kind for _, kind in sorted(steps, key=lambda s: s[0]))
        assert order == "s" + "t" * (len(order) - 2) + "f", order
