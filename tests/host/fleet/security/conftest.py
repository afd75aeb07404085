"""The broker of the tests with certificates."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.host.fleet.security.secure_broker import SecureBroker, secure_broker


@pytest.fixture
def broker() -> Iterator[SecureBroker]:
    with secure_broker() as broker:
        yield broker
