"""Make and change a repository of models: a folder that any server of static files can serve.

Every change writes new files first and ``timestamp.json`` last. A client therefore sees the old state or the new one.
"""

# tuf and securesystemslib have no list of what they export.
# pyright: reportPrivateImportUsage=false
from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arenite.converters.tflite.image import parse_image
from arenite.errors import UnsupportedModelError, UsageError
from arenite.files import write_atomic
from arenite.host.update.repository.errors import missing_package
from arenite.host.update.repository.file_reader import read_file
from arenite.host.update.repository.model_target import ModelTarget, target_from_custom
from arenite.host.update.repository.signing_keys import read_signer
from arenite.host.update.repository.web_model import read_web_model
from arenite.locks import file_lock

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner
    from tuf.api.metadata import Metadata

#: The longest model and the longest metadata file that are read.
MAX_MODEL_BYTES, MAX_METADATA_BYTES = 2**31, 5_000_000
#: How many days the signatures with keys that are kept offline, and those with the online key, are valid.
OFFLINE_DAYS, ONLINE_DAYS = 365, 7
ROLES = ("root", "targets", "snapshot", "timestamp")


@dataclass(frozen=True)
class RoleKeys:
    """PEM files of private keys. ``root`` and ``targets`` can be kept offline. ``online`` signs snapshot and timestamp,
    which are renewed every few days. A key that a change does not need may be None."""

    root: Path | None = None
    targets: Path | None = None
    online: Path | None = None


@dataclass(frozen=True)
class Expiry:
    """How long new signatures are valid, from ``now`` on."""

    offline_days: float = OFFLINE_DAYS
    online_days: float = ONLINE_DAYS
    now: datetime | None = None  # None: the present time

    def date(self, role: str) -> datetime:
        days = self.offline_days if role in ("root", "targets") else self.online_days
        begin = datetime.now(UTC) if self.now is None else self.now
        return (begin + timedelta(days=days)).replace(microsecond=0)


def init_repository(folder: Path, keys: RoleKeys, expiry: Expiry = Expiry()) -> Path:
    """Make an empty repository in ``folder``, and return its trusted root, ``folder``/root.json.

    Raises ``UsageError`` if there is a repository already, a key is missing or unusable, or tuf is not installed.
    """
    _api()
    from tuf.api.metadata import Metadata, MetaFile, Root, Snapshot, Targets, Timestamp

    root_signer = _signer(keys.root, "root")
    targets_signer = _signer(keys.targets, "targets")
    online_signer = _signer(keys.online, "online")
    with _locked(folder):
        if (folder / "metadata").exists():
            raise UsageError(
                f"{folder} has a repository already.",
                "Give another folder, or use `arenite update repository add`.",
            )
        root = Root(expires=expiry.date("root"), consistent_snapshot=True)
        for role, signer in zip(
            ROLES, (root_signer, targets_signer, online_signer, online_signer), strict=True
        ):
            root.add_key(signer.public_key, role)
        root_file = _signed(Metadata(root), root_signer)
        targets = _signed(Metadata(Targets(expires=expiry.date("targets"))), targets_signer)
        snapshot = Snapshot(expires=expiry.date("snapshot"), meta={"targets.json": _meta_file(1, targets)})
        snapshot_file = _signed(Metadata(snapshot), online_signer)
        timestamp = Timestamp(expires=expiry.date("timestamp"), snapshot_meta=MetaFile(1))
        timestamp.snapshot_meta = _meta_file(1, snapshot_file)
        _write(folder, "1.targets", targets)
        _write(folder, "1.snapshot", snapshot_file)
        _write(folder, "timestamp", _signed(Metadata(timestamp), online_signer))
        (folder / "targets").mkdir(exist_ok=True)
        _write(folder, "1.root", root_file)
        write_atomic(folder / "root.json", root_file)
    return folder / "root.json"


def add_model(
    folder: Path,
    model: Path,
    name: str,
    version: str,
    keys: RoleKeys,
    *,
    counter: int | None = None,
    min_counter: int | None = None,
    expiry: Expiry = Expiry(),
) -> ModelTarget:
    """Publish the file ``model`` as the present version of the model ``name``, and return what clients will find. The
    folder of a page (``arenite web --page``) is published as a model for web pages.

    ``counter`` is by default one more than that of the version before, and ``min_counter`` is unchanged.

    Raises ``UsageError`` for a file that is no model, a counter that does not rise, a version that exists, a key that
    does not belong to the repository, or a folder without a repository, and ``ModelError`` for a damaged model.
    """
    modules: Mapping[str, bytes] = {}
    if model.is_dir():
        kind = "web"
        data, modules = read_web_model(model)
    else:
        data = read_file(model, MAX_MODEL_BYTES)
        kind = _kind(model, data)
    with _locked(folder):
        state = _RepositoryFiles(folder)
        before = state.target(name)
        lowest = before.min_counter if before is not None else 0
        target = ModelTarget(
            name,
            version,
            kind,
            (before.counter + 1 if before is not None else 1) if counter is None else counter,
            lowest if min_counter is None else min_counter,
            len(data),
            hashlib.sha256(data).hexdigest(),
        )
        if before is not None:
            _check_follows(before, target)
        state.sign_with("targets", _signer(keys.targets, "targets"))
        state.sign_with("snapshot", _signer(keys.online, "online"))
        for file, module in modules.items():
            hashed = f"{hashlib.sha256(module).hexdigest()}.{file}"
            write_atomic(folder / "targets" / name / hashed, module)
        write_atomic(folder / "targets" / f"{target.sha256}.{name}", data)
        state.set_target(target, data, modules)
        state.renew(("targets", "snapshot", "timestamp"), expiry)
    return target


def refresh_repository(folder: Path, keys: RoleKeys, expiry: Expiry = Expiry()) -> dict[str, datetime]:
    """Renew the dates of all metadata for which ``keys`` has a key. Return the date on which each role expires.

    The online key is needed. Raises ``UsageError``.
    """
    with _locked(folder):
        state = _RepositoryFiles(folder)
        state.sign_with("snapshot", _signer(keys.online, "online"))
        roles = ["snapshot", "timestamp"]
        if keys.targets is not None:
            state.sign_with("targets", _signer(keys.targets, "targets"))
            roles.insert(0, "targets")
        if keys.root is not None:
            state.sign_with("root", _signer(keys.root, "root"))
            roles.insert(0, "root")
        state.renew(tuple(roles), expiry)
        return state.expiry_dates()


class _RepositoryFiles:
    """The present metadata of a repository, and the signers for a change."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._metadata = folder / "metadata"
        versions = [_version_number(path) for path in self._metadata.glob("*.root.json")]
        if not any(versions):
            raise UsageError(
                f"{folder} has no repository.", "Make one: arenite update repository init --help tells how."
            )
        _api()
        self._roles: dict[str, Metadata[Any]] = {"root": self._read(f"{max(versions)}.root.json")}
        self._roles["timestamp"] = self._read("timestamp.json")
        number = self._roles["timestamp"].signed.snapshot_meta.version
        self._roles["snapshot"] = self._read(f"{number}.snapshot.json")
        number = self._roles["snapshot"].signed.meta["targets.json"].version
        self._roles["targets"] = self._read(f"{number}.targets.json")
        self._signers: dict[str, CryptoSigner] = {}

    def _read(self, name: str) -> Metadata[Any]:
        from tuf.api.exceptions import RepositoryError
        from tuf.api.metadata import Metadata

        path = self._metadata / name
        try:
            metadata: Metadata[Any] = Metadata.from_bytes(read_file(path, MAX_METADATA_BYTES))
        except RepositoryError as error:
            raise UsageError(
                f"{path} is damaged ({error}).", "Restore the folder of the repository from a copy."
            ) from error
        return metadata

    def target(self, name: str) -> ModelTarget | None:
        info = self._roles["targets"].signed.targets.get(name)
        if info is None:
            return None
        return target_from_custom(name, info.length, info.hashes.get("sha256"), info.custom)

    def set_target(self, target: ModelTarget, data: bytes, modules: Mapping[str, bytes]) -> None:
        """Name the file of ``target``, and the modules of a model for web pages, as the targets NAME/FILE."""
        from tuf.api.metadata import TargetFile

        targets = self._roles["targets"].signed.targets
        for before in [path for path in targets if path.startswith(f"{target.name}/")]:
            del targets[before]
        for file, module in modules.items():
            path = f"{target.name}/{file}"
            targets[path] = TargetFile.from_data(path, module, ["sha256"])
        info = TargetFile.from_data(target.name, data, ["sha256"])
        info.unrecognized_fields["custom"] = target.custom()
        targets[target.name] = info

    def sign_with(self, role: str, signer: CryptoSigner) -> None:
        """Use ``signer`` for the metadata ``role``; for "snapshot", also for the timestamp. Raises ``UsageError`` if
        the
        key is not one of this role."""
        for each in ("snapshot", "timestamp") if role == "snapshot" else (role,):
            if signer.public_key.keyid not in self._roles["root"].signed.roles[each].keyids:
                raise UsageError(
                    f"The key for {each} is not the one with which {self._folder} was made.",
                    "Give the key that `arenite update repository init` got.",
                )
            self._signers[each] = signer

    def renew(self, roles: tuple[str, ...], expiry: Expiry) -> None:
        """Sign the metadata ``roles`` with a new version and date, and write the files, ``timestamp.json`` last."""
        for role in roles:  # in the order of ``ROLES``
            metadata = self._roles[role]
            metadata.signed.version += 1
            metadata.signed.expires = expiry.date(role)
            if role == "snapshot":
                targets = self._roles["targets"]
                metadata.signed.meta["targets.json"] = _meta_file(targets.signed.version, _bytes(targets))
            elif role == "timestamp":
                snapshot = self._roles["snapshot"]
                metadata.signed.snapshot_meta = _meta_file(snapshot.signed.version, _bytes(snapshot))
            _signed(metadata, self._signers[role])
        for role in roles:
            number = "" if role == "timestamp" else f"{self._roles[role].signed.version}."
            _write(self._folder, f"{number}{role}", _bytes(self._roles[role]))

    def expiry_dates(self) -> dict[str, datetime]:
        return {role: self._roles[role].signed.expires for role in ROLES}


def _check_follows(before: ModelTarget, target: ModelTarget) -> None:
    if target.version == before.version:
        raise UsageError(
            f"The repository has {before.name} {before.version} already.", "Give another version."
        )
    # A page takes only modules for pages, and a camera everything else, so clients of the old kind would be left alone.
    if (target.kind == "web") != (before.kind == "web"):
        raise UsageError(
            f"{before.name} {before.version} has the kind '{before.kind}', and {target.version} would have"
            f" '{target.kind}'.",
            "Give models of pages and models of cameras different names.",
        )
    if target.counter <= before.counter:
        raise UsageError(
            f"The counter {target.counter} is not higher than that of {before.name} {before.version}, "
            f"{before.counter}.",
            "Leave out --counter, or give a higher one.",
        )
    if target.min_counter < before.min_counter:
        raise UsageError(
            f"The lowest counter {target.min_counter} is below that of {before.name} {before.version}, "
            f"{before.min_counter}, which clients remember.",
            "Leave out --min-counter, or give a higher one.",
        )


def _kind(path: Path, data: bytes) -> str:
    if path.suffix.lower() == ".onnx":
        return "onnx"
    if data[4:8] != b"TFL3":
        raise UsageError(
            f"{path} is not a model for the camera loop.", "Give a .tflite file, an image or a .onnx file."
        )
    try:
        return "image" if parse_image(data, str(path)).tool else "tflite"
    except UnsupportedModelError:
        return "tflite"  # a runtime may know operators that Arenite does not


def _signer(path: Path | None, role: str) -> CryptoSigner:
    if path is None:
        raise UsageError(f"The {role} key is missing.", f"Give --{role}-key FILE.")
    return read_signer(path)


def _signed(metadata: Metadata[Any], signer: CryptoSigner) -> bytes:
    metadata.sign(signer)
    return _bytes(metadata)


def _bytes(metadata: Metadata[Any]) -> bytes:
    from tuf.api.serialization.json import JSONSerializer

    return metadata.to_bytes(JSONSerializer(compact=False))


def _meta_file(version: int, data: bytes) -> Any:
    from tuf.api.metadata import MetaFile

    return MetaFile(version, len(data), {"sha256": hashlib.sha256(data).hexdigest()})


def _write(folder: Path, name: str, data: bytes) -> None:
    write_atomic(folder / "metadata" / f"{name}.json", data)


def _version_number(path: Path) -> int:
    number = path.name.partition(".")[0]
    return int(number) if number.isdecimal() else 0


def _api() -> None:
    try:
        import tuf.api.metadata  # noqa: F401
    except ImportError as error:
        raise missing_package(error) from error


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one process at a time change the repository."""
    try:
        with file_lock(folder / ".lock"):
            yield
    except OSError as error:
        raise UsageError(
            f"Cannot change {folder}: {error.strerror or error}.", "Give a folder that you may write to."
        ) from error
