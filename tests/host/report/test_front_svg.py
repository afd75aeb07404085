"""The drawing of a search is well-formed and complete, and its marks are at the right places."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from arenite.host.report.front_svg import front_svg

SVG = "{http://www.w3.org/2000/svg}"


def trial(place: int, score: float, flash: int, ram: int, *, meets: bool, front: bool) -> dict[str, Any]:
    """Return the JSON of a trial. ``meets``: it meets the budget. ``front``: it is on the Pareto front."""
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


def search_result(metric: str = "accuracy", **changes: Any) -> dict[str, Any]:
    """Return the result of a recipe search with four trials and a failed trial. ``changes`` replace its keys."""
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


def test_the_front_is_numbered_and_the_choice_has_a_ring() -> None:
    root = ElementTree.fromstring(front_svg(search_result()))
    circles = list(root.iter(f"{SVG}circle"))
    rings = [c for c in circles if c.get("class") == "ar-ring"]
    dominated = [c for c in circles if "ar-open" in (c.get("class") or "")]
    # One ring is in the legend, the other rings in the panels; the fourth trial is in each panel.
    assert len(rings) == 4 and len(dominated) == 3
    words = [e.text or "" for e in root.iter(f"{SVG}text")]
    assert sum(w.startswith("recipe <1>") and w.endswith(": chosen") for w in words) == 1
    assert sum(w.startswith("recipe <0>") and w.endswith(": too large") for w in words) == 1
    assert {"accuracy over flash", "accuracy over RAM", "accuracy over instructions"} <= set(words)


def test_accuracy_is_vertical_and_flash_is_horizontal() -> None:
    root = ElementTree.fromstring(front_svg(search_result()))
    positions: dict[str, tuple[float, float]] = {}
    for c in root.iter(f"{SVG}circle"):
        title = c.find(f"{SVG}title")
        if title is not None and title.text:
            positions.setdefault(title.text.split(":")[0], (float(c.get("cx") or 0), float(c.get("cy") or 0)))
    chosen, smallest = positions["recipe <1>"], positions["recipe <2>"]
    assert chosen[1] < smallest[1] and chosen[0] > smallest[0]
    limit = next(e for e in root.iter(f"{SVG}path") if e.get("class") == "ar-limit")
    across = float((limit.get("d") or "").removeprefix("M").split()[0])
    assert chosen[0] < across < positions["recipe <0>"][0]


def test_larger_errors_are_lower() -> None:
    mse_search = search_result("mse", budget={**search_result()["budget"], "drop": 0.01})
    root = ElementTree.fromstring(front_svg(mse_search))
    heights = {
        (c.find(f"{SVG}title").text or "").split(":")[0]: float(c.get("cy") or 0)  # type: ignore[union-attr]
        for c in reversed(list(root.iter(f"{SVG}circle")))
        if c.find(f"{SVG}title") is not None
    }
    assert heights["recipe <2>"] < heights["recipe <1>"]


@pytest.mark.parametrize("chosen", [None, {"trial": 2}])
def test_a_search_without_a_choice_and_a_search_of_one_trial_are_drawn(chosen: dict[str, int] | None) -> None:
    search = search_result(chosen=chosen, front=[2])
    search["trials"] = search["trials"][:3]
    root = ElementTree.fromstring(front_svg(search))
    assert sum(c.get("class") == "ar-ring" for c in root.iter(f"{SVG}circle")) == (4 if chosen else 0)
    single_trial = {**search, "trials": search["trials"][:1], "front": [0], "chosen": None}
    ElementTree.fromstring(front_svg(single_trial))
