"""Remember durably which counts of a device are in events of the fleet, so that none is lost or doubled.

A heartbeat and the note that it has certain counts are in two files. Before the event is stored, the file of the note
has the old counts, the new ones, and the number of the event. After an interruption, the new ones count if that event
is stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.files import replace_file
from arenite.host.update.device_agent import AgentState, Window
from arenite.input_files import parse_json, read_text


@dataclass(frozen=True)
class Counts:
    """Counts of one window of one start of a device. ``up_s`` is the longest time since the start that was seen."""

    boot: int
    up_s: int = field(compare=False)
    window: int
    inferences: int = 0
    histograms: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @staticmethod
    def of(window: Window) -> Counts:
        state = window.state
        return Counts(state.boot, state.up_s, state.window, state.inferences, window.counts)

    @staticmethod
    def empty(state: AgentState) -> Counts:
        """Return no counts of the window of ``state``."""
        return Counts(state.boot, state.up_s, state.window)

    def is_same_start(self, state: AgentState) -> bool:
        """Return whether the device has not restarted since these counts. The number of a boot may be the same after
        a loss of power. Time, windows and inferences of one start never go back."""
        if state.boot != self.boot or state.up_s < self.up_s:
            return False
        return (state.window, state.inferences) >= (self.window, self.inferences)

    def since(self, earlier: Counts) -> Counts:
        """Return the counts that ``earlier``, of the same window or one before, does not have."""
        if (self.boot, self.window) != (earlier.boot, earlier.window):
            return self
        histograms = {
            number: tuple(
                max(a - b, 0) for a, b in zip_longest(counts, earlier.histograms.get(number, ()), fillvalue=0)
            )
            for number, counts in self.histograms.items()
        }
        return replace(self, inferences=self.inferences - earlier.inferences, histograms=histograms)


class ReportedWindow:
    """The file at ``path``. ``counts`` is what events have, or None before the first contact.

    ``has_event`` returns whether an event, by epoch and number, is stored. Raises ``UsageError`` for another file.
    """

    def __init__(self, path: Path, has_event: Callable[[int, int], bool]) -> None:
        self._path = path
        self.counts: Counts | None = None
        self._next: Counts | None = None
        if not path.exists():
            return
        try:
            fields = parse_json(read_text(path))
            counts, following = _counts(fields["counts"]), fields["next"]
            if following is not None and has_event(following["epoch"], following["sequence"]):
                counts = _counts(following["counts"])
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{path} is not a note of reported counts: {error!r}.",
                "Delete the file. What the device has counted since it closed a window is then reported again.",
            ) from error
        # Once the event was acknowledged, it is not found any more.
        self.set(counts)

    def begin(self, counts: Counts, epoch: int, sequence: int) -> None:
        """Tell that the event with this number will have ``counts``, and all before."""
        self._next = None
        if self.counts is not None and counts != self.counts:
            self._next = counts
            self._write({"counts": _to_json(counts), "epoch": epoch, "sequence": sequence})

    def end(self) -> None:
        """The event is stored."""
        if self._next is not None:
            self.set(self._next)

    def set(self, counts: Counts) -> None:
        """Tell that events have ``counts``, or that they have none of a window that begins."""
        self.counts, self._next = counts, None
        self._write(None)

    def _write(self, following: dict[str, Any] | None) -> None:
        assert self.counts is not None
        text = json.dumps({"counts": _to_json(self.counts), "next": following})
        replace_file(self._path, text.encode(), durable=True, private=True)


def _to_json(counts: Counts) -> dict[str, Any]:
    return {
        "boot": counts.boot,
        "up_s": counts.up_s,
        "window": counts.window,
        "inferences": counts.inferences,
        "histograms": {str(number): list(values) for number, values in counts.histograms.items()},
    }


def _counts(fields: dict[str, Any]) -> Counts:
    histograms = {int(number): tuple(map(int, values)) for number, values in fields["histograms"].items()}
    boot, up_s, window, inferences = (int(fields[n]) for n in ("boot", "up_s", "window", "inferences"))
    return Counts(boot, up_s, window, inferences, histograms)
