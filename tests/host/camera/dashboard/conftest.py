"""A running dashboard for the tests of its server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from arenite.host.camera.dashboard.server import Dashboard


@pytest.fixture
def dashboard() -> Iterator[Dashboard]:
    """A running dashboard on this computer, without a token."""
    running_dashboard = Dashboard(title="door <camera>")
    running_dashboard.start()
    yield running_dashboard
    running_dashboard.close()
