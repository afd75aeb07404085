"""Give a release the calibration records that its images carry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from arenite.errors import UsageError
from arenite.host.fleet.reference_file import image_reference
from arenite.host.fleet.registry import ReleaseImage
from arenite.host.update.image_file import ImageFile


def with_references(
    images: list[ReleaseImage], find: Callable[[str], ImageFile | None] | None
) -> tuple[list[ReleaseImage], list[str]]:
    """Return ``images`` with the records of the models among them, and a sentence for each that needs attention.

    ``find`` returns the update image with a SHA-256 hash, or None; it is None if there are no images to look at. A
    reference of the release itself stays, also if the record of the image differs.

    Raises ``UsageError`` for a malformed record, and for an image of another board.
    """
    results, remarks = [], []
    for entry in images:
        file = find(entry.model or entry.image) if find is not None else None
        if file is not None and file.board != entry.board:
            raise UsageError(
                f"{file.path} is for {file.board}, and the release has its hash for {entry.board}.",
                "Correct 'board' or the hash in the file of the release.",
            )
        record = image_reference(file) if file is not None else None
        if file is not None and None not in (record, entry.reference) and record != entry.reference:
            remarks.append(
                f"{entry.board}: the reference of the release differs from the calibration record in {file.path}, and"
                " the gates of drift use that of the release."
            )
        elif entry.reference is None and record is None:
            problem = "the release has no reference"
            if find is not None:
                problem = "no image with its hash was found" if file is None else f"{file.path} has no record"
            remarks.append(f"{entry.board}: {problem}, so there are no gates of drift.")
        results.append(replace(entry, reference=entry.reference or record))
    return results, remarks
