"""The address of a device behind a gateway: ``mqtts://HOST[:PORT]/FLEET/DEVICE?ca=FILE&cert=FILE&key=FILE``."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, replace
from pathlib import Path

from arenite.errors import UsageError
from arenite.host.fleet.security.package import require_cryptography
from arenite.host.fleet.topics import check_name, is_operator
from arenite.host.mqtt.broker_address import BrokerAddress, refuse_options, split_broker_url

#: The variable with the password of a user whose password is not in the address.
PASSWORD_VARIABLE = "ARENITE_BROKER_PASSWORD"
_HINT = (
    "Give mqtt://[USER[:PASSWORD]@]HOST[:PORT]/FLEET/DEVICE, or mqtts://HOST[:PORT]/FLEET/DEVICE?ca=FILE&cert=FILE"
    "&key=FILE for TLS."
)


@dataclass(frozen=True, slots=True)
class DeviceUrl:
    broker: BrokerAddress
    fleet: str
    device: str
    operator: str  # the level of the topics that belongs to this user of the broker

    @property
    def name(self) -> str:
        """The address without user, password and files, for messages."""
        return f"{self.broker.name}/{self.fleet}/{self.device}"


def is_device_url(port: str) -> bool:
    return port.startswith(("mqtt://", "mqtts://"))


def parse_device_url(url: str) -> DeviceUrl:
    """Parse the address of a device. The operator is the common name of the certificate, as mosquitto takes it for the
    user name, or the user, or else a random name.

    Raises:
        UsageError: The address is malformed, or a file of it cannot be used. The text never contains the password.
    """
    broker, path, options = split_broker_url(url, _HINT)
    refuse_options(options, _HINT)
    fleet, separator, device = path.partition("/")
    if not separator:
        raise UsageError(f"The address {broker.name} names no fleet and device.", _HINT)
    check_name("fleet", fleet)
    check_name("device", device)
    if broker.user is not None and broker.password is None:
        broker = replace(broker, password=os.environ.get(PASSWORD_VARIABLE))
    if broker.cert is not None:
        operator, where = _common_name(Path(broker.cert)), f"The certificate {broker.cert}"
    elif broker.user is not None:
        operator, where = broker.user, "The MQTT address"
    else:
        operator, where = f"operator-{secrets.token_hex(4)}", ""
    if not is_operator(operator):
        raise UsageError(
            f"{where} has the user name '{operator[:80]}', which cannot be a part of a topic.",
            "Use a name of up to 64 letters, digits, dots, dashes and underscores, such as that of"
            " `arenite fleet broker --operator NAME`.",
        )
    return DeviceUrl(broker, fleet, device, operator)


def _common_name(path: Path) -> str:
    require_cryptography()
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"The certificate {path} cannot be read: {error}.", "Give a PEM file.") from error
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if names else ""
