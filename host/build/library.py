"""Models as a library of C sources for a program of one's own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.firmware.generator.model_lowering import lower_model
from arenite.firmware.generator.target import Target
from arenite.firmware.library.library_folder import write_library
from arenite.firmware.library.processing import bind_processing
from arenite.host.build.prepare import Prepared

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
#: The engine's own prefix: a model of that name could define what the engine does.
_TAKEN = ("ar", "arenite")


def identifier(text: str) -> str:
    """``text`` as a C identifier in lower case; anything that none may hold becomes an underscore."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower()
    return name if name[:1].isalpha() else f"m{name}" if name else "model"


def named_image(text: str) -> tuple[str, Path]:
    """``NAME=IMAGE`` or ``IMAGE``, whose file name then gives the name. Raises ``UsageError`` for a bad name."""
    name, separator, path = text.partition("=")
    if not separator or Path(text).exists() or not _IDENTIFIER.fullmatch(name):
        name, path = identifier(Path(text).stem), text
    if name in _TAKEN:
        raise UsageError(f"A model cannot be called '{name}'.", "Choose another: NAME=IMAGE.")
    return name, Path(path)


def generate_library(
    directory: Path,
    name: str,
    models: Mapping[str, Prepared],
    target: Target,
    accept: Callable[[dict[str, Any]], None] = lambda _: None,
) -> dict[str, Any]:
    """Write the library ``name`` with ``models`` by name, all planned for ``target``; returns its manifest, which
    ``accept`` has seen, and may have refused, before anything is written."""
    lowered = []
    for model, prepared in models.items():
        planned = prepared.retarget(target)
        digest = hashlib.sha256(prepared.image).digest()
        lowered.append(
            lower_model(
                planned.model, planned.plan, target=target, sha256=digest, name=model, prefix=f"{model}_"
            )
        )
    origins = [{"name": m, "path": str(p.path), "sha256": p.sha256} for m, p in models.items()]
    found = {
        g.prefix: bind_processing(g, prepared.extra)
        for g, prepared in zip(lowered, models.values(), strict=True)
    }
    steps = {prefix: made for prefix, made in found.items() if made is not None}
    return write_library(directory, name, lowered, target, origins, accept, steps)
