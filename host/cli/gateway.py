"""``arenite gateway``: connect devices on serial ports to the broker of a fleet."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import click

from arenite.counts import count_of
from arenite.errors import UsageError
from arenite.host.cli.ending_signals import ending_signals
from arenite.host.cli.fleet_options import broker_option
from arenite.host.cli.port_argument import find_port_path
from arenite.host.fleet.topics import check_name
from arenite.host.gateway.serial_device import GatewaySettings, SerialDevice
from arenite.host.link.ports import SERIAL_PREFIX
from arenite.host.mqtt.broker_address import parse_broker_address
from arenite.host.report.console import note


@click.command()
@broker_option
@click.option("--fleet", required=True, metavar="NAME", help="Name of the fleet.")
@click.option(
    "--device",
    "devices",
    multiple=True,
    required=True,
    metavar="NAME=PORT",
    help="Name and serial port of a device, such as pump-1=/dev/ttyACM0. PORT is a path, usb:SERIAL for the USB device"
    " with this serial number, or auto for the only USB serial port. Repeat the option for further devices.",
)
@click.option(
    "--images",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder with the images of releases. An image is found by its SHA-256 hash.",
)
@click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("gateway"),
    show_default=True,
    help="Folder for events that wait for the server.",
)
@click.option("--baud", type=click.IntRange(min=50), default=115_200, show_default=True, help="Baud rate.")
@click.option(
    "--heartbeat",
    "heartbeat_s",
    type=click.IntRange(min=1),
    default=900,
    show_default=True,
    help="Seconds between two heartbeats.",
)
@click.option(
    "--smp",
    "takes_smp",
    is_flag=True,
    help="Let operators send requests to the devices through the broker (docs/gateway.md). Default: nobody can.",
)
def gateway(
    broker: str,
    fleet: str,
    devices: tuple[str, ...],
    images: Path | None,
    state: Path,
    baud: int,
    heartbeat_s: int,
    takes_smp: bool,
) -> int:
    """Run the agent of a fleet for devices on serial ports, until SIGINT or SIGTERM.

    In --broker, {device} stands for the name of each device, as in cert={device}/device.pem.

    Needs the extras `fleet` and `update`: pip install 'arenite[fleet,update]'.
    """
    ports = _ports(devices)
    addresses = {name: parse_broker_address(broker.replace("{device}", name)) for name in ports}
    address = next(iter(addresses.values()))
    settings = GatewaySettings(
        address, check_name("fleet", fleet), state, images, baud, heartbeat_s, takes_smp
    )
    if images is not None and not images.is_dir():
        raise UsageError(f"There is no folder {images}.", "Make it, and copy the images of releases into it.")
    problems: list[Exception] = []
    with ending_signals() as stop:

        def serve(name: str, port: str) -> None:
            try:
                own = replace(settings, broker=addresses[name])
                SerialDevice(name, port, own, note, lambda text: find_port_path(text, None)).run(stop)
            except Exception as error:  # the main thread raises it
                problems.append(error)
                stop.set()

        threads = [threading.Thread(target=serve, args=item) for item in ports.items()]
        for thread in threads:
            thread.start()
        note(f"Connecting {count_of(len(ports), 'device')} to the fleet '{fleet}' at {address.name}.")
        stop.wait()
        for thread in threads:
            thread.join()
    if problems:
        raise problems[0]
    return 0


def _ports(devices: tuple[str, ...]) -> dict[str, str]:
    ports: dict[str, str] = {}
    for text in devices:
        name, separator, port = text.partition("=")
        if not separator or not port or port == SERIAL_PREFIX or "://" in port:
            raise UsageError(
                f"'{text}' is not NAME=PORT.",
                "Write --device pump-1=/dev/ttyACM0, pump-1=usb:SERIAL, or pump-1=auto for the only USB serial port.",
            )
        if check_name("device", name) in ports or port in ports.values():
            raise UsageError(f"'{text}' repeats a device or a port.", "Give each device a name and a port.")
        ports[name] = port
    return ports
