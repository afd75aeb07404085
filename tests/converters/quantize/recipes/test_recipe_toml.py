"""A recipe written as TOML is read back unchanged."""

from __future__ import annotations

import string
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.quantize.recipes.recipe import (
    CHOICES,
    LayerRule,
    Recipe,
    load_recipe,
    shipped_recipes,
)
from arenite.converters.quantize.recipes.recipe_toml import to_toml
from tests.example_count import example_count


def read(text: str, folder: Path) -> Recipe:
    """Write the text to a file and load it as a recipe."""
    path = folder / "r.toml"
    path.write_text(text, "utf-8")
    return load_recipe(path)


@pytest.mark.parametrize("name", shipped_recipes())
def test_shipped_recipes_are_read_back(name: str, tmp_path: Path) -> None:
    recipe = load_recipe(name)
    assert read(to_toml(recipe), tmp_path) == recipe


_letters = st.characters(codec="utf-8")  # without surrogates
_names = st.text(_letters, min_size=1, max_size=12)
_plain = st.text(string.ascii_letters + "_/.", min_size=1)


@settings(max_examples=example_count(60), deadline=None)
@given(
    name=_names,
    description=st.text(_letters, max_size=20),
    per_channel=st.booleans(),
    correction=st.booleans(),
    ranges=st.dictionaries(_names, st.tuples(st.floats(-1e3, -1e-3), st.floats(0, 1e3)), max_size=3),
    percentile=st.floats(90, 100, exclude_max=True),
    rules=st.lists(st.tuples(_plain, st.sampled_from(CHOICES["activations"]), st.booleans()), max_size=3),
)
def test_any_recipe_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    description: str,
    per_channel: bool,
    correction: bool,
    ranges: dict[str, tuple[float, float]],
    percentile: float,
    rules: list[tuple[str, str, bool]],
) -> None:
    base = Recipe(name=name, description=description, bias_correction=correction, ranges=ranges)
    recipe = replace(
        base,
        settings=replace(
            base.settings,
            per_channel=per_channel,
            calibrator="percentile",
            calibrator_parameters={"percentile": percentile},
        ),
        layers=tuple(LayerRule(m, {"activations": a, "per_channel": p}) for m, a, p in rules),
    )
    assert read(to_toml(recipe), tmp_path_factory.mktemp("recipes")) == recipe
