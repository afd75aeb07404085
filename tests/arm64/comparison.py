"""What must hold between aarch64 and this computer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

#: Of boxes and scores: float kernels of two processors add up in different orders.
TOLERANCE = 1e-3


@dataclass
class Check:
    """``failed``: what is not as it must be, in sentences; ``facts`` are for the report."""

    name: str
    count: int = 0
    failed: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def need(self, holds: bool, sentence: str) -> None:
        self.count += 1
        if not holds:
            self.failed.append(sentence)

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "checked": self.count, "failed": self.failed, **self.facts}


class Run:
    """What ``guest_checks.py`` left."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as file:
            self.arrays = {name: file[name] for name in file.files}
        self.record: dict[str, Any] = json.loads(self.arrays.pop("told").tobytes())

    def named(self, start: str) -> dict[str, np.ndarray]:
        return {name: values for name, values in self.arrays.items() if name.startswith(start)}


def feeds(arm: Run, reference: Run) -> Check:
    """The C code on aarch64 against NumPy here: byte for byte."""
    check = Check("feeds", facts={"code": arm.record["codes"], "reference": reference.record["codes"]})
    check.need(arm.record["machine"] == "aarch64", f"The machine is {arm.record['machine']}.")
    check.need(
        arm.record["codes"].get("neon", 0) > 0, f"No vector code ran on aarch64: {arm.record['codes']}."
    )
    check.need("numpy" not in arm.record["codes"], f"NumPy ran on aarch64: {arm.record['codes']}.")
    ours, theirs = arm.named("feed/"), reference.named("feed/")
    check.need(ours.keys() == theirs.keys(), "The feeds differ in number.")
    for name in ours.keys() & theirs.keys():
        check.need(np.array_equal(ours[name], theirs[name]), f"{name} differs from NumPy's bytes.")
    refused = {code for code in reference.record["codes"] if code.startswith("refused")}
    check.need(
        refused == {code for code in arm.record["codes"] if code.startswith("refused")}, "Refusals differ."
    )
    return check


def models(arm: Run, here: Run) -> list[Check]:
    """Inputs byte for byte; outputs of integers too, of floats within ``TOLERANCE``; and the same answers."""
    made = []
    for name in sorted(key.removeprefix("answers/") for key in here.record if key.startswith("answers/")):
        check = Check(name, facts={"runtime": arm.record.get(f"runtime/{name}")})
        check.need(
            np.array_equal(arm.arrays[f"input/{name}"], here.arrays[f"input/{name}"]), "The inputs differ."
        )
        worst = 0.0
        for key, theirs in here.named(f"output/{name}/").items():
            ours = arm.arrays[key]
            if theirs.dtype.kind == "f":
                off = np.abs(ours - theirs) / np.maximum(1.0, np.abs(theirs))
                worst = max(worst, float(off.max()))
                check.need(bool((off <= TOLERANCE).all()), f"{key} is off by {off.max():.2g}.")
            else:
                check.need(
                    ours.dtype == theirs.dtype and np.array_equal(ours, theirs), f"{key} differs in bytes."
                )
        for number, (a, b) in enumerate(
            zip(arm.record[f"answers/{name}"], here.record[f"answers/{name}"], strict=True)
        ):
            check.need(same_answer(a, b), f"Frame {number}: {a} on aarch64, {b} here.")
        check.facts |= {"largest_relative_difference": worst, "answers": arm.record[f"answers/{name}"]}
        made.append(check)
    return made


def same_answer(a: Any, b: Any) -> bool:
    """Equal in structure and text, numbers within ``TOLERANCE``."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_answer(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_answer, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= TOLERANCE
    return type(a) is type(b) and a == b
