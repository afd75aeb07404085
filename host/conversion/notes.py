"""Shorten the notes of a conversion: remove repetitions, and merge notes that differ only in the layer."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Matches a note on one layer, such as "Layer 3 EXP has no int16 kernel: it runs in int8."
_LAYER_NOTE = re.compile(r"(Layer|Operator) (\d+ [A-Z0-9_]+|'[^']*')( .*)", re.DOTALL)

#: The maximum number of further layers that a merged note names.
_MAX_NAMES = 10


def merge_notes(notes: Sequence[str]) -> tuple[str, ...]:
    """Return ``notes`` without repetitions, in order. Notes that differ only in their layer become one note, whose
    second sentence names the remaining layers."""
    layers: dict[tuple[str, str], list[str]] = {}
    order: dict[str | tuple[str, str], None] = {}
    for note in notes:
        match = _LAYER_NOTE.fullmatch(note)
        if match is None:
            order[note] = None
            continue
        key = match[1], match[3]
        order[key] = None
        names = layers.setdefault(key, [])
        if match[2] not in names:
            names.append(match[2])
    return tuple(key if isinstance(key, str) else _merge(*key, layers[key]) for key in order)


def _merge(kind: str, text: str, names: Sequence[str]) -> str:
    """Return one note for all layers in ``names``. ``kind`` and ``text`` are the parts of the note before and after the
    layer."""
    first, others = names[0], names[1:]
    if not others:
        return f"{kind} {first}{text}"
    shown = ", ".join(others[:_MAX_NAMES])
    more = f" and {len(others) - _MAX_NAMES} more" if len(others) > _MAX_NAMES else ""
    return f"{kind} {first}{text} The same holds for {kind.lower()}{'s' * (len(others) > 1)} {shown}{more}."
