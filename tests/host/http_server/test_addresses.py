"""Tests of the addresses of servers."""

from __future__ import annotations

import pytest

from arenite.errors import UsageError
from arenite.host.http_server.addresses import parse_address, url_of


def test_addresses_are_parsed() -> None:
    assert parse_address(":8080") == ("127.0.0.1", 8080)
    assert parse_address("0.0.0.0") == ("0.0.0.0", 0)
    assert parse_address("[::1]:80") == ("::1", 80)
    for text in ("host:port", "host:70000", "a:b:c", "8080"):
        with pytest.raises(UsageError):
            parse_address(text)


def test_urls_can_be_opened_by_browsers() -> None:
    assert url_of("127.0.0.1", 80, is_encrypted=False) == "http://127.0.0.1:80/"
    assert url_of("::1", 8443, is_encrypted=True) == "https://[::1]:8443/"
    assert "0.0.0.0" not in url_of("0.0.0.0", 8443, is_encrypted=True)
