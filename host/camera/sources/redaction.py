"""Addresses and pipelines as people, summaries and metrics may see them."""

from __future__ import annotations

import re

_OPTIONS = re.compile(
    r"""((?:pw|pwd|pass(?:word|wd|phrase)?|token|secret|key|auth)=)("[^"]*"|'[^']*'|[^&\s]*)""", re.IGNORECASE
)


def redacted(text: str) -> str:
    """``text`` without its secrets: what stands between a scheme and the last @ before a path, and the values of
    options that are called so."""
    return _OPTIONS.sub(r"\1…", re.sub(r"//[^/?#\s]*@", "//", text))
