"""Make MQTT clients that are not connected yet."""

from __future__ import annotations

from typing import Any

from arenite.errors import UsageError
from arenite.host.mqtt.broker_address import BrokerAddress


def make_client(
    broker: BrokerAddress,
    client_id: str,
    *,
    is_persistent: bool,
    manual_ack: bool = False,
    extra: str = "fleet",
    is_version_5: bool = False,
) -> Any:
    """Return a client of paho-mqtt. With ``is_persistent``, the broker keeps messages of QoS 1 for it while it is away.
    ``is_version_5``: it speaks MQTT 5 instead of MQTT 3.1.1, so that the broker tells what it does not deliver; such a
    client is not persistent. ``extra`` is the extra of Arenite that installs paho-mqtt. Raises ``UsageError`` if
    paho-mqtt is missing or a certificate cannot be used."""
    try:
        import paho.mqtt.client as mqtt
    except ImportError as error:
        raise UsageError("MQTT needs paho-mqtt.", f"Install it: pip install 'arenite[{extra}]'.") from error
    client = mqtt.Client(
        mqtt.CallbackAPIVersion.VERSION2,  # type: ignore[attr-defined]
        client_id=client_id,
        clean_session=None if is_version_5 else not is_persistent,
        protocol=mqtt.MQTTv5 if is_version_5 else mqtt.MQTTv311,
        manual_ack=manual_ack,
    )
    if broker.user is not None:
        client.username_pw_set(broker.user, broker.password)
    if broker.is_encrypted:
        try:
            client.tls_set(ca_certs=broker.ca, certfile=broker.cert, keyfile=broker.key)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"The certificates for {broker.name} cannot be used: {error}.", "Give PEM files."
            ) from error
    return client
