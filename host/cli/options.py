"""Define options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.firmware.boards.toolchains import TOOLCHAINS
from arenite.firmware.generator.features import DEFAULT_PIN
from arenite.firmware.generator.project import PROTOCOLS
from arenite.host.build.options import BuildOptions


def output_folder_option(contents: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the required option ``-o DIRECTORY`` of a command that writes ``contents``, such as "the library"."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        required=True,
        metavar="DIRECTORY",
        help=f"Folder to write {contents} to.",
    )


optimise_option = click.option(
    "--optimise",
    type=click.Choice(OPTIMISE_MODES),
    help=(
        "What to optimize the build for. speed: the fastest kernels, which may store the weights in a "
        "larger form. balanced: the fastest kernels that do not enlarge the weights. ram: the least RAM. flash: "
        "the least code. Default: the first of speed, balanced, ram and flash with which the model fits the board."
    ),
)
protocol_option = click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    default="arenite",
    show_default=True,
    help=(
        "Serial protocol of the firmware. arenite: the framed protocol of the other Arenite commands; mlperf: "
        "the MLPerf Tiny monitor; mlperf-energy: the MLPerf Tiny monitor for energy measurements."
    ),
)
no_passes_option = click.option(
    "--no-passes",
    is_flag=True,
    help=(
        "Do not apply the graph optimizations (docs/passes.md). The outputs are the same with and without "
        "them."
    ),
)
stream_option = click.option(
    "--stream-input",
    is_flag=True,
    help=(
        "The model receives its input row by row, so that RAM never holds the whole input. This works best "
        "with --optimise ram. Default: RAM holds the whole input."
    ),
)
fast_ram_option = click.option(
    "--fast-ram",
    type=click.IntRange(min=0),
    metavar="BYTES",
    help=(
        "Maximum number of bytes that the arena may use in the board's fast RAM (the first RAM in its "
        "profile). The rest of the arena is in the second RAM. Default: all free bytes."
    ),
)
cores_option = click.option(
    "--cores",
    type=click.IntRange(1, 2),
    help=(
        "Number of processor cores that compute layers. Default: all cores on which Arenite can run layers on "
        "this board."
    ),
)
health_option = click.option(
    "--health",
    is_flag=True,
    help=(
        "Add to the firmware a health report (such as the cause of the last reset) and a log that survives a "
        "reset, and use the board's watchdog if it has one."
    ),
)
toolchain_option = click.option(
    "--toolchain",
    type=click.Choice(TOOLCHAINS),
    help=(
        "Compiler of an emulated board's firmware: gcc, or zig (the clang in the Python package ziglang). Their code "
        "has different sizes. Default: gcc; `arenite bench` takes zig if gcc is not installed."
    ),
)
code_in_ram_option = click.option(
    "--code-in-ram",
    is_flag=True,
    help=(
        "Run the kernels from RAM: start-up code copies them there. For boards whose flash is slower than RAM, such as "
        "those with an RP2040, and for emulated boards. Default: all code runs from flash."
    ),
)
mark_option = click.option(
    "--mark",
    is_flag=False,
    flag_value=DEFAULT_PIN,
    metavar="[PIN]",
    help=(
        "Set this pin high during each inference, as a trigger for a meter. On a real board, give the pin's "
        "number or its name in C: PA5 with an Arduino core, GPIO_NUM_5 with ESP-IDF. On an emulated board, PIN may "
        "be left out. Not for Zephyr boards."
    ),
)

_BUILD_OPTIONS = {
    "optimise": optimise_option,
    "protocol": protocol_option,
    "passes": no_passes_option,
    "stream_input": stream_option,
    "fast_ram": fast_ram_option,
    "mark": mark_option,
    "health": health_option,
    "cores": cores_option,
    "toolchain": toolchain_option,
    "code_in_ram": code_in_ram_option,
}

#: The fields that `arenite firmware` and `arenite bench` have options for, in the order of their help.
FIRMWARE_FIELDS = (
    "optimise", "protocol", "passes", "stream_input", "fast_ram", "mark", "health", "cores", "toolchain", "code_in_ram",
)  # fmt: skip


def build_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options for the fields ``names`` of ``BuildOptions`` to a command.

    The command receives them as one parameter, ``build``. Fields without an option keep their default.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(*args: Any, **values: Any) -> Any:
            fields = {name: values.pop(name) for name in names if name != "passes"}
            if "passes" in names:
                fields["passes"] = not values.pop("no_passes")
            return function(*args, build=BuildOptions(**fields), **values)

        for name in reversed(names):
            command = _BUILD_OPTIONS[name](command)
        return command

    return decorate
