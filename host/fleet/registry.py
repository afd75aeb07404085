"""The registry: the fleet, its devices and groups, and the releases for them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.host.fleet.audit import NO_ROLLOUT, write_audit
from arenite.host.fleet.database import Transaction
from arenite.host.fleet.reference_file import check_histograms, read_reference
from arenite.host.fleet.topics import check_name, is_name

DEFAULT_GROUP = "default"
#: If no server was connected to the broker for this time, the silence of devices before it means nothing.
SERVING_GAP_MS = 20 * 60 * 1000
#: The board of a device that has not told its board yet.
UNKNOWN_BOARD = "unknown"


@dataclass(frozen=True, slots=True)
class ReleaseImage:
    """What a release has for one board: the SHA-256 hash of an image, or those of a firmware and a model, which change
    together; and the histograms of the calibration data, or None. ``image`` of a pair is ``pair_hash``."""

    board: str
    image: str
    reference: dict[str, Any] | None = None
    firmware: str = ""
    model: str = ""


def pair_hash(firmware: str, model: str) -> str:
    """Return what ``image`` tells agents that know only one image: a hash that no image has. They refuse the release,
    instead of installing a half of it."""
    return hashlib.sha256(f"{firmware} {model}".encode()).hexdigest()


def claim_fleet(transaction: Transaction, name: str) -> None:
    """Write the fleet's name into a new database. Raises ``UsageError`` if the database has another fleet."""
    check_name("fleet", name)
    transaction.execute(
        "INSERT INTO fleet (name, served_ms, serving_since_ms)"
        " SELECT ?, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM fleet)",
        (name,),
    )
    stored = fleet_name(transaction)
    if stored != name:
        raise UsageError(
            f"The database has the fleet '{stored}', not '{name}'.",
            "Give its name with --fleet, or another database.",
        )


def note_serving(transaction: Transaction, now_ms: int) -> None:
    """Note that a server is connected to the broker now."""
    transaction.execute(
        "UPDATE fleet SET serving_since_ms = CASE WHEN served_ms < ? THEN ? ELSE serving_since_ms END, served_ms = ?",
        (now_ms - SERVING_GAP_MS, now_ms, now_ms),
    )


def fleet_name(transaction: Transaction) -> str | None:
    row = transaction.query_one("SELECT name FROM fleet")
    return None if row is None else str(row[0])


def add_release(
    transaction: Transaction, now_ms: int, actor: str, release: str, images: list[ReleaseImage]
) -> None:
    """Add a release. Adding the same release again changes nothing. Raises ``UsageError`` for a release that exists
    with other images, because devices may run it already."""
    check_name("release", release)
    if not images:
        raise UsageError(f"The release {release} has no image.", "Give the image of each board.")
    rows = {i.board: (i.image, json.dumps(i.reference, sort_keys=True), i.firmware, i.model) for i in images}
    if len(rows) < len(images):
        raise UsageError(
            f"The release {release} has two entries for one board.",
            "Give each board once. Two images that change together are 'firmware' and 'model' of one entry.",
        )
    for image in images:
        check_name("board", image.board)
        _check_hashes(image)
        if image.reference is not None:
            check_histograms(image.reference, f"The reference of {image.board}")
    stored = {
        board: tuple(columns)
        for board, *columns in transaction.query(
            "SELECT board, image, reference, firmware, model FROM release_images WHERE release = ?",
            (release,),
        )
    }
    if stored == rows:
        return
    if stored:
        raise UsageError(
            f"The release {release} exists already with other images.", "Give the release another name."
        )
    transaction.execute("INSERT INTO releases (release, created_ms) VALUES (?, ?)", (release, now_ms))
    transaction.execute_many(
        "INSERT INTO release_images (release, board, image, reference, firmware, model) VALUES (?, ?, ?, ?, ?, ?)",
        [(release, board, *columns) for board, columns in rows.items()],
    )
    write_audit(transaction, now_ms, actor, NO_ROLLOUT, "add_release", release=release, boards=sorted(rows))


def register_device(transaction: Transaction, now_ms: int, device: str, group: str, *, seen_ms: int) -> None:
    """Register a device in ``group`` if it is not registered yet. ``seen_ms`` is 0 if nothing was heard of it."""
    transaction.execute(
        "INSERT INTO devices (device, board, core, group_name, registered_ms, seen_ms, is_online, release, firmware,"
        " model, abi, reset_cause, generation, desired_generation, desired_release, desired_image)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, '', '', '', '', '', 0, 0, '', '') ON CONFLICT DO NOTHING",
        (device, UNKNOWN_BOARD, UNKNOWN_BOARD, group, now_ms, seen_ms, int(seen_ms > 0)),
    )


def set_group(transaction: Transaction, now_ms: int, actor: str, device: str, group: str) -> None:
    """Move a device to a group. Raises ``UsageError`` if there is no such device, or if a rollout has chosen it."""
    check_name("group", group)
    row = transaction.query_one("SELECT group_name FROM devices WHERE device = ?", (device,))
    if row is None:
        raise UsageError(f"There is no device '{device}'.", "`arenite fleet status --devices` lists all.")
    active = transaction.query(
        "SELECT rollout FROM rollout_devices, rollouts WHERE rollouts.id = rollout AND device = ?"
        " AND (rollouts.state = 'running' OR rollouts.state = 'paused')",
        (device,),
    )
    if active:
        raise UsageError(
            f"Rollout {active[0][0]} has chosen the device '{device}'.",
            "Move it after the rollout has ended.",
        )
    transaction.execute("UPDATE devices SET group_name = ? WHERE device = ?", (group, device))
    write_audit(
        transaction, now_ms, actor, NO_ROLLOUT, "set_group", device=device, group=group, previous=row[0]
    )


def parse_release_images(value: Any, path: Path) -> tuple[str, list[ReleaseImage]]:
    """Return the name and the images of a release file, ``arenite.release/1``, at ``path``, with the references that it
    names. Raises ``UsageError``."""
    hint = "docs/fleet.md describes the file of a release."
    if not isinstance(value, dict) or value.get("schema") != "arenite.release/1":
        raise UsageError(f"{path} is not a release: its 'schema' must be arenite.release/1.", hint)
    release, images = value.get("release"), value.get("images")
    if not isinstance(release, str) or not is_name(release):
        raise UsageError(f"{path} has the release {release!r}, which is not a name.", hint)
    if not isinstance(images, list):
        raise UsageError(f"{path} has no list 'images'.", hint)
    result = []
    for k, image in enumerate(images):
        kinds = [name for name in ("image", "firmware", "model") if isinstance(image, dict) and name in image]
        if (
            kinds not in (["image"], ["firmware", "model"])
            or not isinstance(image.get("board"), str)
            or not all(isinstance(image[name], str) for name in kinds)
        ):
            raise UsageError(
                f"{path}: image {k} needs the texts 'board' and 'image', or 'board', 'firmware' and 'model'.",
                hint,
            )
        reference = image.get("reference")
        if isinstance(reference, str):
            reference = read_reference(path.parent / reference)
        if reference is not None and not isinstance(reference, dict):
            raise UsageError(
                f"{path}: the 'reference' of image {k} is neither an object nor the name of a file.", hint
            )
        pair = tuple(image[name] for name in kinds if name != "image")
        result.append(ReleaseImage(image["board"], image.get("image") or pair_hash(*pair), reference, *pair))
    return release, result


def _check_hashes(image: ReleaseImage) -> None:
    names = ("firmware", "model") if image.firmware or image.model else ("image",)
    for name in names:
        text = getattr(image, name)
        if len(text) != 64 or not set(text) <= set("0123456789abcdef"):
            raise UsageError(
                f"The {name} of {image.board} is '{text[:70]}', expected its SHA-256 hash.",
                "Give 64 hexadecimal digits in lower case, as sha256sum prints them.",
            )
    if len(names) == 2 and image.firmware == image.model:
        raise UsageError(
            f"The firmware and the model of {image.board} have the same hash.",
            "Give the hash of each. A release of one image has 'image' instead.",
        )
