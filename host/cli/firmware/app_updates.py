"""The options of ``arenite app`` for applications with updates, and what is printed about their images."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from arenite.errors import UsageError
from arenite.host.app.updates import FIRMWARE, MODEL, AppImages, AppUpdates
from arenite.host.cli.option_types import WholeNumber
from arenite.host.report.console import show
from arenite.profiles.board import Board

_OPTIONS = (
    click.option(
        "--updates",
        type=click.Path(path_type=Path),
        metavar="KEY",
        help=(
            "Let the application take updates of itself and of its model over the serial port. `arenite build` signs "
            "the images with this private key (docs/app-updates.md)."
        ),
    ),
    click.option(
        "--version", metavar="A.B.C[+D]", help="With --updates: version of the images, such as 1.2.3+4."
    ),
    click.option(
        "--counter",
        type=WholeNumber(),
        help=(
            "With --updates: security counter. A device refuses images with a lower one than that of a confirmed "
            "image. Without this option, it is 0."
        ),
    ),
    click.option(
        "--golden",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=(
            "With --updates: inputs for the self-test of the model, as for `arenite update build`. Without this "
            "option, there are three random ones."
        ),
    ),
    click.option(
        "--allow-test-key",
        is_flag=True,
        help="With --updates: sign with the test key of `arenite update keygen --test`, which everybody has.",
    ),
)


def update_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def chosen_updates(
    updates: Path | None, version: str | None, counter: int | None, golden: Path | None, allow_test_key: bool
) -> AppUpdates | None:
    """Return what the options ask for; None for an application without updates. Raises ``UsageError`` if an option
    needs another one."""
    given = {
        "--version": version is not None,
        "--counter": counter is not None,
        "--golden": golden is not None,
        "--allow-test-key": allow_test_key,
    }
    if updates is None:
        names = [name for name, is_given in given.items() if is_given]
        if names:
            verb = "is" if len(names) == 1 else "are"
            raise UsageError(
                f"{' and '.join(names)} {verb} for an application with updates.", "Add --updates KEY."
            )
        return None
    if version is None:
        raise UsageError("An application with updates has a version.", "Add --version, such as 1.0.0.")
    return AppUpdates(updates, version, counter or 0, golden, allow_test_key)


def options_of(updates: AppUpdates | None) -> str:
    """Return the options of ``arenite app`` that give ``updates``, for a command to show; a space is before each."""
    if updates is None:
        return ""
    text = f" --updates {updates.key} --version {updates.version}"
    text += f" --counter {updates.counter}" if updates.counter else ""
    text += f" --golden {updates.golden}" if updates.golden is not None else ""
    return text + (" --allow-test-key" if updates.allow_test_key else "")


def show_update_steps(board: Board, directory: Path, updates: AppUpdates) -> None:
    """Print the commands that run an application with updates, and that update it."""
    images = " ".join(f"{directory}/{name}" for name in (FIRMWARE, MODEL))
    public_key = updates.key.with_suffix(".public.pem")  # as `arenite update keygen` names it
    key = public_key if public_key.is_file() else updates.key
    show(
        f"Then: arenite update emulate flash.bin --board {board.name} --key {key} --new {images}"
        f" --app {directory} --play RECORDING",
        f"Update the model alone: arenite update push {directory}/{MODEL} PORT",
    )


def show_images(images: AppImages) -> None:
    """Print the signed images."""
    for kind, path in (("firmware", images.firmware), ("model", images.model)):
        show(f"{path}: {kind} {images.version}, {path.stat().st_size:,} bytes")
    show(f"ABI {images.abi.hex()}")
    if images.has_old_firmware is not None:
        show(
            "The firmware is that of the build before: devices with it take the model alone."
            if images.has_old_firmware
            else "The firmware is another one than that of the build before: push both images."
        )
