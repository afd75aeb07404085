"""Tests of the access control of the HTTP server: host names, tokens and cookies."""

from __future__ import annotations

import socket
from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.errors import UsageError
from arenite.host.http_server.access import Access, AccessDecision, is_loopback

TOKEN = "sand-and-pressure"


def ask(
    access: Access,
    host: str | None = "127.0.0.1:80",
    token: str | None = None,
    cookie: str | None = None,
    **more: str,
) -> AccessDecision:
    """Return the decision on a request. ``token`` is the one in its address, and ``more`` has further headers. In their
    names, ``_`` stands for ``-``."""
    headers = {"Host": host, **{k.replace("_", "-"): v for k, v in more.items()}}
    return access.check(lambda name: headers.get(name), token, cookie)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_loopback_needs_no_token(host: str) -> None:
    assert is_loopback(host) and Access(host, None).token is None


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.7", "camera.local", "", "localhost.evil.example"]
)
def test_other_addresses_require_a_token(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(UsageError, match=r"has no token\. Give --token auto"):
        Access(host, None)
    with pytest.raises(UsageError, match="has only 7 characters"):
        Access(host, "1234567")
    token = Access(host, "auto").token
    assert token is not None and len(token) >= 24 and token != Access(host, "auto").token


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:5", "localhost:8080", "LOCALHOST", "localhost.:1", "[::1]:9", "[::1]"]
)
def test_names_of_loopback_are_accepted(host: str) -> None:
    assert ask(Access("127.0.0.1", None), host).status == HTTPStatus.OK


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "192.168.1.7",
        "[2001:db8::1]:80",
        "[",
        "a]b",
    ],
)
def test_other_host_names_are_rejected(host: str | None) -> None:
    assert ask(Access("127.0.0.1", None), host).status == HTTPStatus.MISDIRECTED_REQUEST


def test_addresses_and_own_names_are_accepted_on_all_interfaces() -> None:
    access = Access("0.0.0.0", TOKEN, ("door.example",))
    own = socket.gethostname()
    for host in (
        "192.168.1.7:80",
        "[2001:db8::1]:80",
        own,
        f"{own}.local:1",
        "door.example",
        "Door.Example:8000",
    ):
        assert ask(access, host, TOKEN).status == HTTPStatus.OK
    assert ask(access, "evil.example", TOKEN).status == HTTPStatus.MISDIRECTED_REQUEST


def test_the_token_is_accepted_as_a_parameter_a_cookie_or_a_header() -> None:
    access = Access("0.0.0.0", TOKEN)
    assert ask(access).status == HTTPStatus.UNAUTHORIZED
    decision = ask(access, token=TOKEN)
    assert decision.status == HTTPStatus.OK and decision.cookie and TOKEN not in decision.cookie
    by_cookie = ask(access, cookie=decision.cookie)
    assert by_cookie == AccessDecision(HTTPStatus.OK)
    assert ask(access, Authorization=f"Bearer {TOKEN}") == AccessDecision(HTTPStatus.OK)
    assert ask(access, Authorization=f"bearer  {TOKEN} ") == AccessDecision(HTTPStatus.OK)
    # After a restart with the same token the cookie is still valid, after a restart with another token it is not.
    assert ask(Access("0.0.0.0", TOKEN), cookie=decision.cookie).status == HTTPStatus.OK
    assert ask(Access("0.0.0.0", TOKEN + "2"), cookie=decision.cookie).status == HTTPStatus.UNAUTHORIZED


@pytest.mark.parametrize("wrong", ["", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "\udcff", "ü"])
def test_wrong_tokens_are_rejected(wrong: str) -> None:
    access = Access("0.0.0.0", TOKEN)
    for verdict in (
        ask(access, token=wrong),
        ask(access, cookie=wrong),
        ask(access, cookie=TOKEN),
        ask(access, Authorization=f"Bearer {wrong}"),
        ask(access, Authorization=f"Basic {TOKEN}"),
    ):
        assert verdict.status == HTTPStatus.UNAUTHORIZED and not verdict.cookie


def test_requests_from_pages_of_other_sites_are_rejected() -> None:
    for access in (Access("127.0.0.1", None), Access("0.0.0.0", TOKEN)):
        more = {"Sec_Fetch_Site": "cross-site"}
        assert ask(access, token=TOKEN, Sec_Fetch_Mode="no-cors", **more).status == HTTPStatus.FORBIDDEN
        assert ask(access, token=TOKEN, Sec_Fetch_Mode="navigate", **more).status == HTTPStatus.OK


@given(st.text(), st.text(), st.text(), st.text())
def test_random_headers_never_pass_and_never_crash(host: str, token: str, cookie: str, bearer: str) -> None:
    access = Access("0.0.0.0", TOKEN)
    verdict = ask(access, host, token, cookie, Authorization=bearer)
    assert verdict.status in (HTTPStatus.MISDIRECTED_REQUEST, HTTPStatus.UNAUTHORIZED)
    assert ask(access, "127.0.0.1", token, cookie, Authorization=f"Bearer {bearer}").status != HTTPStatus.OK
    assert (
        ask(Access("127.0.0.1", None), host).status == HTTPStatus.MISDIRECTED_REQUEST
        or "localhost" in host.lower()
    )


def test_a_token_that_is_given_is_required_on_loopback_too() -> None:
    assert ask(Access("127.0.0.1", TOKEN)).status == HTTPStatus.UNAUTHORIZED
