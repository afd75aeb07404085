"""Write models as a library of C sources for the user's own program."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.firmware.boards.cores import WEBASSEMBLY_CORES, WEBASSEMBLY_STACK_BYTES
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.model_lowering import lower_model
from arenite.firmware.generator.target import Target
from arenite.firmware.library.library_folder import write_library
from arenite.firmware.library.processing import bind_processing
from arenite.firmware.sizes.prediction import predict
from arenite.host.build.attachments import recorded_labels
from arenite.host.build.prepare import Prepared
from arenite.profiles.boards import all_boards

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
#: The engine's functions begin with these prefixes. A model with such a name could define a function of the engine a
#: second time.
_RESERVED = ("ar", "arenite")


def identifier(text: str) -> str:
    """Return ``text`` as a C identifier in lower case. Characters that are not allowed become underscores."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower()
    return name if name[:1].isalpha() else f"m{name}" if name else "model"


def named_image(text: str) -> tuple[str, Path]:
    """Return the name and the path in ``NAME=IMAGE``. For ``IMAGE`` alone, the name is derived from the file name.

    Raises ``UsageError`` for a reserved name.
    """
    name, separator, path = text.partition("=")
    if not separator or Path(text).exists() or not _IDENTIFIER.fullmatch(name):
        name, path = identifier(Path(text).stem), text
    if name in _RESERVED:
        raise UsageError(
            f"A model cannot be called '{name}': the engine's functions have that prefix.",
            "Choose another name: NAME=IMAGE.",
        )
    return name, Path(path)


def lower_models(models: Mapping[str, Prepared], target: Target) -> list[Generated]:
    """Return the code of ``models``, all planned for ``target``. The name of a model is the prefix of its C names."""
    lowered = []
    for name, prepared in models.items():
        planned = prepared.retarget(target)
        lowered.append(
            lower_model(
                planned.model,
                planned.plan,
                target=target,
                image_hash=prepared.image_hash,
                name=name,
                prefix=f"{name}_",
            )
        )
    return lowered


def generate_library(
    directory: Path,
    name: str,
    models: Mapping[str, Prepared],
    target: Target,
    accept: Callable[[dict[str, Any]], None] = lambda _: None,
) -> dict[str, Any]:
    """Write the library ``name`` to ``directory``, and return its manifest. It contains ``models`` (by their names),
    all planned for ``target``.

    ``accept`` is called with the manifest before anything is written. If it raises an error, nothing is written.
    """
    lowered = lower_models(models, target)
    origins = [{"name": m, "path": str(p.path), "sha256": p.sha256} for m, p in models.items()]
    processing = {
        g.prefix: bind_processing(g, prepared.extra, recorded_labels(prepared.extra))
        for g, prepared in zip(lowered, models.values(), strict=True)
    }
    processing_sources = {prefix: sources for prefix, sources in processing.items() if sources is not None}
    stack = max(_stack_bytes(g, target) for g in lowered)
    return write_library(directory, name, lowered, target, origins, stack, accept, processing_sources)


def _stack_bytes(g: Generated, target: Target) -> int:
    """Return an upper bound in bytes of the stack of an inference on the target's core. If the target has no core, the
    bound holds for all cores."""
    if target.core in WEBASSEMBLY_CORES:
        return WEBASSEMBLY_STACK_BYTES
    cores = {board.core: board for board in all_boards() if target.core in ("", board.core)}
    return max(predict(g, board, target.optimise).stack for board in cores.values())
