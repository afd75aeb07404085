"""Valid inputs of the fuzz targets of ``server_targets.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterable

_TOKEN = b"Authorization: Bearer sand-and-pressure\r\n"
_HOST = b"Host: 127.0.0.1:80\r\n"


def http_requests() -> Iterable[bytes]:
    from arenite.host.http_server.access import Access

    access = Access("localhost", "sand-and-pressure")
    session = access.check({"Host": "localhost"}.get, access.token, None).cookie
    cookie = f"Cookie: a=b; {access.cookie_name(80)}={session}\r\n".encode()
    for path in (
        b"/",
        b"/page.js",
        b"/events",
        b"/frame?after=1&camera=0",
        b"/metrics",
        b"/answers",
        b"/state",
        b"/log",
        b"/healthz",
        b"/favicon.ico",
        b"/x?token=a",
    ):
        yield b"GET " + path + b" HTTP/1.1\r\n" + _HOST + _TOKEN + b"\r\n"
    yield b"GET /log?token=sand-and-pressure HTTP/1.1\r\n" + _HOST + b"\r\n"
    yield b"GET /log HTTP/1.1\r\nHost: [::1]:80\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\r\n"
    yield b"HEAD / HTTP/1.0\r\n" + _HOST + cookie + b"\r\n"
    yield 2 * (b"GET /state HTTP/1.1\r\n" + _HOST + cookie + b"\r\n")
    yield b"POST / HTTP/1.1\r\n" + _HOST + _TOKEN + b"Content-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n\r\n"


def page_requests() -> Iterable[bytes]:
    for path in (b"/", b"/model.wasm", b"/authority.crt", b"/favicon.ico", b"/../data/labels.txt"):
        yield b"GET " + path + b" HTTP/1.1\r\n" + _HOST + _TOKEN + b"\r\n"
    query = b"?label=dog&answer=%5B%5B%22dog%22%2C%2290+%25%22%5D%5D"
    sample = (
        b"POST /collect"
        + query
        + b" HTTP/1.1\r\n"
        + _HOST
        + _TOKEN
        + b"Content-Length: 16\r\n\r\n"
        + bytes(16)
    )
    empty = b"POST /collect" + query + b" HTTP/1.1\r\n" + _HOST + _TOKEN + b"Content-Length: 0\r\n\r\n"
    yield from (sample, 2 * sample, empty + sample)
    yield sample.replace(_TOKEN, _TOKEN + b"Sec-Fetch-Site: cross-site\r\n")
    yield sample.replace(b"label=dog", b"label=..%2Fdog").replace(
        b"Content-Length: 16", b"Content-Length: 17"
    )
    yield sample.replace(b"%5B%5B", b"NaN")


SERVER_CORPORA: dict[str, Callable[[], Iterable[bytes]]] = {
    "http_requests": http_requests,
    "page_requests": page_requests,
}
