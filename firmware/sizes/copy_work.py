"""What the kernels that copy do: how often each of their loops runs."""

from __future__ import annotations

import math
from typing import Any

from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.lower.core.lowering import KernelCall, StructArray
from arenite.firmware.sizes.work_counts import Work


def copy(_: Generated, call: KernelCall) -> Work:
    return _copied(1, call.fields["bytes"], call.fields["input"], call.fields["output"])


def _copied(times: float, count: int, source: Any, to: Any) -> Work:
    """Return the work of copying ``count`` bytes ``times`` times: words, if sizes and addresses allow it."""
    if _is_aligned(source) and _is_aligned(to) and count % 4 == 0:
        return {"words": times * count // 4, "bytes": 0.0}
    return {"words": 0.0, "bytes": float(times * count)}


def _is_aligned(address: Any) -> bool:
    """Return whether an address is one of a word: other addresses than those in the arena always are."""
    text = getattr(address, "text", "")
    offset = getattr(address, "offset", 0)
    number = text.removeprefix("AT(").removesuffix(")") if text.startswith("AT(") else "0"
    return (int(number) + offset) % 4 == 0 if number.isdigit() else offset % 4 == 0


def _structs(value: Any) -> Any:
    return value.items if isinstance(value, StructArray) else value


def strided_copy(_: Generated, call: KernelCall) -> Work:
    work: Work = {"piece": 0.0, "turn": 0.0, "run": 0.0, "words": 0.0, "bytes": 0.0}
    for piece in _structs(call.fields["pieces"]):
        dims = _structs(piece["dims"])[: piece["rank"]]
        runs = math.prod(d["count"] for d in dims)
        strides = [d[side] for d in dims for side in ("in_stride", "out_stride")]
        is_word = all(s % 4 == 0 for s in strides)
        copied = _copied(runs, piece["run"] if is_word else piece["run"] | 1, piece["input"], piece["output"])
        copied["bytes"] -= 0 if is_word or piece["run"] % 2 else runs
        work["piece"] += 1
        work["run"] += runs
        work["turn"] += runs / dims[0]["count"]
        for name, count in copied.items():
            work[name] += count
    return work
