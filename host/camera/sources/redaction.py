"""Remove secrets from addresses and pipelines before they are shown or recorded."""

from __future__ import annotations

import re

_OPTIONS = re.compile(
    r"""((?:pw|pwd|pass(?:word|wd|phrase)?|token|secret|key|auth)=)("[^"]*"|'[^']*'|[^&\s]*)""", re.IGNORECASE
)


def redacted(text: str) -> str:
    """Return ``text`` without secrets. Removed are the user and password of an address (between // and the last @
    before the path), and the values of options whose names suggest a secret."""
    return _OPTIONS.sub(r"\1…", re.sub(r"//[^/?#\s]*@", "//", text))
