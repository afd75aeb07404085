"""``arenite update loader`` and ``emulate``: build the boot loader of a board, and run an emulated device with it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from arenite.errors import ToolError, UsageError
from arenite.files import write_atomic
from arenite.firmware.update.loader import Loader, build_loader
from arenite.host.cli.ending_signals import ending_signals
from arenite.host.emulator.flash_file import new_flash, start_updatable
from arenite.host.live.emulated import emulated_app
from arenite.host.report.console import note, print_json, show
from arenite.host.update.image_file import read_image
from arenite.host.update.keys import key_type_of, read_public_key, refuse_test_key
from arenite.processes import temporary_folder
from arenite.profiles.board import Board
from arenite.profiles.boards import load_board

_board = click.option("--board", required=True, metavar="NAME", help="Name of a board that takes updates.")
_key = click.option(
    "--key",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Public key of the images that the boot loader accepts. If FILE is a private key, its public key is used.",
)
_allow_test_key = click.option(
    "--allow-test-key",
    is_flag=True,
    help="Accept images with the test key of `arenite update keygen --test`, which everybody has.",
)
_small = click.option(
    "--small",
    is_flag=True,
    help="Check Ed25519 signatures with less flash memory and RAM, and more time. It changes nothing for ECDSA.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")


@click.command()
@_board
@_key
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File for the boot loader as an ELF. Its bytes for the flash memory are beside it: NAME.bin for NAME.elf.",
)
@_small
@_allow_test_key
@_json
def loader(board: str, key: Path, output: Path, small: bool, allow_test_key: bool, as_json: bool) -> int:
    """Build the boot loader of a board. It accepts the images that were signed with one key.

    Needs the cross compiler, and downloads the library for the arithmetic of the signatures once.
    """
    profile, public_key = load_board(board), _public_key(key, allow_test_key)
    binary = output.with_suffix(".bin")
    if binary == output:
        raise UsageError(
            f"{output} is the name of the file beside the ELF.", "Give a name such as loader.elf."
        )
    with temporary_folder("arenite-loader-") as folder:
        built = _build(profile, public_key, folder, small=small)
        write_atomic(output, built.elf.read_bytes())
        write_atomic(binary, built.binary.read_bytes())
    key_type = key_type_of(public_key)
    if as_json:
        print_json(
            {
                "schema": "arenite.update-loader/1",
                "elf": str(output),
                "binary": str(binary),
                "bytes": built.bytes,
                "board": profile.name,
                "key_type": key_type,
            }
        )
    else:
        show(f"{output}, {binary}: boot loader of {profile.name}, {built.bytes:,} bytes, {key_type}")
    return 0


@click.command()
@click.argument("flash", type=click.Path(path_type=Path))
@_board
@_key
@click.option(
    "--new",
    "images",
    nargs=2,
    type=click.Path(path_type=Path),
    metavar="FIRMWARE MODEL",
    help="Write FLASH first: the memory of a new device with these two images. No file is overwritten.",
)
@click.option(
    "--app",
    "application",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="With --play: the folder of the application that the images were built from.",
)
@click.option(
    "--play",
    "recording",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --app: the recording that the sensor of an application plays, in real time, after each start.",
)
@_allow_test_key
@_json
def emulate(
    flash: Path,
    board: str,
    key: Path,
    images: tuple[Path, Path] | None,
    application: Path | None,
    recording: Path | None,
    allow_test_key: bool,
    as_json: bool,
) -> int:
    """Run an emulated device that takes updates, until Ctrl-C. Its flash memory is the file FLASH.

    The device has the boot loader of the board. The command prints the path of its serial port, a pseudo-terminal: give
    it to `arenite monitor`, `arenite update push`, or any other program. Run the command again without --new to
    switch the same device on again.
    """
    profile, public_key = load_board(board), _public_key(key, allow_test_key)
    if profile.emulator is None:
        raise UsageError(f"{profile.name} is a real board.", "Choose a board whose name begins with qemu_.")
    sensor = _sensor_file(application, recording, board)
    if images is not None:
        if flash.exists():
            raise UsageError(f"{flash} exists, and no file is overwritten.", "Remove it, or leave out --new.")
        firmware, model = (read_image(path) for path in images)
        for image, kind in ((firmware, "firmware"), (model, "model")):
            if image.kind != kind:
                raise UsageError(
                    f"{image.path} is a {image.kind}, expected a {kind}.", "Give the firmware first."
                )
            if image.board != profile.name:
                raise UsageError(
                    f"{image.path} was made for {image.board}, not for {profile.name}.",
                    f"Give --board {image.board}, or build the image again.",
                )
    elif not flash.is_file():
        raise UsageError(
            f"There is no flash memory {flash}.", "Make that of a new device: --new FIRMWARE MODEL."
        )
    with temporary_folder("arenite-loader-") as folder:
        built = _build(profile, public_key, folder)
        if images is not None:
            new_flash(profile, flash, firmware.data, model.data)
        files = folder / "files"  # that the firmware can read: an application reads its sensor
        files.mkdir()
        if sensor is not None:
            with (files / sensor[0]).open("wb") as file:
                file.writelines(sensor[1])
        running = start_updatable(profile, built.elf, flash, icount=False, folder=files)
        with running as device, ending_signals() as ended:
            if as_json:
                print_json(
                    {
                        "schema": "arenite.update-emulate/1",
                        "port": device.machine.port,
                        "flash": str(flash),
                        "board": profile.name,
                    }
                )
            else:
                show(
                    f"{profile.name} runs. Its serial port is {device.machine.port}. Ctrl-C switches it off."
                )
            while not ended.wait(0.5):
                if device.machine.process.poll() is not None:
                    raise ToolError(f"The emulator of {profile.name} ended.", "Run the command again.")
    note(f"Switched off. {flash} has the flash memory of the device.")
    return 0


def _sensor_file(
    application: Path | None, recording: Path | None, board: str
) -> tuple[str, Iterable[bytes]] | None:
    """Return the name and the contents of the file that the sensor of ``application`` reads; None if there is no
    recording."""
    if application is None and recording is None:
        return None
    if application is None or recording is None:
        raise UsageError(
            "--app and --play belong together: the folder tells the rate and the channels of the recording.",
            "Give both, or none of them.",
        )
    return emulated_app(application, board).sensor_file([recording], ())


def _public_key(key: Path, allow_test_key: bool) -> bytes:
    if not allow_test_key:
        refuse_test_key(key)
    return read_public_key(key)


def _build(board: Board, public_key: bytes, folder: Path, *, small: bool = False) -> Loader:
    note(f"Building the boot loader of {board.name}")
    return build_loader(board, public_key, folder, small=small)
