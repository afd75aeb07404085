"""``arenite fleet``: serve a fleet of devices, look at it, and roll releases out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arenite.counts import count_of
from arenite.errors import UsageError
from arenite.host.cli.ending_signals import ending_signals
from arenite.host.cli.fleet_add import add
from arenite.host.cli.fleet_options import (
    broker_option,
    certificates_option,
    database_option,
    existing_database,
    json_option,
    time_text,
    user_name,
)
from arenite.host.cli.fleet_prune import prune
from arenite.host.cli.fleet_reference import reference
from arenite.host.cli.fleet_security import broker, enrol, enrolment_server, join, revoke
from arenite.host.cli.fleet_show import show_rollout
from arenite.host.cli.fleet_web import web
from arenite.host.fleet.clock import FileClock, SystemClock
from arenite.host.fleet.fleet_status import fleet_status, rollout_status
from arenite.host.fleet.open_database import open_database
from arenite.host.fleet.registry import (
    DEFAULT_GROUP,
    claim_fleet,
    fleet_name,
    set_group,
)
from arenite.host.fleet.rollout import abort_rollout, pause_rollout, resume_rollout, start_rollout
from arenite.host.fleet.rollout_settings import RolloutSettings, settings_from_json
from arenite.host.fleet.server import STEP_S, FleetServer
from arenite.host.fleet.server_lock import only_server
from arenite.host.fleet.topics import check_name
from arenite.host.mqtt.broker_address import parse_broker_address
from arenite.host.report.console import note, print_json, show, table

DEFAULT_FLEET = "fleet"


@click.group()
def fleet() -> None:
    """Serve a fleet of devices, look at it, and roll releases out in waves (docs/fleet.md)."""


@fleet.command()
@database_option
@broker_option
@click.option("--fleet", "name", metavar="NAME", help="Name of the fleet. A database has one fleet.")
@click.option("--worker", default="", metavar="NAME", help="Share the work with other servers of the fleet.")
@click.option(
    "--enrol-listen",
    metavar="HOST:PORT",
    help="Let devices join with codes at this address. Needs --certificates.",
)
@certificates_option
@click.option("--clock", type=click.Path(path_type=Path), hidden=True)
def serve(
    url: str,
    broker: str,
    name: str | None,
    worker: str,
    enrol_listen: str | None,
    certificates: Path | None,
    clock: Path | None,
) -> int:
    """Store the events of devices, and run the rollouts, until SIGINT or SIGTERM.

    Needs the extra `fleet`: pip install 'arenite[fleet]'.
    """
    address = parse_broker_address(broker)
    if worker:
        check_name("worker", worker)
    database = open_database(url)
    with database.transaction() as transaction:
        stored = fleet_name(transaction)
        name = name or stored or DEFAULT_FLEET
        claim_fleet(transaction, name)
    time_source = FileClock(clock) if clock is not None else SystemClock()
    # In virtual time, a step may be hours after the last one.
    step_s = STEP_S if clock is None else 0.1
    server = FleetServer(database, name, address, time_source, note, worker, step_s)
    with (
        ending_signals() as stop,
        only_server(database, worker),
        enrolment_server(enrol_listen, certificates, url, address.port),
    ):
        note(f"Serving the fleet '{name}' with {address.name} and {database.name}.")
        server.run(stop)
    return 0


@fleet.command()
@database_option
@click.option("--devices", is_flag=True, help="List every device.")
@json_option
def status(url: str, devices: bool, as_json: bool) -> int:
    """Show the fleet at a glance."""
    database = existing_database(url)
    with database.transaction() as transaction:
        facts = fleet_status(transaction, SystemClock().now_ms(), with_devices=devices)
    if as_json:
        print_json(facts)
        return 0
    counts, events = facts["devices"], facts["events"]
    show(
        f"Fleet '{facts['fleet']}': {count_of(counts['total'], 'device')}, {counts['online']:,} online,"
        f" {counts['seen_last_hour']:,} seen in the last hour; {count_of(events['stored'], 'event')},"
        f" {events['lost']:,} lost"
    )
    for title in ("releases", "groups", "boards"):
        if facts[title]:
            rows = [(name or "(not told yet)", f"{count:,}") for name, count in facts[title].items()]
            show(table(title, (title[:-1], "devices"), rows))
    if facts["rollouts"]:
        show(
            table(
                "rollouts", ("rollout", "release", "group", "state", "wave", "reason"), _rollout_rows(facts)
            )
        )
    if devices:
        columns = ("device", "board", "group", "release", "online", "seen", "reset_cause")
        device_rows = [
            (
                d["device"],
                d["board"],
                d["group"],
                d["release"],
                d["online"],
                time_text(d["seen_ms"]),
                d["reset_cause"],
            )
            for d in facts["device_list"]
        ]
        show(table("devices", columns, device_rows))
    return 0


@fleet.command()
@click.argument("device")
@click.argument("name", metavar="GROUP")
@database_option
def group(device: str, name: str, url: str) -> int:
    """Move DEVICE to GROUP. A new device is in the group `default`."""
    database = existing_database(url)
    with database.transaction() as transaction:
        set_group(transaction, SystemClock().now_ms(), user_name(), device, name)
    show(f"{device} is in the group {name}")
    return 0


@fleet.group()
def rollout() -> None:
    """Add releases, and roll them out to groups of devices."""


@rollout.command()
@click.argument("release")
@click.option("--group", "name", default=DEFAULT_GROUP, show_default=True, help="Group of devices.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting, such as soak_s=7200 or waves=10,100,1000. Repeat the option for further settings.",
)
@click.option(
    "--while-rolling-back",
    is_flag=True,
    help="Start although devices of an earlier rollout have not returned yet. These go to RELEASE instead.",
)
@database_option
@json_option
def start(
    release: str,
    name: str,
    assignments: tuple[str, ...],
    while_rolling_back: bool,
    url: str,
    as_json: bool,
) -> int:
    """Roll RELEASE out to a group. A running server does the work."""
    settings = settings_from_json(dict(_assignment(text) for text in assignments))
    database = existing_database(url)
    now_ms = SystemClock().now_ms()
    with database.transaction() as transaction:
        number = start_rollout(
            transaction,
            now_ms,
            user_name(),
            release,
            name,
            settings,
            while_rolling_back=while_rolling_back,
        )
        facts = rollout_status(transaction, now_ms, number)
    if as_json:
        print_json(facts)
    else:
        show(f"rollout {number} of {release} to the group {name} has started")
    return 0


@rollout.command()
@click.argument("number", type=int)
@click.option("--reason", default="", help="Reason, for the audit.")
@database_option
def pause(number: int, reason: str, url: str) -> int:
    """Choose no further devices for rollout NUMBER. Its gates still hold."""
    with existing_database(url).transaction() as transaction:
        pause_rollout(transaction, SystemClock().now_ms(), user_name(), number, reason)
    show(f"rollout {number} is paused")
    return 0


@rollout.command()
@click.argument("number", type=int)
@database_option
def resume(number: int, url: str) -> int:
    """Go on with rollout NUMBER, which is paused."""
    with existing_database(url).transaction() as transaction:
        resume_rollout(transaction, SystemClock().now_ms(), user_name(), number)
    show(f"rollout {number} is running")
    return 0


@rollout.command()
@click.argument("number", type=int)
@database_option
def abort(number: int, url: str) -> int:
    """Stop rollout NUMBER, and return all its devices to their previous release."""
    with existing_database(url).transaction() as transaction:
        pushes = abort_rollout(transaction, SystemClock().now_ms(), user_name(), number)
    show(
        f"rollout {number} is rolling back {count_of(len(pushes), 'device')}, each with its next acknowledgement"
    )
    return 0


rollout.add_command(add)
rollout.add_command(show_rollout)
fleet.add_command(web)
fleet.add_command(prune)
fleet.add_command(reference)
for command in (broker, enrol, join, revoke):
    fleet.add_command(command)


def _assignment(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    hint = f"Write NAME=VALUE. The settings are {', '.join(RolloutSettings().to_json())}."
    if not separator:
        raise UsageError(f"'{text}' is not a setting.", hint)
    try:
        if name == "waves":
            return name, [int(share) for share in value.split(",")]
        number = float(value)
        return name, int(number) if number.is_integer() and "." not in value else number
    except (ValueError, OverflowError) as error:
        raise UsageError(f"'{text}' has a value that is not a number.", hint) from error


def _rollout_rows(facts: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (r["id"], r["release"], r["group"], r["state"], f"{r['wave'] + 1}/{r['waves']}", r["reason"])
        for r in facts["rollouts"]
    ]
