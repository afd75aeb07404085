"""The result of a bench of WebAssembly modules, which ``arenite bench --json`` prints as ``arenite.bench/1``.

Its keys are those of a bench on a board. They describe the first module, the fastest that the runtime supports; the
key ``modules`` has the figures of each module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arenite.host.bench.figures import percentiles
from arenite.host.bench.result import SCHEMA
from arenite.host.bench.verification import VerificationResult
from arenite.host.build.prepare import Prepared
from arenite.host.build.webassembly.module import ModulePlan


def module_result(
    prepared: Prepared,
    board: str,
    plan: ModulePlan,
    module_bytes: int,
    samples: int,
    verifications: Sequence[VerificationResult],
    *,
    instructions: Sequence[int] | None,
    latency: dict[str, Any],
    stack: int | None,
) -> dict[str, Any]:
    """Return the keys of ``arenite.bench/1`` for a bench of modules.

    ``plan`` and ``module_bytes`` are those of the first module. ``verifications`` are those of all modules: a sample is
    bit-exact if it is so in each. ``instructions`` has the count of each sample, or is None where nothing counts them.
    ``latency`` has the figures of the time in microseconds. ``stack``: the bytes of stack that the samples needed, or
    None if they are not known.
    """
    exact = frozenset.intersection(*(v.exact for v in verifications))
    differences = [v.max_abs_diff for v in verifications]
    known = [d for d in differences if d is not None]
    memory = plan.memory
    used_stack = memory.stack if stack is None else stack
    return {
        "schema": SCHEMA,
        "model": {
            "path": str(prepared.path),
            "sha256": prepared.sha256,
            "macs": prepared.source_macs,
            "macs_after_passes": prepared.macs,
        },
        "board": {"name": board, "core": plan.core},
        "optimise": plan.optimise,
        "samples": {
            "count": samples,
            "bit_exact": len(exact),
            "max_abs_diff": max(known) if len(known) == len(differences) else None,
            "accuracy": verifications[0].accuracy,
        },
        "inference": {
            "instructions": None
            if instructions is None
            else {**percentiles(instructions), "unit": "fuel", "kind": "measured"},
            "latency_us": latency,
            "cycles": None,
        },
        "init": {"instructions": None},
        "memory": {
            "arena": memory.arena,
            "arena_lower_bound": plan.arena_bound,
            "stack": used_stack,
            "stack_kind": "estimated" if stack is None else "measured",
            "static": memory.nbytes - memory.arena - used_stack,
            "ram_total": memory.nbytes,
            "predicted_ram_total": memory.nbytes,
        },
        "flash": {
            "weights": plan.weights,
            "code": module_bytes - plan.weights,
            "total": module_bytes,
            "predicted_total": None,
        },
        "layers": None,
        "energy": None,
    }
