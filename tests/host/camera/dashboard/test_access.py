"""Who may look at the dashboard."""

from __future__ import annotations

import socket
from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.errors import UsageError
from arenite.host.camera.dashboard.access import Access, AccessDecision, is_loopback

TOKEN = "sand-and-pressure"


def ask(
    access: Access,
    host: str | None = "127.0.0.1:80",
    given: str | None = None,
    cookie: str | None = None,
    **more: str,
) -> AccessDecision:
    headers = {"Host": host, **{k.replace("_", "-"): v for k, v in more.items()}}
    return access.check(lambda name: headers.get(name), given, cookie)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_loopback_needs_no_token(host: str) -> None:
    assert is_loopback(host) and Access(host, None).token is None


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.7", "camera.local", "", "localhost.evil.example"]
)
def test_elsewhere_a_token_is_required(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(UsageError, match=r"has no token\. Give --token auto"):
        Access(host, None)
    with pytest.raises(UsageError, match="has only 7 characters"):
        Access(host, "1234567")
    made = Access(host, "auto").token
    assert made is not None and len(made) >= 24 and made != Access(host, "auto").token


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:5", "localhost:8080", "LOCALHOST", "localhost.:1", "[::1]:9", "[::1]"]
)
def test_our_names_on_loopback(host: str) -> None:
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
def test_other_names_are_refused(host: str | None) -> None:
    assert ask(Access("127.0.0.1", None), host).status == HTTPStatus.MISDIRECTED_REQUEST


def test_bound_elsewhere_addresses_and_our_names_pass() -> None:
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


def test_ways_to_show_the_token() -> None:
    access = Access("0.0.0.0", TOKEN)
    assert ask(access).status == HTTPStatus.UNAUTHORIZED
    shown = ask(access, given=TOKEN)
    assert shown.status == HTTPStatus.OK and shown.cookie and TOKEN not in shown.cookie
    by_cookie = ask(access, cookie=shown.cookie)
    assert by_cookie == AccessDecision(HTTPStatus.OK)
    assert ask(access, Authorization=f"Bearer {TOKEN}") == AccessDecision(HTTPStatus.OK)
    assert ask(access, Authorization=f"bearer  {TOKEN} ") == AccessDecision(HTTPStatus.OK)
    # After a restart with the same token the cookie still counts; with another it does not.
    assert ask(Access("0.0.0.0", TOKEN), cookie=shown.cookie).status == HTTPStatus.OK
    assert ask(Access("0.0.0.0", TOKEN + "2"), cookie=shown.cookie).status == HTTPStatus.UNAUTHORIZED


@pytest.mark.parametrize("wrong", ["", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "\udcff", "ü"])
def test_wrong_tokens(wrong: str) -> None:
    access = Access("0.0.0.0", TOKEN)
    for verdict in (
        ask(access, given=wrong),
        ask(access, cookie=wrong),
        ask(access, cookie=TOKEN),
        ask(access, Authorization=f"Bearer {wrong}"),
        ask(access, Authorization=f"Basic {TOKEN}"),
    ):
        assert verdict.status == HTTPStatus.UNAUTHORIZED and not verdict.cookie


def test_what_another_sites_page_asks_for_is_refused() -> None:
    for access in (Access("127.0.0.1", None), Access("0.0.0.0", TOKEN)):
        more = {"Sec_Fetch_Site": "cross-site"}
        assert ask(access, given=TOKEN, Sec_Fetch_Mode="no-cors", **more).status == HTTPStatus.FORBIDDEN
        assert ask(access, given=TOKEN, Sec_Fetch_Mode="navigate", **more).status == HTTPStatus.OK


@given(st.text(), st.text(), st.text(), st.text())
def test_nothing_passes_by_chance_and_nothing_fails(host: str, given_: str, cookie: str, bearer: str) -> None:
    access = Access("0.0.0.0", TOKEN)
    verdict = ask(access, host, given_, cookie, Authorization=bearer)
    assert verdict.status in (HTTPStatus.MISDIRECTED_REQUEST, HTTPStatus.UNAUTHORIZED)
    assert ask(access, "127.0.0.1", given_, cookie, Authorization=f"Bearer {bearer}").status != HTTPStatus.OK
    assert (
        ask(Access("127.0.0.1", None), host).status == HTTPStatus.MISDIRECTED_REQUEST
        or "localhost" in host.lower()
    )


def test_a_token_on_loopback_counts_too() -> None:
    assert ask(Access("127.0.0.1", TOKEN)).status == HTTPStatus.UNAUTHORIZED
