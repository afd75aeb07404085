"""Tests of the parsing of budgets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.errors import UsageError
from arenite.host.governor.budget_text import parse_budget
from arenite.host.governor.interface import Limits


def test_the_budget_of_the_readme_is_parsed() -> None:
    assert parse_budget("power=5W,temperature=70C,latency=50ms") == Limits(5.0, 70.0, 50.0)


@given(
    st.sampled_from([("power", "power_w"), ("temperature", "temperature_c"), ("latency", "latency_ms")]),
    st.floats(0.01, 1e4).map(lambda value: round(value, 3)),
)
def test_a_number_without_a_unit_is_in_watts_degrees_celsius_or_milliseconds(
    name: tuple[str, str], value: float
) -> None:
    assert parse_budget(f"{name[0]}={value}") == Limits(**{name[1]: value})


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("power=500mW", Limits(power_w=0.5)),
        (" Latency = 0.05 s , power = 5 ", Limits(power_w=5.0, latency_ms=50.0)),
        ("temperature=45°C", Limits(temperature_c=45.0)),
    ],
)
def test_limits_with_a_unit_are_converted(text: str, limits: Limits) -> None:
    assert parse_budget(text) == limits


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("speed=3", "'speed' is not a limit"),
        ("power=5A", "expected a number with w or mw"),
        ("power=0", "more than 0"),
        ("power", "expected a number"),
        ("power=1,power=2", "twice"),
        (" , ", "empty"),
    ],
)
def test_invalid_budgets_raise_an_error(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        parse_budget(text)
    assert "--budget" in caught.value.hint


def test_a_command_may_allow_fewer_limits() -> None:
    with pytest.raises(UsageError, match="The limits are power, temperature") as caught:
        parse_budget("latency=5", ("power", "temperature"), "for example power=5W")
    assert "power=5W" in caught.value.hint
