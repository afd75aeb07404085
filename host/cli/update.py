"""``arenite update``: make keys, build, sign, verify and send update images, and publish models."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.host.cli.option_types import WholeNumber
from arenite.host.cli.update_build import build
from arenite.host.cli.update_device import emulate, loader
from arenite.host.cli.update_factory import factory
from arenite.host.cli.update_options import (
    allow_test_key_option,
    counter_option,
    private_key_option,
    read_reference_option,
    reference_option,
)
from arenite.host.cli.update_push import push, rollback, status
from arenite.host.cli.update_repository import repository
from arenite.host.report.console import print_json, show
from arenite.host.update.image_file import read_image
from arenite.host.update.keys import KEY_TYPES, generate_key, key_hash, key_name, read_public_key
from arenite.host.update.signed_image import (
    KINDS,
    MIN_HEADER_BYTES,
    ImageNotValidError,
    ImageProperties,
    sign_image,
    verify_image,
)
from arenite.input_files import read_bytes
from arenite.profiles.boards import load_board

#: The longest payload that is read.
MAX_PAYLOAD_BYTES = 64 * 2**20


@click.group()
def update() -> None:
    """Make keys, build, sign, verify and send update images in MCUboot's format, and publish models.

    docs/update-images.md and docs/update-serial.md describe them.
    """


for _command in (build, factory, loader, emulate, push, status, rollback, repository):
    update.add_command(_command)


@update.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--type",
    "key_type",
    type=click.Choice(KEY_TYPES),
    default=KEY_TYPES[0],
    show_default=True,
    help="Algorithm. A device checks one. The check of ecdsa-p256 has less code.",
)
@click.option(
    "--test",
    is_flag=True,
    help="Write the test key that everybody has. `arenite update sign` refuses it without --allow-test-key.",
)
def keygen(file: Path, key_type: str, test: bool) -> int:
    """Write a new private key to FILE, and its public key beside it.

    The key is a PEM file that only you can read. Keep it safe: whoever has it can make images for your devices. No
    file is overwritten.
    """
    public = generate_key(file, key_type, test=test)
    digest = key_hash(read_public_key(public)).hex()
    if test:
        show(
            f"{file}: private TEST key, which everybody has; it protects nothing",
            f"{public}: public key, for devices on your desk; its hash is {digest}",
        )
        return 0
    show(
        f"{file}: private key, mode 0600; keep it safe, and keep a copy",
        f"{public}: public key, for the devices; its hash is {digest}",
    )
    return 0


@update.command()
@click.argument("payload", type=click.Path(path_type=Path))
@private_key_option
@click.option(
    "--board", required=True, metavar="NAME", help="Name of a board; `arenite boards` lists the names."
)
@click.option("--version", required=True, metavar="A.B.C[+D]", help="Version of the image, such as 1.2.3+4.")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File for the signed image.",
)
@counter_option
@click.option(
    "--kind",
    type=click.Choice(tuple(KINDS)),
    default="firmware",
    show_default=True,
    help="What PAYLOAD is: a whole firmware, or the weights of a model alone.",
)
@click.option(
    "--abi",
    metavar="HEX",
    help="Hash of graph, arena and kernels, 64 hexadecimal digits. A model must have that of its firmware.",
)
@click.option(
    "--header-bytes",
    type=WholeNumber(),
    default=MIN_HEADER_BYTES,
    show_default=True,
    help="Offset of the payload in the image. Most Cortex-M processors need 512 for a firmware.",
)
@click.option(
    "--address",
    type=WholeNumber(),
    help="Address of the slot for which a firmware was linked, if it fits only this one.",
)
@click.option(
    "--slot-bytes",
    type=WholeNumber(),
    help="Size of a slot. Without this option, it is all flash memory of the board.",
)
@reference_option
@allow_test_key_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def sign(
    payload: Path,
    key: Path,
    board: str,
    version: str,
    output: Path,
    counter: int,
    kind: str,
    abi: str | None,
    header_bytes: int,
    address: int | None,
    slot_bytes: int | None,
    reference: Path | None,
    allow_test_key: bool,
    as_json: bool,
) -> int:
    """Sign PAYLOAD, a binary file, and write it as an update image.

    Needs the extra `update`: pip install 'arenite[update]'.
    """
    profile, record = load_board(board), read_reference_option(reference)
    properties = ImageProperties(
        version,
        counter,
        profile.name,
        "model" if kind == "model" else "firmware",
        _digest(abi),
        header_bytes,
        address,
        record.content if record is not None else None,
    )
    image = sign_image(
        read_bytes(payload, MAX_PAYLOAD_BYTES),
        properties,
        key,
        profile.flash_bytes if slot_bytes is None else slot_bytes,
        allow_test_key=allow_test_key,
    )
    write_atomic(output, image)
    if as_json:
        print_json(
            {
                "schema": "arenite.update/1",
                "image": str(output),
                "bytes": len(image),
                "kind": kind,
                "abi": abi,
                "version": version,
                "counter": counter,
                "board": profile.name,
            }
        )
    else:
        show(
            f"{output}: {kind} {version} for {profile.name}, {len(image):,} bytes, security counter {counter}"
        )
    return 0


@update.command()
@click.argument("image", type=click.Path(path_type=Path))
@click.option(
    "--key", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Public or private key."
)
def verify(image: Path, key: Path) -> int:
    """Check the hash and the signature of IMAGE.

    This does not check whether a device accepts the image: board, counter and graph are the device's rules. The exit
    code is 0 if both are right, 1 if one is wrong, and 2 for a mistake such as a file that does not exist.
    """
    try:
        verify_image(image, key)
    except ImageNotValidError as error:
        own, other = read_image(image).key_hash, key_hash(read_public_key(key))
        if own in (b"", other):
            raise
        raise ImageNotValidError(
            f"{image} is not valid with this key: it was signed with the key {key_name(own)}, and {key} is the key"
            f" {key_name(other)}.",
            "Check that the key is its own.",
        ) from error
    show(f"{image}: hash and signature are right; the key is {key_hash(read_public_key(key)).hex()}")
    return 0


def _digest(text: str | None) -> bytes | None:
    try:
        return None if text is None else bytes.fromhex(text)
    except ValueError as error:
        raise UsageError(f"'{text}' is not hexadecimal.", "Give 64 hexadecimal digits.") from error
