"""Compare the results of ``guest_checks.py`` on aarch64 with its results on this computer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

#: Tolerance for boxes and scores, because float kernels of different processors add in different orders.
TOLERANCE = 1e-3


@dataclass
class Check:
    """A named check. ``count`` is the number of comparisons so far, ``failed`` has a sentence for each comparison that
    failed, and ``facts`` are added to the report."""

    name: str
    count: int = 0
    failed: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def require(self, holds: bool, sentence: str) -> None:
        self.count += 1
        if not holds:
            self.failed.append(sentence)

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "checked": self.count, "failed": self.failed, **self.facts}


class Run:
    """The results of one run of ``guest_checks.py``, read from the file that it wrote. ``arrays`` maps names to
    results; ``record`` has all other values, such as the models' answers and the names of the code that ran."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as file:
            self.arrays = {name: file[name] for name in file.files}
        self.record: dict[str, Any] = json.loads(self.arrays.pop("record").tobytes())

    def named(self, start: str) -> dict[str, np.ndarray]:
        """Return the results whose names begin with ``start``."""
        return {name: values for name, values in self.arrays.items() if name.startswith(start)}


def compare_feeds(arm: Run, reference: Run) -> Check:
    """Compare the input tensors ("feeds") that the C code computed on aarch64 with those of NumPy on this computer,
    byte for byte."""
    check = Check("feeds", facts={"code": arm.record["codes"], "reference": reference.record["codes"]})
    check.require(arm.record["machine"] == "aarch64", f"The machine is {arm.record['machine']}.")
    check.require(
        arm.record["codes"].get("neon", 0) > 0, f"No vector code ran on aarch64: {arm.record['codes']}."
    )
    check.require("numpy" not in arm.record["codes"], f"NumPy ran on aarch64: {arm.record['codes']}.")
    ours, theirs = arm.named("feed/"), reference.named("feed/")
    check.require(ours.keys() == theirs.keys(), "The feeds differ in number.")
    for name in ours.keys() & theirs.keys():
        check.require(np.array_equal(ours[name], theirs[name]), f"{name} differs from NumPy's bytes.")
    refused = {code for code in reference.record["codes"] if code.startswith("refused")}
    check.require(
        refused == {code for code in arm.record["codes"] if code.startswith("refused")}, "Refusals differ."
    )
    return check


def compare_models(arm: Run, here: Run) -> list[Check]:
    """Compare the tensors and answers of each model: input tensors and integer outputs byte for byte, float outputs and
    answers within ``TOLERANCE``. Return one check per model."""
    checks = []
    for name in sorted(key.removeprefix("answers/") for key in here.record if key.startswith("answers/")):
        check = Check(name, facts={"runtime": arm.record.get(f"runtime/{name}")})
        check.require(
            np.array_equal(arm.arrays[f"input/{name}"], here.arrays[f"input/{name}"]), "The inputs differ."
        )
        max_error = 0.0
        for key, theirs in here.named(f"output/{name}/").items():
            ours = arm.arrays[key]
            if theirs.dtype.kind == "f":
                error = np.abs(ours - theirs) / np.maximum(1.0, np.abs(theirs))
                max_error = max(max_error, float(error.max()))
                check.require(bool((error <= TOLERANCE).all()), f"{key} differs by {error.max():.2g}.")
            else:
                check.require(
                    ours.dtype == theirs.dtype and np.array_equal(ours, theirs), f"{key} differs in bytes."
                )
        for number, (a, b) in enumerate(
            zip(arm.record[f"answers/{name}"], here.record[f"answers/{name}"], strict=True)
        ):
            check.require(same_answer(a, b), f"Frame {number}: {a} on aarch64, {b} here.")
        check.facts |= {"largest_relative_difference": max_error, "answers": arm.record[f"answers/{name}"]}
        checks.append(check)
    return checks


def same_answer(a: Any, b: Any) -> bool:
    """Return whether two answers (parsed JSON) have equal structure and text, and floats that agree within
    ``TOLERANCE``."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_answer(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_answer, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= TOLERANCE
    return type(a) is type(b) and a == b
