"""Find request headers that a proxy and this server may interpret differently.

If two servers disagree about the end of a request, a client can hide a second request in the first one, and the answer
to the second request goes to another client (request smuggling, RFC 9112, section 11.2). Such requests are refused.
"""

from __future__ import annotations

import re
from email.message import Message

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: Headers that may be present only once, because one server may use the first of several, and another server the last.
_SINGLE = ("Content-Length", "Transfer-Encoding", "Host", "Authorization")


def ambiguity(headers: Message) -> str:
    """Return a sentence about a header that has more than one meaning, or "" if there is none."""
    for name in _SINGLE:
        if len(headers.get_all(name, [])) > 1:
            return f"The request has several {name} headers."
    if "Content-Length" in headers and "Transfer-Encoding" in headers:
        return "The request has both Content-Length and Transfer-Encoding."
    length = str(headers.get("Content-Length", "0"))
    if not (length.isascii() and length.isdigit()):
        return "The Content-Length is not a number."
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            return "The name of a header is malformed."
        if any(character in str(value) for character in "\r\n\0"):
            return "A header continues on a second line, or has a zero byte."
    # Python's parser treats all lines after a malformed line as the payload.
    return "A header line is malformed." if headers.defects or headers.get_payload() else ""
