"""From a model file to a planned image: the way that every command takes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from arenite.converters.graph import Model
from arenite.converters.load import load_any
from arenite.converters.passes.fold_constants import fold_constants
from arenite.converters.planner import check, plan
from arenite.converters.planner.needs import OpNeeds
from arenite.converters.planner.plan import Plan
from arenite.firmware.generator.needs import check_supported, op_needs
from arenite.firmware.generator.state import resource_sizes


@dataclass(frozen=True)
class Prepared:
    """A model that is ready to be generated: supported, folded and planned.

    ``sha256`` is of the file that the user gave; ``notes`` has one sentence for each thing that was mended or folded.
    """

    path: Path
    sha256: str
    model: Model
    needs: tuple[OpNeeds, ...]
    plan: Plan
    notes: tuple[str, ...]


def prepare(path: str | Path) -> Prepared:
    """Read, fold, check and plan the model at ``path``.

    Raises ``ModelError`` for a malformed file, ``UnsupportedModelError`` for an operator that cannot be run exactly.
    """
    path = Path(path)
    model = load_any(path)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    folded, notes = fold_constants(model)
    check_supported(folded)
    needs = op_needs(folded.main)
    persistent = resource_sizes(folded)
    made = plan(folded.main, needs, persistent=persistent)
    check(folded.main, made, needs, persistent=persistent)
    return Prepared(path, sha256, folded, tuple(needs), made, (*model.repairs, *notes))
