"""Write what a broker and the servers of a fleet need: certificates, and the configuration of mosquitto.

The folder belongs to the computer of the server. Its part ``broker`` is all that the computer of the broker needs; the
key of the authority is not in it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding

from arenite.errors import UsageError
from arenite.files import replace_file
from arenite.host.fleet.security.authority import (
    CERTIFICATE_FILE,
    SERVER_DAYS,
    FleetAuthority,
    create_authority,
    load_authority,
    new_key,
)
from arenite.host.fleet.topics import check_name
from arenite.host.http_server.certificates import key_pem

#: The user name of the server at the broker. The name of a device never begins so.
SERVER_USER = "@server"
#: What the user name of an operator begins with: somebody who sends requests of the update protocol to devices.
OPERATOR_PREFIX = "@operator-"
#: The folder for the computer of the broker, and the list of revoked certificates in it.
BROKER_FOLDER, REVOKED_FILE = "broker", "revoked.pem"
#: The account as which Debian runs mosquitto. It drops root's rights before it reads the key.
_MOSQUITTO_ACCOUNT = "mosquitto"
_MAX_USER = 64  # the longest common name of a certificate

_CONFIG = """# Written by `arenite fleet broker`. The broker of the fleet {fleet}.
listener {port}
cafile {folder}/authority.pem
certfile {folder}/broker.pem
keyfile {folder}/broker.key
crlfile {folder}/revoked.pem
# Each client needs a certificate of the authority. Its common name is its user name, and its client identifier too, so
# that no client can end the connection of another one.
require_certificate true
use_identity_as_username true
use_username_as_clientid true
allow_anonymous false
acl_file {folder}/acl
"""
_ACL_SERVER = """user {user}
topic readwrite arenite/{fleet}/#
topic readwrite $share/arenite-fleet-{fleet}/arenite/{fleet}/#

"""
# The topics of an operator end with its user name, so that operators neither see nor imitate each other.
_ACL_OPERATOR = """user {user}
topic write arenite/{fleet}/+/smp/request/{user}
topic read arenite/{fleet}/+/smp/answer/{user}
topic read arenite/{fleet}/+/status

"""
_ACL_DEVICES = """pattern write arenite/{fleet}/%u/events
pattern write arenite/{fleet}/%u/status
pattern read arenite/{fleet}/%u/acknowledged
pattern read arenite/{fleet}/%u/desired
pattern read arenite/{fleet}/%u/smp/request/+
pattern write arenite/{fleet}/%u/smp/answer/+
"""


@dataclass(frozen=True, slots=True)
class BrokerFiles:
    authority: FleetAuthority
    config: Path
    valid_until: datetime  # the end of the certificates of the broker and of the servers


def server_user(worker: str) -> str:
    """Return the user name of the server with the name ``worker``; "" is the server without one."""
    return f"{SERVER_USER}-{worker}" if worker else SERVER_USER


def write_broker_files(
    folder: Path,
    fleet: str,
    hosts: Iterable[str],
    port: int,
    workers: tuple[str, ...] = (),
    operators: tuple[str, ...] = (),
) -> BrokerFiles:
    """Write the files of the broker with the names ``hosts``, and a certificate for the server, for each of
    ``workers`` and for each of ``operators``.

    An authority that is in ``folder`` already stays, and all other certificates get a new key and a new end. Raises
    ``UsageError`` if the folder has another fleet, or cannot be written.
    """
    check_name("fleet", fleet)
    for kind, names, prefix in (
        ("worker", workers, f"{SERVER_USER}-"),
        ("operator", operators, OPERATOR_PREFIX),
    ):
        for name in names:
            check_name(kind, name)
            if len(prefix + name) > _MAX_USER:
                raise UsageError(
                    f"The name '{name}' of a {kind} is too long for a certificate.", "Give a shorter one."
                )
    servers = [server_user(worker) for worker in ("", *workers)]
    people = [OPERATOR_PREFIX + operator for operator in operators]
    try:
        return _write(folder.resolve(), fleet, list(hosts), port, servers, people)
    except OSError as error:
        raise UsageError(
            f"Cannot write {error.filename or folder}: {error.strerror or error}.",
            "Give a folder that you may write to.",
        ) from error


def _write(
    folder: Path, fleet: str, hosts: list[str], port: int, servers: list[str], operators: list[str]
) -> BrokerFiles:
    if (folder / CERTIFICATE_FILE).exists():
        authority = load_authority(folder)
    else:
        authority = create_authority(folder, fleet)
    if authority.fleet != fleet:
        raise UsageError(
            f"{folder} has the certificates of the fleet '{authority.fleet}', not '{fleet}'.",
            "Give another folder, or the fleet of this one.",
        )
    broker = folder / BROKER_FOLDER
    key = new_key()
    certificate = authority.certify_server("broker", key.public_key(), hosts)
    replace_file(broker / "broker.key", key_pem(key), private=True)
    replace_file(broker / "broker.pem", certificate.public_bytes(Encoding.PEM))
    replace_file(broker / CERTIFICATE_FILE, authority.certificate_pem)
    if not (broker / REVOKED_FILE).exists():
        write_revocation_list(folder, authority, ())
    acl = "".join(_ACL_SERVER.format(user=user, fleet=fleet) for user in servers)
    acl += "".join(_ACL_OPERATOR.format(user=user, fleet=fleet) for user in operators)
    replace_file(broker / "acl", (acl + _ACL_DEVICES.format(fleet=fleet)).encode())
    config = _CONFIG.format(fleet=fleet, port=port, folder=broker)
    replace_file(broker / "mosquitto.conf", config.encode())
    for user in (*servers, *operators):
        key = new_key()
        name = user.removeprefix("@")
        pem = authority.certify_client(user, key.public_key(), SERVER_DAYS).public_bytes(Encoding.PEM)
        replace_file(folder / f"{name}.key", key_pem(key), private=True)
        replace_file(folder / f"{name}.pem", pem)
    if os.name == "posix" and os.getuid() == 0:
        _give_to_mosquitto(broker / "broker.key")
    return BrokerFiles(authority, broker / "mosquitto.conf", certificate.not_valid_after_utc)


def write_revocation_list(
    folder: Path, authority: FleetAuthority, revoked: Iterable[tuple[int, datetime]]
) -> Path:
    """Write the list of revoked certificates for the broker, and return its path. Raises ``OSError``."""
    path = folder / BROKER_FOLDER / REVOKED_FILE
    replace_file(path, authority.revocation_list(revoked))
    return path


def _give_to_mosquitto(path: Path) -> None:
    # Without such an account, mosquitto runs as another one.
    with contextlib.suppress(LookupError):
        shutil.chown(path, _MOSQUITTO_ACCOUNT)
