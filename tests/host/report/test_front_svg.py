"""The picture of a search: well-formed, complete, and marks where the figures say."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from arenite.host.report.front_svg import front_svg

SVG = "{http://www.w3.org/2000/svg}"


def trial(place: int, score: float, flash: int, ram: int, *, meets: bool, front: bool) -> dict[str, Any]:
    return {
        "trial": place,
        "label": f"recipe <{place}>",
        "score": score,
        "build": {
            "options": "--optimise ram",
            "ram": ram,
            "flash": flash,
            "instructions": {"value": 1_000_000 + place, "kind": "estimated"},
        },
        "meets": meets,
        "misses": [] if meets else ["too large"],
        "front": front,
    }


def found(metric: str = "accuracy", **changes: Any) -> dict[str, Any]:
    budget = {"ram": None, "flash": 50_000, "instructions": None, "drop": 0.02, "accuracy": None}
    failed = {"trial": 4, "label": "none", "score": 0, "build": None, "meets": False, "misses": ["no kernel"]}
    return {
        "budget": budget,
        "float": {"metric": metric, "value": 0.91},
        "trials": [
            trial(0, 0.90, 60_000, 9_000, meets=False, front=False),
            trial(1, 0.89, 48_000, 9_000, meets=True, front=True),
            trial(2, 0.80, 30_000, 9_000, meets=False, front=True),
            trial(3, 0.79, 40_000, 9_100, meets=False, front=False),
            failed,
        ],
        "front": [2, 1],
        "chosen": {"trial": 1},
        **changes,
    }


def test_the_front_is_numbered_and_the_chosen_one_ringed() -> None:
    root = ElementTree.fromstring(front_svg(found()))
    circles = list(root.iter(f"{SVG}circle"))
    rings = [c for c in circles if c.get("class") == "ar-ring"]
    small = [c for c in circles if "ar-open" in (c.get("class") or "")]
    assert len(rings) == 4 and len(small) == 3  # a ring also in the legend; the fourth trial in each panel
    words = [e.text or "" for e in root.iter(f"{SVG}text")]
    assert sum(w.startswith("recipe <1>") and w.endswith(": chosen") for w in words) == 1
    assert sum(w.startswith("recipe <0>") and w.endswith(": too large") for w in words) == 1
    assert {"accuracy over flash", "accuracy over RAM", "accuracy over instructions"} <= set(words)


def test_more_accurate_is_higher_and_more_flash_further_right() -> None:
    root = ElementTree.fromstring(front_svg(found()))
    at: dict[str, tuple[float, float]] = {}
    for c in root.iter(f"{SVG}circle"):
        title = c.find(f"{SVG}title")
        if title is not None and title.text:
            at.setdefault(title.text.split(":")[0], (float(c.get("cx") or 0), float(c.get("cy") or 0)))
    best, small = at["recipe <1>"], at["recipe <2>"]
    assert best[1] < small[1] and best[0] > small[0]
    limit = next(e for e in root.iter(f"{SVG}path") if e.get("class") == "ar-limit")
    across = float((limit.get("d") or "").removeprefix("M").split()[0])
    assert best[0] < across < at["recipe <0>"][0]


def test_errors_grow_downwards() -> None:
    worse = found("mse", budget={**found()["budget"], "drop": 0.01})
    root = ElementTree.fromstring(front_svg(worse))
    at = {
        (c.find(f"{SVG}title").text or "").split(":")[0]: float(c.get("cy") or 0)  # type: ignore[union-attr]
        for c in reversed(list(root.iter(f"{SVG}circle")))
        if c.find(f"{SVG}title") is not None
    }
    assert at["recipe <2>"] < at["recipe <1>"]


@pytest.mark.parametrize("chosen", [None, {"trial": 2}])
def test_nothing_chosen_and_one_recipe(chosen: dict[str, int] | None) -> None:
    made = found(chosen=chosen, front=[2])
    made["trials"] = made["trials"][:3]
    root = ElementTree.fromstring(front_svg(made))
    assert sum(c.get("class") == "ar-ring" for c in root.iter(f"{SVG}circle")) == (4 if chosen else 0)
    alone = {**made, "trials": made["trials"][:1], "front": [0], "chosen": None}
    ElementTree.fromstring(front_svg(alone))
