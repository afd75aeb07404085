"""Options and texts that the commands of ``arenite fleet`` share."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime

import click

from arenite.host.fleet.database import Database
from arenite.host.fleet.open_database import open_database

database_option = click.option(
    "--database",
    "url",
    required=True,
    envvar="ARENITE_FLEET_DATABASE",
    metavar="URL",
    help="sqlite:PATH, a path that ends in .db, or postgresql://...; by default $ARENITE_FLEET_DATABASE.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object to standard output."
)


def time_text(time_ms: int) -> str:
    """Return a Unix time in milliseconds as a date and time in UTC."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def user_name() -> str:
    """Return the name of the user for the audit."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def existing_database(url: str) -> Database:
    """Open a database that exists, for the command that runs now, and close it when the command ends. Raises the errors
    of ``open_database``."""
    database = open_database(url, must_exist=True)
    click.get_current_context().call_on_close(database.close)
    return database
