"""Records of decisions and gates: mistakes are named, and thresholds become exact integers."""

from __future__ import annotations

import contextlib
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.decision.plan import NEVER, plan_decision, plan_gate
from arenite.converters.decision.record import ClassThresholds, Decision, Gate, load_decision
from arenite.errors import UsageError
from tests.converters.decision.streams import logit, plan_of, score_tensor
from tests.example_count import example_count

FILE = """
[decision]
threshold = 0.8
release = 0.6
smooth = "mean"
hops = 4
refractory_ms = 700
ignore = ["silence", 1]

[[decision.classes]]
name = "yes"
threshold = 0.7

[[decision.classes]]
name = 3
release = 0.1

[gate]
threshold = -40
block = 320
hang_ms = 500
"""


def test_a_file_is_read_and_recorded(tmp_path: Path) -> None:
    path = tmp_path / "keyword.toml"
    path.write_text(FILE)
    decision, gate = load_decision(path)
    assert decision is not None and gate is not None
    assert decision.ignore == ("silence", "1")
    assert decision.classes == (ClassThresholds("yes", 0.7), ClassThresholds("3", None, 0.1))
    assert Decision.from_json(decision.to_json()) == decision
    assert Gate.from_json(gate.to_json()) == gate == Gate(-40.0, 320, hang_ms=500.0)
    plan = plan_decision(decision, [score_tensor(4)], ("silence", "unknown", "yes", "no"), 16000)
    assert plan.refractory == 11200
    # Four scores: 4 * (256 * threshold - 128), rounded up. Class "yes" has no release of its own, so its threshold is
    # its release; class 3 has the threshold of the decision.
    assert plan.on == (NEVER, NEVER, 205, 308)
    assert plan.off[2:] == (205, -409)
    assert plan_gate(gate, 16000).hang == 25


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "lacks 'threshold'"),
        ({"threshold": "high"}, "threshold: is 'high', expected a finite number"),
        ({"threshold": 0.5, "colour": 1}, "does not take 'colour'"),
        ({"threshold": 0.5, "release": 0.6}, "release is 0.6, above the threshold 0.5"),
        ({"threshold": 1.5, "logits": True}, "threshold is 1.5, expected a probability"),
        ({"threshold": 0.5, "smooth": "median"}, "smooth is 'median', expected one of none, mean, expon"),
        ({"threshold": 0.5, "hops": 3}, "hops is 3, but smooth is 'none'"),
        ({"threshold": 0.5, "factor": 0.5, "smooth": "mean"}, "factor is 0.5, but smooth is 'mean'"),
        ({"threshold": 0.5, "factor": 0.0, "smooth": "exponential"}, "factor is 0, expected"),
        ({"threshold": 0.5, "minimum": 0}, "minimum is 0, expected 1 to 32767"),
        ({"threshold": 0.5, "refractory_ms": 5, "refractory_hops": 2}, "are both set"),
        ({"threshold": 0.5, "classes": 3}, "classes: is not a list"),
        ({"threshold": 0.5, "classes": [3]}, "class 1: is not a table"),
        ({"threshold": 0.5, "classes": [{"name": "a"}, {"name": "a"}]}, "class 'a' is listed twice"),
        ({"threshold": 0.5, "classes": [{"name": "a", "release": 0.6}]}, "class 'a': release is 0.6, above"),
        ({"threshold": 0.5, "schema": "arenite.decision/9"}, "has schema 'arenite.decision/9'"),
    ],
)
def test_mistakes_in_a_decision_are_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Decision.from_json(fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"threshold": -40}, "lacks 'block'"),
        ({"threshold": -40, "block": 1}, "block is 1, expected 2 to 16384"),
        ({"threshold": -400, "block": 9}, "threshold is -400, expected"),
        ({"threshold": -40, "release": -30, "block": 9}, "release is -30, expected -120 to -40"),
        ({"threshold": -40, "block": 9, "unit": "lux"}, "unit is 'lux', expected one of"),
        ({"threshold": -40, "block": 9, "hang_ms": 5, "hang_blocks": 5}, "are both set"),
    ],
)
def test_mistakes_in_a_gate_are_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Gate.from_json(fields)


def test_a_file_without_the_tables_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "other.toml"
    path.write_text("threshold = 0.5\n")
    with pytest.raises(UsageError, match=r"has no table \[decision\] or \[gate\]"):
        load_decision(path)


def test_mistakes_that_need_the_model_are_named() -> None:
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"output": 1}, "output is 1, but the model has only 1"),
        ({"ignore": ["maybe"]}, "'maybe' is not a class of the model, which has the labels yes, no"),
        ({"ignore": [3]}, "'3' is not a class"),
        ({"classes": [{"name": "yes"}, {"name": 0}]}, "listed by its label and by its number"),
        ({"refractory_ms": 5}, "the number of samples per second is unknown"),
        ({"refractory_hops": 2**31, "hop": 16}, "expected at most 4,294,967,295"),
    ]
    for fields, message in mistakes:
        with pytest.raises(UsageError, match=message):
            plan_of(2, ("yes", "no"), threshold=0.5, **fields)
    with pytest.raises(
        UsageError, match="which has the numbers 0 to 1"
    ):  # the labels are those of another output
        plan_of(2, ("yes", "no", "stop"), threshold=0.5, ignore=["yes"])
    with pytest.raises(UsageError, match="'scores' is float32, expected int8"):
        plan_decision(Decision(0.5), [score_tensor(2, dtype="float32")])
    with pytest.raises(UsageError, match="hang_ms is 5, but the number of samples per second"):
        plan_gate(Gate(-40.0, 100, hang_ms=5.0))


_FIELDS = (*Decision.__dataclass_fields__, *Gate.__dataclass_fields__, "schema", "name")
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["mean", "yes", "dbfs"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_FIELDS), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=example_count(500), deadline=None)
@given(st.dictionaries(st.sampled_from(_FIELDS), _VALUES, max_size=8), st.integers(1, 4))
def test_any_record_is_read_or_refused(record: dict[str, Any], count: int) -> None:
    """A record is a decision with a plan, or the error is a ``UsageError``."""
    with contextlib.suppress(UsageError):
        decision = Decision.from_json({"threshold": 0.5, **record})
        assert Decision.from_json(json.loads(json.dumps(decision.to_json()))) == decision
        plan = plan_decision(decision, [score_tensor(count)], ("yes",) * count)
        assert all(-(2**31) <= value < 2**31 for value in (*plan.on, *plan.off))
        assert 0 <= plan.refractory < 2**32 and 0 <= plan.factor <= 32768
    with contextlib.suppress(UsageError):
        gate = Gate.from_json({"threshold": -40, "block": 9, **record})
        assert Gate.from_json(json.loads(json.dumps(gate.to_json()))) == gate
        gate_plan = plan_gate(gate)
        assert gate_plan.off <= gate_plan.on < 2**35 and gate_plan.hang < 65535


@settings(max_examples=example_count(200), deadline=None)
@given(
    st.floats(0.001, 0.999),
    st.floats(2**-12, 2.0, width=32),
    st.integers(-128, 127),
    st.integers(1, 20),
    st.booleans(),
)
def test_a_threshold_is_the_smallest_sum_that_reaches_it(
    threshold: float, scale: float, zero: int, hops: int, logits: bool
) -> None:
    spec = Decision(threshold, smooth="mean", hops=hops, logits=logits)
    plan = plan_decision(spec, [score_tensor(1, scale, zero)])
    real = logit(threshold) if logits else threshold
    sums = range(-128 * hops, 127 * hops + 1)
    reaching = [s for s in sums if (s - hops * zero) * Fraction(scale) >= hops * Fraction(real)]
    assert plan.on == plan.off == ((reaching[0] if reaching else NEVER),)


def test_an_exponential_threshold_has_15_fractional_bits() -> None:
    plan = plan_of(1, threshold=0.7, smooth="exponential", factor=0.25)
    assert plan.factor == 8192 and plan.on == (math.ceil(Fraction(0.7) * 256 * 32768) - 128 * 32768,)
