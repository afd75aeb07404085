"""Tests that the dashboard limits and reports attempts to guess its token."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from arenite.host.camera.dashboard.server import Dashboard
from arenite.host.http_server import login_attempts, request_handler
from arenite.host.http_server.login_attempts import MAX_WRONG, WAIT_S, WINDOW_S, LoginAttempts
from tests.host.camera.dashboard.client import connect, get

TOKEN = "sand-and-pressure"


class Clock:
    """A clock that the tests set by hand."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def attempts(clock: Clock, reports: list[str]) -> LoginAttempts:
    """The counter of attempts, with a clock set by hand. Its messages are appended to ``reports``."""
    return LoginAttempts(reports.append, clock)


def test_many_different_wrong_values_make_an_address_wait(
    attempts: LoginAttempts, clock: Clock, reports: list[str]
) -> None:
    for k in range(MAX_WRONG - 1):
        attempts.failed("192.0.2.1", f"guess {k}")
        assert attempts.wait_s("192.0.2.1") == 0
    attempts.failed("192.0.2.1", "another guess")
    assert attempts.wait_s("192.0.2.1") == WAIT_S and attempts.wait_s("192.0.2.2") == 0
    clock.now_s += WAIT_S
    assert attempts.wait_s("192.0.2.1") == 0
    assert len(reports) == 2 and all("192.0.2.1" in text and "guess" not in text for text in reports)


def test_the_same_wrong_value_counts_once(attempts: LoginAttempts, reports: list[str]) -> None:
    for _ in range(10 * MAX_WRONG):
        attempts.failed("192.0.2.1", "the cookie of an earlier run")
    assert attempts.wait_s("192.0.2.1") == 0 and len(reports) == 1


def test_old_attempts_are_forgotten(attempts: LoginAttempts, clock: Clock) -> None:
    for k in range(3 * MAX_WRONG):
        # The attempts are so slow that fewer than MAX_WRONG of them are in any window.
        clock.now_s += 1.1 * WINDOW_S / (MAX_WRONG - 1)
        attempts.failed("192.0.2.1", f"typing error {k}")
        assert attempts.wait_s("192.0.2.1") == 0


def test_memory_and_reports_are_limited(attempts: LoginAttempts, reports: list[str]) -> None:
    for k in range(3 * login_attempts._MAX_NETWORKS):
        attempts.failed(f"192.0.2.{k}", "\udcff")  # a byte that is not valid UTF-8
    assert len(attempts._networks) == login_attempts._MAX_NETWORKS
    assert len(reports) == login_attempts._MAX_REPORTS + 1 and "no further attempts" in reports[-1]


@pytest.fixture
def reports_of_server() -> list[str]:
    return []


@pytest.fixture
def server(reports_of_server: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Dashboard]:
    """A running dashboard with a token, which refuses wrong tokens without a delay."""
    monkeypatch.setattr(request_handler, "_WRONG_TOKEN_DELAY_S", 0.0)
    dashboard = Dashboard("0.0.0.0", token=TOKEN, report=reports_of_server.append)
    dashboard.start()
    with contextlib.closing(dashboard):
        yield dashboard


def _guess(way: str, guess: str, server: Dashboard) -> tuple[str, dict[str, Any]]:
    """Return the path and the headers of a request that guesses the token in one of three ways."""
    if way == "address":
        return f"/state?token={guess}", {}
    if way == "header":
        return "/state", {"Authorization": f"Bearer {guess}"}
    port = server.url.split(":")[2].split("/")[0]
    return "/state", {"Cookie": f"arenite_{port}={guess}"}


@pytest.mark.parametrize("way", ["address", "header", "cookie"])
def test_guessing_is_limited_in_every_way_to_give_a_token(
    server: Dashboard, reports_of_server: list[str], way: str
) -> None:
    for k in range(MAX_WRONG):
        path, headers = _guess(way, f"wrong-{k}", server)
        assert get(server, path, **headers)[0] == 401
    for guess in ("wrong-again", TOKEN):
        path, headers = _guess(way, guess, server)
        status, answer, _ = get(server, path, **headers)
        assert status == 429 and 0 < int(answer["Retry-After"]) <= WAIT_S + 1
    # Requests without a token are answered as before.
    assert get(server, "/state")[0] == 401 and get(server, "/healthz")[0] == 503
    assert len(reports_of_server) == 2 and "127.0.0.1" in reports_of_server[1]
    assert not any("wrong-" in text or TOKEN in text for text in reports_of_server)


def test_a_connection_that_showed_the_token_goes_on(server: Dashboard) -> None:
    owner = connect(server)
    with contextlib.closing(owner):
        authorization = {"Authorization": f"Bearer {TOKEN}"}
        owner.request("GET", "/state", headers=authorization)
        assert json.loads(owner.getresponse().read()) == {}
        for k in range(MAX_WRONG):
            get(server, f"/?token=wrong-{k}")
        assert get(server, "/state", **authorization)[0] == 429
        owner.request("GET", "/state", headers=authorization)
        assert owner.getresponse().status == 200


def test_a_page_with_an_old_cookie_does_not_lock_its_user_out(server: Dashboard) -> None:
    path, headers = _guess("cookie", "f" * 64, server)
    for _ in range(3 * MAX_WRONG):
        assert get(server, path, **headers)[0] == 401
    assert get(server, f"/?token={TOKEN}", **headers)[0] == 303
