"""``arenite fleet prune``: delete old events."""

from __future__ import annotations

import re

import click

from arenite.counts import count_of
from arenite.errors import UsageError
from arenite.host.cli.fleet_options import database_option, existing_database, time_text, user_name
from arenite.host.fleet.clock import SystemClock
from arenite.host.fleet.prune import MIN_AGE_MS, prune_events
from arenite.host.report.console import note, show

_UNITS_MS = {"h": 3_600_000, "d": 24 * 3_600_000, "w": 7 * 24 * 3_600_000}


@click.command()
@click.option(
    "--older-than",
    "age",
    required=True,
    metavar="AGE",
    help="Delete what the server received before this time, such as 30d (days), 12w (weeks) or 48h (hours).",
)
@database_option
def prune(age: str, url: str) -> int:
    """Delete old events from the database, while servers may run.

    Devices, rollouts, the audit and the sums for the metrics stay.
    """
    age_ms = _age_ms(age)
    database = existing_database(url)
    now_ms = SystemClock().now_ms()
    note(f"Deleting the events from before {time_text(now_ms - age_ms)} UTC in {database.name}.")
    result = prune_events(database, now_ms, user_name(), age_ms)
    show(
        f"Deleted {count_of(result.events, 'event')}, and merged the sums of {count_of(result.periods, 'quarter-hour')}"
    )
    return 0


def _age_ms(text: str) -> int:
    matched = re.fullmatch(r"([0-9]{1,5})([hdw])", text)
    if matched is None:
        raise UsageError(f"'{text[:40]}' is not an age.", "Write a whole number and h, d or w, such as 30d.")
    age_ms = int(matched[1]) * _UNITS_MS[matched[2]]
    if age_ms < MIN_AGE_MS:
        raise UsageError(
            f"The age {text} is too short.",
            f"Give at least {MIN_AGE_MS // _UNITS_MS['d']}d, because rollouts compare with the time before them.",
        )
    return age_ms
