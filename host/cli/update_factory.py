"""``arenite update factory``: sign the firmware of an ESP32, and make the content of the flash of a new device."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.files import write_atomic
from arenite.host.cli.update_options import allow_test_key_option, counter_option, private_key_option
from arenite.host.report.console import print_json, show
from arenite.host.update.esp_factory import make_factory


@click.command()
@click.argument("project", type=click.Path(path_type=Path))
@private_key_option
@click.option(
    "--version", required=True, metavar="A.B.C[+D]", help="Version of the firmware, such as 1.2.3+4."
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File for the content of the flash. The signed firmware is beside it: NAME.firmware.bin for NAME.bin.",
)
@counter_option
@allow_test_key_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def factory(
    project: Path,
    key: Path,
    version: str,
    output: Path,
    counter: int,
    allow_test_key: bool,
    as_json: bool,
) -> int:
    """Sign the firmware of PROJECT, and write what a new ESP32 gets: boot loader, partition table, firmware and model.

    PROJECT is the folder that `arenite update build` wrote for an ESP32, after `idf.py build` in it. esptool writes
    FILE to address 0. `arenite update push` sends NAME.firmware.bin to a device that is in use.
    """
    made = make_factory(project, key, version, counter, allow_test_key=allow_test_key)
    firmware = output.with_name(f"{output.stem}.firmware.bin")
    write_atomic(output, made.flash)
    write_atomic(firmware, made.firmware)
    assert made.board.espressif is not None
    command = f"esptool --chip {made.board.espressif.chip} write-flash 0 {output}"
    if as_json:
        print_json(
            {
                "schema": "arenite.update-factory/1",
                "flash": str(output),
                "flash_bytes": len(made.flash),
                "firmware_image": str(firmware),
                "firmware_bytes": len(made.firmware),
                "abi": made.abi.hex(),
                "version": version,
                "counter": counter,
                "board": made.board.name,
                "command": command,
            }
        )
        return 0
    show(
        f"{output}: the flash of a new {made.board.name}, {len(made.flash):,} bytes",
        f"{firmware}: firmware {version}, {len(made.firmware):,} bytes",
        f"Next: {command}",
    )
    return 0
