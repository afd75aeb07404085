"""Exchange the keys of a repository with the library tuf, as a publisher would."""

# tuf.api.metadata is the public interface of tuf, but pyright takes its names for private ones.
# pyright: reportPrivateImportUsage=false
from __future__ import annotations

from typing import Any

from arenite.host.update.keys import generate_key
from arenite.host.update.repository.signing_keys import read_signer
from tests.host.web.updates.update_site import Site


def rotate_roots(site: Site, counter: int | None = None) -> None:
    """Write the versions 2 and 3 of the root: new keys for all roles but the root, then a new key of the root. The new
    keys are ``new-ROLE.pem`` in the folder of the site. With ``counter``, the model then has this counter, which the
    publisher's tool does not permit."""
    from tuf.api.metadata import Metadata

    for name in ("root", "targets", "online"):
        generate_key(site.folder / f"new-{name}.pem")
    old_root = read_signer(site.versions / "root.pem")
    signers = {name: read_signer(site.folder / f"new-{name}.pem") for name in ("root", "targets", "online")}
    metadata = site.repository / "metadata"
    root: Metadata[Any] = Metadata.from_file(str(metadata / "1.root.json"))
    for role in ("targets", "snapshot", "timestamp"):
        root.signed.revoke_key(root.signed.roles[role].keyids[0], role)
        root.signed.add_key(signers["targets" if role == "targets" else "online"].public_key, role)
    root.signed.version = 2
    root.sign(old_root)
    root.to_file(str(metadata / "2.root.json"))
    root.signed.revoke_key(old_root.public_key.keyid, "root")
    root.signed.add_key(signers["root"].public_key, "root")
    root.signed.version = 3
    root.sign(old_root)
    root.sign(signers["root"], append=True)
    root.to_file(str(metadata / "3.root.json"))
    _renew(site, signers, counter)


def _renew(site: Site, signers: dict[str, Any], counter: int | None) -> None:
    """Sign the other metadata with the new keys, each with its next version."""
    from tuf.api.metadata import Metadata, MetaFile

    metadata = site.repository / "metadata"
    timestamp: Metadata[Any] = Metadata.from_file(str(metadata / "timestamp.json"))
    number = timestamp.signed.snapshot_meta.version
    snapshot: Metadata[Any] = Metadata.from_file(str(metadata / f"{number}.snapshot.json"))
    number = snapshot.signed.meta["targets.json"].version
    targets: Metadata[Any] = Metadata.from_file(str(metadata / f"{number}.targets.json"))
    if counter is not None:
        properties = targets.signed.targets["net"].unrecognized_fields["custom"]["arenite"]
        properties["counter"] = properties["min_counter"] = counter
    for role, signer in ((targets, "targets"), (snapshot, "online"), (timestamp, "online")):
        role.signed.version += 1
        if role is snapshot:
            snapshot.signed.meta["targets.json"] = MetaFile(targets.signed.version)
        if role is timestamp:
            timestamp.signed.snapshot_meta = MetaFile(snapshot.signed.version)
        role.sign(signers[signer])
    targets.to_file(str(metadata / f"{targets.signed.version}.targets.json"))
    snapshot.to_file(str(metadata / f"{snapshot.signed.version}.snapshot.json"))
    timestamp.to_file(str(metadata / "timestamp.json"))
