"""Collect the C sources of a library: models with their own names, one arena for all of them, and the kernels that they
call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.model_source import arena_bytes, model_sources
from arenite.firmware.generator.project import engine_files
from arenite.firmware.generator.shared_arena import SharedArena

#: The engine's folder in the library. Its headers have common names, so they must not be on a program's include path.
ENGINE_FOLDER = "arenite"
#: This macro is for libraries that are generated for no particular core. With it, kernels take the layout of their
#: weights from their parameters; otherwise it depends on the compiler's target.
ANY_CORE = "AR_ANY_CORE"
_INCLUDE = re.compile(r'^#include "([\w.]+)"', re.MULTILINE)


def share_arena(models: Sequence[Generated]) -> tuple[list[Generated], SharedArena | None]:
    """Return the models and the arena that they share. It is as large as the largest model needs.

    A model with state keeps an arena of its own, because state has to survive the inferences of other models. If fewer
    than two models can share an arena, the arena is None.
    """
    sharing = [g for g in models if not g.variables]
    if len(sharing) < 2:
        return list(models), None
    shared = SharedArena(max(map(arena_bytes, sharing)))
    return [g if g.variables else replace(g, shared=shared) for g in models], shared


def library_sources(
    models: Sequence[Generated], shared: SharedArena | None, any_core: bool = False
) -> dict[str, str]:
    """Return the text of each file by its name below ``src/``. All files include each other without any include path.

    ``any_core``: the models are not generated for a particular core.
    """
    model_files: dict[str, str] = {}
    for g in models:
        model_files.update(model_sources(g))
    if shared is not None:
        model_files.update(shared.sources())
    needed = sorted({name for g in models for name in g.engine_sources})
    engine = engine_files(list(model_files.values()), needed)
    if any_core:
        model_files, engine = (
            {n: f"#define {ANY_CORE}\n{t}" if ANY_CORE in t else t for n, t in files.items()}
            for files in (model_files, engine)
        )

    def engine_include(match: re.Match[str]) -> str:
        return f'#include "{ENGINE_FOLDER}/{match[1]}"' if match[1] in engine else match[0]

    files = {name: _INCLUDE.sub(engine_include, text) for name, text in model_files.items()}
    return files | {f"{ENGINE_FOLDER}/{name}": text for name, text in engine.items()}
