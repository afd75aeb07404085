"""Budget texts are parsed, and mistakes in them are errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.converters.quantize.search.budget import Budget, parse_budget
from arenite.errors import UsageError


def test_amounts_with_units_are_parsed() -> None:
    budget = parse_budget("ram=48k, flash=256K,instructions=5M,drop=1%")
    assert budget == Budget(48 * 1024, 256 * 1024, 5_000_000, 0.01)
    assert parse_budget("ram=1.5kB,flash=1M") == Budget(1536, 1 << 20)
    assert parse_budget("accuracy=90.5%").accuracy == pytest.approx(0.905)
    assert parse_budget("drop=0%").drop == 0
    assert parse_budget("ram=1000") == Budget(1000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        (" , ", "empty"),
        ("ram", "'ram' in the budget has no value"),
        ("ram=", "no value"),
        ("rom=5k", "no 'rom'"),
        ("ram=5k,ram=6k", "ram twice"),
        ("ram=lots", "not an amount"),
        ("ram=-5k", "not an amount"),
        ("ram=5q", "not an amount"),
        ("ram=0", "less than 1"),
        ("drop=1", "not a percentage"),
        ("drop=0.01", "not a percentage"),
        ("drop=-1%", "not a percentage"),
        ("accuracy=120%", "more than 100%"),
        ("ram=5k,,flash=1M", "no value"),
    ],
)
def test_an_invalid_budget_is_an_error(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        parse_budget(text)
    assert caught.value.hint


@pytest.mark.slow
@given(st.text(max_size=30))
def test_any_text_gives_a_budget_or_an_error(text: str) -> None:
    try:
        budget = parse_budget(text)
    except UsageError as error:
        assert error.hint
    else:
        assert Budget.from_json(budget.to_json()) == budget


def test_a_board_adds_the_limits_of_its_ram_and_flash() -> None:
    assert parse_budget("ram=48k").within(64 << 10, 1 << 20) == Budget(48 << 10, 1 << 20)
    assert Budget(drop=0.01).within(5, 6) == Budget(5, 6, None, 0.01)
