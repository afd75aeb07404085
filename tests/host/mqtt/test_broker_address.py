"""Addresses of brokers, and certificates that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.host.mqtt.broker_address import BrokerAddress, parse_broker_address
from arenite.host.mqtt.client import make_client


def test_addresses_of_brokers(tmp_path: Path) -> None:
    assert parse_broker_address("broker") == BrokerAddress("broker", 1883)
    address = parse_broker_address("mqtts://ann:p%40ss@broker")
    assert (address.port, address.is_encrypted, address.user, address.password) == (8883, True, "ann", "p@ss")
    assert "p@ss" not in address.name
    (tmp_path / "ca.pem").touch()
    assert parse_broker_address(f"mqtts://broker?ca={tmp_path}/ca.pem").ca == f"{tmp_path}/ca.pem"
    for text in (
        "",
        "mqtt://broker/topic",
        "mqtt://broker?x=1",
        "mqtts://broker?ca=none.pem",
        "mqtt://a:secret@:x",
    ):
        with pytest.raises(UsageError) as refused:
            parse_broker_address(text)
        assert "secret" not in str(refused.value)
    with pytest.raises(UsageError, match="cannot be used"):
        make_client(parse_broker_address(f"mqtts://broker?ca={tmp_path}/ca.pem"), "x", is_persistent=False)
