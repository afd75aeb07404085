"""The options of ``arenite duty``, with their help."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.host.cli.option_types import option_group
from arenite.host.duty.battery import REGULATORS

_FILE = click.Path(path_type=Path, dir_okay=False)
#: A decorator that adds the options to the command.
duty_options = option_group(
    click.option(
        "--period",
        type=float,
        metavar="SECONDS",
        help="Time between two events, in seconds, if it is always the same.",
    ),
    click.option(
        "--rate",
        type=float,
        metavar="PER_SECOND",
        help="Mean rate of random events (a Poisson process), in events per second.",
    ),
    click.option(
        "--trace",
        type=_FILE,
        help=(
            "CSV file whose first column has the times of recorded events. The unit is seconds, or the one in the "
            "heading, as in time_ms."
        ),
    ),
    click.option(
        "--duration",
        type=float,
        metavar="SECONDS",
        help=(
            "With --trace: length of the recording in seconds. Default: the time of the last event plus the mean "
            "time between events."
        ),
    ),
    click.option(
        "--service",
        type=float,
        metavar="MS",
        help="Service time of an event (the time that the device works on it), in milliseconds.",
    ),
    click.option(
        "--service-times",
        type=_FILE,
        help=(
            "CSV file whose first column has measured service times. The unit is milliseconds, or the one in the "
            "heading, as in service_s."
        ),
    ),
    click.option(
        "--bench", type=_FILE, help="JSON file of `arenite bench --json` to read the service time from."
    ),
    click.option(
        "--emulate",
        type=click.Path(path_type=Path),
        metavar="IMAGE",
        help=(
            "Model to run on the emulated --board. Its inference time is the service time. The model is then run "
            "for a sequence of events (--period, --rate or --trace), and the result is compared with the prediction."
        ),
    ),
    click.option(
        "--queue",
        default="none",
        show_default=True,
        metavar="PLACES",
        help=(
            "Number of events that can wait while the device works on another event; further events are dropped. "
            "none: no limit."
        ),
    ),
    click.option(
        "--board",
        metavar="NAME",
        help=(
            "Board whose profile has the power when awake and asleep, and the clock frequency. `arenite boards` "
            "lists the names."
        ),
    ),
    click.option(
        "--energy",
        type=_FILE,
        help=(
            "JSON file of `arenite energy --json` to read the powers from, and the service time if no other "
            "option gives it. Its powers have priority over those of --board."
        ),
    ),
    click.option(
        "--active-mw",
        type=float,
        metavar="MILLIWATTS",
        help="Power while the device works on an event, in milliwatts. Has priority over --energy and --board.",
    ),
    click.option(
        "--sleep-uw",
        type=float,
        metavar="MICROWATTS",
        help="Power during sleep, in microwatts. Has priority over --energy and --board.",
    ),
    click.option(
        "--wake-ms",
        type=float,
        default=0.0,
        metavar="MS",
        help="Time from sleep until the device can work on an event, in milliseconds. Default: 0.",
    ),
    click.option(
        "--wake-uj",
        type=float,
        metavar="MICROJOULES",
        help="Energy of one wake-up, in microjoules. Default: the active power times --wake-ms.",
    ),
    click.option(
        "--enter-uj",
        type=float,
        default=0.0,
        metavar="MICROJOULES",
        help="Energy of one transition to sleep, in microjoules. Default: 0.",
    ),
    click.option(
        "--linger-ms",
        type=float,
        default=0.0,
        metavar="MS",
        help="Time that the device stays awake after an event before it sleeps, in milliseconds. Default: 0.",
    ),
    click.option(
        "--linger-mw",
        type=float,
        metavar="MILLIWATTS",
        help="Power during --linger-ms, in milliwatts. Default: the active power.",
    ),
    click.option(
        "--peak-mw",
        type=float,
        metavar="MILLIWATTS",
        help=(
            "Highest power for a short time, in milliwatts. It determines how far the battery's voltage drops. "
            "Default: the measured peak in --energy, else the highest of the active, wake-up and --linger-mw powers."
        ),
    ),
    click.option(
        "--battery",
        metavar="NAME",
        help=(
            "Battery: aa_alkaline_pair, aa_lithium_pair, cr123a, cr2032, li_ion_18650, lipo_500, lipo_1000, "
            "lipo_2000 or lisocl2_aa. Without it, no battery life is predicted."
        ),
    ),
    click.option(
        "--celsius",
        type=float,
        default=20.0,
        show_default=True,
        metavar="DEGREES",
        help="Temperature of the battery, in degrees Celsius.",
    ),
    click.option(
        "--regulator",
        type=click.Choice(REGULATORS),
        default="none",
        show_default=True,
        help="Type of the voltage regulator between the battery and the device.",
    ),
    click.option(
        "--regulator-v",
        type=float,
        default=3.0,
        show_default=True,
        metavar="VOLTS",
        help="Output voltage of the regulator, which supplies the device, in volts.",
    ),
    click.option(
        "--efficiency",
        type=float,
        default=0.9,
        show_default=True,
        metavar="SHARE",
        help="Efficiency of the switching regulator, from 0 to 1.",
    ),
    click.option(
        "--quiescent-ua",
        type=float,
        default=0.0,
        metavar="MICROAMPERES",
        help="Quiescent current of the regulator, in microamperes. Default: 0.",
    ),
    click.option(
        "--minimum-v",
        type=float,
        metavar="VOLTS",
        help=(
            "Battery voltage, in volts, below which the regulator (or without a regulator, the device) stops. "
            "Default: only the battery's own cut-off voltage ends its life."
        ),
    ),
    click.option(
        "--simulate",
        is_flag=True,
        help=(
            "Also simulate random events one by one (discrete-event simulation), and compare the result with the "
            "prediction."
        ),
    ),
    click.option(
        "--events",
        "count",
        type=click.IntRange(200),
        default=20_000,
        show_default=True,
        help=(
            "Number of events for --simulate and --emulate. --emulate runs at most 4000 events, and at most 60 "
            "seconds of virtual time."
        ),
    ),
    click.option(
        "--seed",
        type=int,
        default=0,
        show_default=True,
        help="Random seed of the events of --simulate and --emulate.",
    ),
    click.option(
        "--svg",
        type=_FILE,
        metavar="FILE",
        help=(
            "Write a plot of the battery life over the mean time between events to this SVG file. Without "
            "--battery: a plot of the average power."
        ),
    ),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output."),
)
