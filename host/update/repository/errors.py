"""The errors of a repository, and the sentences for the errors of the library tuf."""

from __future__ import annotations

from arenite.errors import ToolError, UsageError
from arenite.host.update.keys import INSTALL


class RepositoryRefused(ToolError):
    """The repository gave metadata or a file that is not signed, expired, too old, or not as it was signed."""


class RepositoryUnavailable(ToolError):
    """The repository cannot be reached now. A later attempt may succeed."""


def missing_package(error: ImportError) -> UsageError:
    """Return the error for a missing package tuf."""
    return UsageError(f"Model repositories need the package {error.name or 'tuf'}.", INSTALL)


def in_words(error: Exception, location: str) -> RepositoryRefused | RepositoryUnavailable:
    """Return an error with sentences for the error ``error`` of tuf's client."""
    from tuf.api import exceptions
    from urllib3.exceptions import HTTPError

    detail = str(error).rstrip(".") or type(error).__name__
    if isinstance(error, exceptions.DownloadLengthMismatchError):
        return RepositoryRefused(
            f"{location} sent a file that is longer than the signed metadata permits ({detail}).",
            "The server or the network changed it. Compare the repository with the publisher's.",
        )
    if isinstance(error, exceptions.DownloadError | HTTPError):
        cause = error.__cause__ or error.__context__
        why = f"{detail}: {cause}" if cause is not None else detail
        return RepositoryUnavailable(
            f"{location} cannot be read now ({why}).", "Check the address, the server and the network."
        )
    if isinstance(error, exceptions.ExpiredMetadataError):
        return RepositoryRefused(
            f"The metadata of {location} has expired ({detail}).",
            "The publisher runs `arenite update repository refresh`. If that was done, somebody holds back newer "
            "files, or the clock of this computer is wrong.",
        )
    if isinstance(error, exceptions.BadVersionNumberError):
        return RepositoryRefused(
            f"The metadata of {location} is older than the one that is known, or mixes two states ({detail}).",
            "Somebody or a stale proxy sends old files. Compare the repository with the publisher's.",
        )
    if isinstance(error, exceptions.UnsignedMetadataError):
        return RepositoryRefused(
            f"The metadata of {location} is not signed with the keys of the trusted root ({detail}).",
            "Check that the trusted root belongs to this repository.",
        )
    if isinstance(error, exceptions.LengthOrHashMismatchError):
        return RepositoryRefused(
            f"A file of {location} differs from the one that was signed ({detail}).",
            "It is damaged, or somebody changed or mixed files. Compare the repository with the publisher's.",
        )
    return RepositoryRefused(
        f"The metadata of {location} is not valid ({detail}).", "Compare the repository with the publisher's."
    )
