"""Find request headers that a proxy and this server may interpret differently.

If two servers disagree about the end of a request, a client can hide a second request in the first one, and the answer
to the second request goes to another client (request smuggling, RFC 9112, section 11.2). Such requests are refused,
although h11 accepts some of them, such as headers that continue on a second line.
"""

from __future__ import annotations

import re

_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\r\n\0]*)")
#: Headers that may be present only once, because one server may use the first of several, and another server the last.
_SINGLE = ("Content-Length", "Transfer-Encoding", "Host", "Authorization")
#: The maximum number of digits of a body's size. Python refuses to convert texts of more than 4300 digits.
_MAX_LENGTH_DIGITS = 20


def find_ambiguity(head: bytes) -> str:
    """Return a sentence about a header that has more than one meaning, or "" if there is none.

    ``head`` is the request line with the headers, and ends with an empty line.
    """
    request, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    if b"\n" in request or b"\r" in request:
        return "The first line does not end with CR LF."
    fields: list[tuple[str, bytes]] = []
    for line in lines:
        # A line that begins with a space continues the line before it. It has no name, so it does not match.
        field = _FIELD.fullmatch(line)
        if field is None:
            return "A header line is malformed."
        fields.append((field[1].decode().lower(), field[2].strip()))
    names = [name for name, _ in fields]
    for name in _SINGLE:
        if names.count(name.lower()) > 1:
            return f"The request has several {name} headers."
    if "content-length" in names and "transfer-encoding" in names:
        return "The request has both Content-Length and Transfer-Encoding."
    length = dict(fields).get("content-length", b"0")
    if not length.isdigit():
        return "The Content-Length is not a number."
    if len(length) > _MAX_LENGTH_DIGITS:
        return "The Content-Length is too large."
    return ""
