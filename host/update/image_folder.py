"""Find the image of a release in a folder by its hash."""

from __future__ import annotations

import hashlib
from pathlib import Path

from arenite.errors import UsageError
from arenite.host.update.image_file import ImageFile, read_image


def find_image(folder: Path, digest: str) -> ImageFile | None:
    """Return the update image with the SHA-256 hash ``digest`` in hexadecimal digits, or None. The hash is that of the
    whole file, or the one in the image by which devices name it. Files that are no images are skipped."""
    wanted = digest.lower()
    for path in sorted(folder.iterdir()):
        if not path.is_file():
            continue
        try:
            image = read_image(path)
        except UsageError:
            continue
        if wanted in (image.hash.hex(), hashlib.sha256(image.data).hexdigest()):
            return image
    return None
