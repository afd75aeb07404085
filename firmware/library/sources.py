"""The C sources of a library: models under names of their own, one arena for them all, and the kernels they call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.model_source import arena_bytes, model_sources
from arenite.firmware.generator.project import engine_files
from arenite.firmware.generator.shared_arena import SharedArena

#: The engine's folder in the library: its headers have common names, and must not be on a program's include path.
ENGINE_FOLDER = "arenite"
#: Kernels that choose the layout of their weights by the compiler use their parameters instead where the core is not
#: known.
ANY_CORE = "AR_ANY_CORE"
_INCLUDE = re.compile(r'^#include "([\w.]+)"', re.MULTILINE)


def share_arena(models: Sequence[Generated]) -> tuple[list[Generated], SharedArena | None]:
    """The models, those without state in one arena that is as large as the largest needs it; and that arena.

    State has to outlive the inferences of other models, so that a model with state keeps an arena of its own. There is
    nothing to share for fewer than two.
    """
    sharing = [g for g in models if not g.variables]
    if len(sharing) < 2:
        return list(models), None
    shared = SharedArena(max(map(arena_bytes, sharing)))
    return [g if g.variables else replace(g, shared=shared) for g in models], shared


def library_sources(
    models: Sequence[Generated], shared: SharedArena | None, any_core: bool = False
) -> dict[str, str]:
    """File name below ``src/`` to text. Every file finds the others beside itself, without any include path.

    ``any_core``: the models are generated for no core in particular.
    """
    own: dict[str, str] = {}
    for g in models:
        own.update(model_sources(g))
    if shared is not None:
        own.update(shared.sources())
    needed = sorted({name for g in models for name in g.engine_sources})
    engine = engine_files(list(own.values()), needed)
    if any_core:
        own, engine = (
            {n: f"#define {ANY_CORE}\n{t}" if ANY_CORE in t else t for n, t in files.items()}
            for files in (own, engine)
        )

    def found(match: re.Match[str]) -> str:
        return f'#include "{ENGINE_FOLDER}/{match[1]}"' if match[1] in engine else match[0]

    files = {name: _INCLUDE.sub(found, text) for name, text in own.items()}
    return files | {f"{ENGINE_FOLDER}/{name}": text for name, text in engine.items()}
