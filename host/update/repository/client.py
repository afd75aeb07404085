"""Check a repository for a model, and download it. The library tuf verifies all metadata and files.

A repository is a folder with ``metadata/`` and ``targets/``, or the address of a server with these folders. The
verified metadata is kept in the cache, so that older metadata is refused later.
"""

# tuf and securesystemslib have no list of what they export.
# pyright: reportPrivateImportUsage=false
from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from arenite.errors import UsageError
from arenite.files import cache_directory
from arenite.host.update.repository.client_state import ClientState, load_state
from arenite.host.update.repository.errors import RepositoryRefused, in_words, missing_package
from arenite.host.update.repository.file_reader import read_file
from arenite.host.update.repository.model_target import ModelTarget, target_from_custom
from arenite.locks import file_lock

if TYPE_CHECKING:
    from tuf.ngclient import Updater

_MAX_ROOT_BYTES = 512_000
#: A server that sends nothing for this number of seconds cannot be reached.
_SOCKET_TIMEOUT_S = 30


class ModelRepository:
    """A client of one repository.

    Args:
        location: a folder, or an address with http://, https:// or file://.
        trusted_root: the file of the root metadata that the publisher handed over, ``root.json``.
        cache: the folder for verified metadata and models; None: a folder of Arenite's cache for this root.
        targets_location: where the files of models are, if not in ``location``/targets.

    Raises:
        UsageError: the address or the root cannot be used, or the package tuf is not installed.
    """

    def __init__(
        self,
        location: str,
        trusted_root: Path,
        cache: Path | None = None,
        targets_location: str | None = None,
    ) -> None:
        self.location = location
        self._metadata_url = _url(location) + "/metadata/"
        self._targets_url = (
            _url(location) + "/targets/" if targets_location is None else _url(targets_location)
        )
        self._root = read_trusted_root(trusted_root)
        self._root_path = trusted_root
        self.cache = cache_of(self._root) if cache is None else cache
        self._updater: Updater | None = None

    def state(self) -> ClientState:
        """Return what this client remembers."""
        return load_state(self.cache / "state.json")

    def refuse(self, sha256: str, version: str, reason: str) -> None:
        """Remember that the model with this SHA-256 must not be tried again. Raises ``OSError``."""
        with self._locked():
            self.state().refuse(sha256, version, reason)

    def accept(self, sha256: str) -> None:
        """Remember that the model with this SHA-256 passed its probation. Raises ``OSError``."""
        with self._locked():
            self.state().accept(sha256)

    def find(self, name: str) -> ModelTarget | None:
        """Return the present version of the model ``name``, or None if the repository does not have it.

        Raises:
            RepositoryRefused: the metadata is not signed, expired, older than before, or damaged.
            RepositoryUnavailable: the repository cannot be reached.
            UsageError: the cache cannot be written, or the target is no model.
        """
        with self._errors_in_words(), self._locked():
            self._updater = self._open()
            self._updater.refresh()
            info = self._updater.get_targetinfo(quote(name, ""))
            if info is None:
                return None
            target = target_from_custom(name, info.length, info.hashes.get("sha256"), info.custom)
            state = self.state()
            lowest = state.min_counter.get(name, 0)
            if target.counter < lowest:
                raise RepositoryRefused(
                    f"{self.location} offers {name} {target.version} with counter {target.counter}, but an earlier "
                    f"version required at least {lowest}.",
                    "The publisher adds the model again with a higher counter.",
                )
            if target.min_counter > lowest:
                state.min_counter[name] = target.min_counter
                state.save()
            return target

    def download(self, target: ModelTarget) -> Path:
        """Return the path of the file of ``target``, which ``find`` returned. It is downloaded and verified unless the
        cache has it. Raises the errors of ``find``."""
        with self._errors_in_words(), self._locked():
            if self._updater is None:
                self._updater = self._open()
            info = self._updater.get_targetinfo(quote(target.name, ""))
            if info is None or info.hashes.get("sha256") != target.sha256:
                raise RepositoryRefused(
                    f"{self.location} no longer has {target.name} {target.version}.", "Check it again."
                )
            path = self._target_path(target)
            if self._updater.find_cached_target(info, str(path)) is not None:
                return path
            partial = path.with_name(f".{path.name}.part")
            try:
                self._updater.download_target(info, str(partial))
                partial.replace(path)
            finally:
                partial.unlink(missing_ok=True)
            return path

    def forget_files(self, keep: set[str]) -> None:
        """Remove downloaded models other than those with a SHA-256 in ``keep``."""
        with suppress(OSError):
            for path in (self.cache / "targets").iterdir():
                if path.name.partition(".")[0] not in keep:
                    path.unlink(missing_ok=True)

    def _target_path(self, target: ModelTarget) -> Path:
        return self.cache / "targets" / target.file_name

    def _open(self) -> Updater:
        try:
            from tuf.api.exceptions import RepositoryError
            from tuf.ngclient import Updater
            from tuf.ngclient.urllib3_fetcher import Urllib3Fetcher

            from arenite.host.update.repository.folder_fetcher import FolderFetcher
        except ImportError as error:
            raise missing_package(error) from error
        is_folder = self._metadata_url.startswith("file:")
        for folder in ("metadata", "targets"):
            (self.cache / folder).mkdir(parents=True, exist_ok=True)
        try:
            return Updater(
                str(self.cache / "metadata"),
                self._metadata_url,
                str(self.cache / "targets"),
                self._targets_url,
                FolderFetcher() if is_folder else Urllib3Fetcher(_SOCKET_TIMEOUT_S, app_user_agent="arenite"),
                bootstrap=self._root,
            )
        except RepositoryError as error:
            raise _no_root(self._root_path, f" ({error})") from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with file_lock(self.cache / "lock"):
            yield

    @contextmanager
    def _errors_in_words(self) -> Iterator[None]:
        try:
            from tuf.api.exceptions import DownloadError, RepositoryError
            from urllib3.exceptions import HTTPError
        except ImportError as error:
            raise missing_package(error) from error
        try:
            yield
        except (DownloadError, RepositoryError, HTTPError) as error:
            raise in_words(error, self.location) from error
        except OSError as error:
            raise UsageError(
                f"The cache {self.cache} cannot be used: {error.strerror or error}.",
                "Free space, or set ARENITE_CACHE to another folder.",
            ) from error


def read_trusted_root(path: Path) -> bytes:
    """Return the bytes of the file ``path``. Raises ``UsageError`` if it does not look like root metadata."""
    root = read_file(path, _MAX_ROOT_BYTES)
    if not _is_root(root):
        raise _no_root(path)
    return root


def cache_of(root: bytes) -> Path:
    """Return the folder of the cache for the repository with the trusted root ``root``. It does not depend on the
    address, so that another server of the same repository cannot hand out older files."""
    return cache_directory() / "updates" / hashlib.sha256(root).hexdigest()[:32]


def _is_root(data: bytes) -> bool:
    """Return whether ``data`` looks like root metadata. The library tuf checks the rest when it uses the file."""
    try:
        return bool(json.loads(data)["signed"]["_type"] == "root")
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _no_root(path: Path, detail: str = "") -> UsageError:
    return UsageError(
        f"{path} is not the root metadata of a repository{detail}.",
        "Give the file root.json that `arenite update repository init` wrote.",
    )


def _url(location: str) -> str:
    """Return the address of a folder or a server, without a slash at its end."""
    if "://" not in location:
        path = Path(location).expanduser().resolve()
        if not path.is_dir():
            raise UsageError(
                f"There is no folder {location} with a repository.",
                "Give a folder that `arenite update repository init` made, or an address with https://.",
            )
        if not (path / "metadata").is_dir():
            raise UsageError(
                f"The folder {location} has no repository: the folder metadata is missing.",
                "Give a folder that `arenite update repository init` made.",
            )
        return path.as_uri().rstrip("/")
    parts = urlsplit(location)
    if parts.scheme not in ("http", "https", "file") or parts.query or parts.fragment or "@" in parts.netloc:
        raise UsageError(
            "The address of the repository is not of the form http://HOST/PATH, https://HOST/PATH or file:///PATH.",
            "Give an address without user name, password, query and fragment.",
        )
    return location.rstrip("/")
