"""Make text from outside printable: names from devices, files, models and networks must not control a terminal."""

from __future__ import annotations

import unicodedata

#: Control and format characters (the latter reorder or hide text), lone surrogates, and separators of lines.
_ESCAPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def printable(text: str, *, keep: str = "") -> str:
    """Return ``text`` with every character that could control a terminal written as ``\\xNN`` or ``\\uNNNN``.

    The characters in ``keep`` stay as they are. Text of a device usually has one line, so no line end is kept by
    default.
    """
    if text.isprintable():
        return text
    return "".join(
        _escape(c) if c not in keep and unicodedata.category(c) in _ESCAPED_CATEGORIES else c for c in text
    )


def printable_lines(text: str) -> str:
    """Return ``text`` like :func:`printable`, but keep its line ends and tabs."""
    return printable(text, keep="\n\t")


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
