"""``arenite update build``: build the program of a model that takes updates, and sign its images."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.files import write_atomic
from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.firmware.platformio.zephyr import is_for_zephyr
from arenite.firmware.update.esp_project import MODEL_IMAGE
from arenite.firmware.update.zephyr_boards import ZEPHYR_UPDATE_BOARDS
from arenite.host.cli.update_options import (
    allow_test_key_option,
    counter_option,
    private_key_option,
    read_reference_option,
    reference_option,
)
from arenite.host.report.console import note, print_json, show
from arenite.host.update.esp_build import build_esp_update
from arenite.host.update.update_build import UpdateOptions, build_update
from arenite.host.update.zephyr_build import build_zephyr_update
from arenite.profiles.board import Board
from arenite.profiles.boards import load_board


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--board",
    required=True,
    metavar="NAME",
    help="Name of an ESP32 board, of a board of Zephyr, or of an emulated board that takes updates.",
)
@private_key_option
@click.option("--version", required=True, metavar="A.B.C[+D]", help="Version of the images, such as 1.2.3+4.")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File for the image of the firmware. The model's image is beside it: NAME.model.bin for NAME.bin. For an "
    "ESP32, it is the folder for a project of ESP-IDF, and for a board of Zephyr that for a Zephyr application.",
)
@click.option(
    "--model-only",
    is_flag=True,
    help="Write only the image of the model, to the file of --output. It runs with each firmware that has its ABI.",
)
@counter_option
@click.option(
    "--golden",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Inputs for the self-test: the array x (x0, x1, ... for several inputs) of an .npz file, or an .npy file. "
    "Without this option, there are three random ones.",
)
@click.option(
    "--optimise",
    type=click.Choice(OPTIMISE_MODES),
    help="Goal of the code generator. Without this option, it is the fastest one that fits.",
)
@click.option(
    "--agent",
    is_flag=True,
    help="Count latencies, classes and statistics of the input on the device, for a fleet (docs/fleet.md). For "
    "emulated boards and ESP32 boards.",
)
@reference_option
@allow_test_key_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def build(
    model: Path,
    board: str,
    key: Path,
    version: str,
    output: Path,
    model_only: bool,
    counter: int,
    golden: Path | None,
    optimise: str | None,
    agent: bool,
    reference: Path | None,
    allow_test_key: bool,
    as_json: bool,
) -> int:
    """Build a program that runs MODEL and takes updates, and sign its images.

    The image of the model has all constants of MODEL, that of the firmware everything else. The ABI is the hash of the
    firmware: a model with the same ABI can be updated alone. Needs the extra `update`, and the cross compiler.

    For an ESP32, ESP-IDF builds the firmware: the command writes the project and the image of the model, and
    `arenite update factory` signs the firmware.

    For the boards of docs/update-zephyr.md, such as nrf52840_dk and nucleo_f401re, the command writes a Zephyr
    application with the model. `west build --sysbuild` builds and signs it, together with MCUboot.
    """
    profile = load_board(board)
    record = read_reference_option(reference)
    options = UpdateOptions(
        key, version, counter, golden, optimise, model_only, allow_test_key, agent, record
    )
    if profile.espressif is not None:
        return _build_project(model, profile, options, output, as_json)
    if profile.name in ZEPHYR_UPDATE_BOARDS or is_for_zephyr(profile):
        return _build_application(model, profile, options, output, as_json)
    images = build_update(model, profile, options, note)
    model_output = output if model_only else output.with_name(f"{output.stem}.model.bin")
    write_atomic(model_output, images.model)
    if images.firmware is not None:
        write_atomic(output, images.firmware)
    image = images.firmware or images.model
    result = {
        "schema": "arenite.update/1",
        "image": str(output),
        "bytes": len(image),
        "kind": "model" if model_only else "firmware",
        "abi": images.abi.hex(),
        "version": version,
        "counter": counter,
        "board": profile.name,
        "optimise": images.optimise,
        "compiler": images.compiler,
    }
    if not model_only:
        result |= {"model_image": str(model_output), "model_bytes": len(images.model)}
    if as_json:
        print_json(result)
        return 0
    if images.firmware is not None:
        show(f"{output}: firmware {version} for {profile.name}, {len(images.firmware):,} bytes")
    show(
        f"{model_output}: model {version} for {profile.name}, {len(images.model):,} bytes",
        f"ABI {images.abi.hex()}, --optimise {images.optimise}",
    )
    return 0


def _build_project(model: Path, board: Board, options: UpdateOptions, output: Path, as_json: bool) -> int:
    """Write the project of an ESP32 into the folder ``output``, or, for the model alone, its image to this file."""
    made = build_esp_update(model, board, options, note)
    image = output if options.model_only else output / MODEL_IMAGE
    if options.model_only:
        write_atomic(output, made.image)
    else:
        made.write(output)
    if as_json:
        print_json(
            {
                "schema": "arenite.update-project/1",
                "project": None if options.model_only else str(output),
                "model_image": str(image),
                "model_bytes": len(made.image),
                "abi": made.program.abi.hex(),
                "version": options.version,
                "counter": options.counter,
                "board": board.name,
                "optimise": made.optimise,
            }
        )
        return 0
    show(
        f"{image}: model {options.version} for {board.name}, {len(made.image):,} bytes",
        f"ABI {made.program.abi.hex()}, --optimise {made.optimise}",
    )
    if not options.model_only:
        show(
            f"Next: idf.py -C {output} build",
            f"then: arenite update factory {output} --key {options.key} --version {options.version} -o device.bin",
        )
    return 0


def _build_application(model: Path, board: Board, options: UpdateOptions, output: Path, as_json: bool) -> int:
    """Write the Zephyr application into the folder ``output``."""
    made = build_zephyr_update(model, board, options)
    made.write(output)
    command = f"west build --sysbuild -b {board.zephyr_target} -d {output}-build {output}"
    image = f"{output}-build/{output.name}/zephyr/zephyr.signed.bin"
    if as_json:
        print_json(
            {
                "schema": "arenite.update-zephyr/1",
                "project": str(output),
                "command": command,
                "firmware_image": image,
                "version": options.version,
                "board": board.name,
                "optimise": made.optimise,
            }
        )
        return 0
    show(
        f"{output}: Zephyr application {options.version} for {board.name}, --optimise {made.optimise}",
        f"Next: {command}",
        f"then: west flash -d {output}-build",
        f"Later versions: arenite update push {image} PORT",
    )
    return 0
