"""``arenite boards``: list the known boards, and the boards that are connected."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from arenite.errors import UsageError
from arenite.host.interface.catalogue import boards as known_boards
from arenite.host.link.ports import describe, possible_boards
from arenite.host.link.udev import rules
from arenite.host.link.usb import serial_ports
from arenite.host.report.console import print_json, show, table
from arenite.profiles.boards import Board


@click.command()
@click.option(
    "--ports",
    "only_ports",
    is_flag=True,
    help="List the USB serial ports of this computer, and the boards that may be connected to them.",
)
@click.option(
    "--udev",
    is_flag=True,
    help=(
        "Print udev rules for Linux. With these rules, boards and debug probes can be used without root "
        "rights."
    ),
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def boards(only_ports: bool, udev: bool, as_json: bool) -> int:
    """List the known boards with core, clock frequency, flash and SRAM. Emulated boards come first."""
    if only_ports and udev:
        raise UsageError("--ports and --udev exclude each other.", "Give one of them.")
    if only_ports:
        return _ports(as_json)
    if udev:
        if as_json:
            print_json({"schema": "arenite.udev/1", "rules": rules()})
        else:
            click.echo(rules(), nl=False)
        return 0
    all_known = known_boards()
    if as_json:
        print_json({"schema": "arenite.boards/1", "boards": [_entry(b) for b in all_known]})
        return 0
    rows = [
        (b.name, b.title, b.mcu, b.core, f"{b.clock_hz / 1e6:g}", f"{b.flash_bytes:,}", f"{b.ram_bytes:,}")
        for b in all_known
    ]
    show(
        table(f"{len(all_known)} boards", ("board", "title", "MCU", "core", "MHz", "flash B", "SRAM B"), rows)
    )
    return 0


def _ports(as_json: bool) -> int:
    ports = serial_ports()
    if as_json:
        rows = [
            {
                "port": port.path,
                "id": port.device.id,
                "product": port.device.product,
                "serial": port.device.serial,
                "location": port.device.location,
                "boards": possible_boards(port),
            }
            for port in ports
        ]
        print_json({"schema": "arenite.ports/1", "ports": rows})
    else:
        show(describe(ports) if ports else "This computer has no USB serial port.")
    return 0


def _entry(b: Board) -> dict[str, Any]:
    return {
        "name": b.name,
        "title": b.title,
        "mcu": b.mcu,
        "core": b.core,
        "clock_hz": b.clock_hz,
        "emulated": b.emulated,
        "cores": b.cores,
        "features": sorted(b.features),
        "flash": [{"name": r.name, "origin": r.origin, "size": r.size} for r in b.flash],
        "ram": [{"name": r.name, "origin": r.origin, "size": r.size, "kind": r.kind} for r in b.ram],
        "upload_tools": list(b.upload_tools),
        "usb": asdict(b.usb),
        "targets": asdict(b.targets),
        "sources": dict(b.sources),
    }
