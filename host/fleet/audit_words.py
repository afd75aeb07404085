"""Entries of the audit in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from arenite.counts import count_of


def audit_sentence(action: str, details: Mapping[str, Any]) -> str:
    """Return an entry of the audit as a sentence. Actions that are not known here are shown with their fields."""
    known = _SENTENCES.get(action)
    if known is not None:
        try:
            return known(details)
        except (KeyError, TypeError, AttributeError):
            pass  # the entry is of another version of Arenite
    fields = ", ".join(
        f"{name} {value if isinstance(value, str) else json.dumps(value)}" for name, value in details.items()
    )
    words = action.replace("_", " ")
    return f"{words}: {fields}" if fields else words


def _start(d: Mapping[str, Any]) -> str:
    return f"started the rollout of {d['release']} to the group {d['group']}"


def _choose(d: Mapping[str, Any]) -> str:
    boards = ", ".join(f"{count:,} {board}" for board, count in sorted(d["boards"].items()))
    return f"gave {_devices(d['devices'])} of wave {d['wave'] + 1} the release: {boards}"


def _device_problem(what: str) -> Callable[[Mapping[str, Any]], str]:
    def sentence(d: Mapping[str, Any]) -> str:
        golden = d["golden_failures"]
        text = f"{d['device']} {what}: {d['reason'] or d['outcome']}"
        return f"{text} ({count_of(golden, 'wrong golden result')})" if golden else text

    return sentence


def _with_reason(text: str, reason: str) -> str:
    return f"{text}: {reason}" if reason else text


def _devices(count: int) -> str:
    return f"{count:,} {'device' if count == 1 else 'devices'}"


_SENTENCES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "enrol": lambda d: f"made a code with which {d['device']} may join in the group {d['group']}",
    "join": lambda d: f"gave {d['device']} at {d['address']} a certificate",
    "revoke": lambda d: (
        f"revoked {count_of(d['certificates'], 'certificate')} and {count_of(d['codes'], 'code')} of {d['device']}"
    ),
    "start": _start,
    "choose": _choose,
    "installed": lambda d: f"most devices of wave {d['wave'] + 1} have installed the release",
    "pass": lambda d: f"wave {d['wave'] + 1} has passed: {len(d['gates']):,} gates hold",
    "done": lambda d: f"ended the rollout: {len(d['gates']):,} gates hold in the last wave",
    "paused": lambda d: _with_reason("paused the rollout", d["reason"]),
    "running": lambda d: _with_reason("resumed the rollout", d["reason"]),
    "rolling_back": lambda d: _with_reason(f"rolls {_devices(d['devices'])} back", d["reason"]),
    "rolled_back": lambda d: "no device has to return any more",
    "device_failed": _device_problem("did not take the release"),
    "device_stuck": _device_problem("did not return to its release"),
    "add_release": lambda d: f"added the release {d['release']} for {', '.join(d['boards'])}",
    "set_group": lambda d: f"moved {d['device']} from the group {d['previous']} to {d['group']}",
    "prune": lambda d: f"deleted {count_of(d['events'], 'event')} older than {d['older_than_days']:g} days",
}
