"""Builds of a model beside each other: which there are, what they need, and which are worth having."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.errors import UsageError
from arenite.host.bench import pareto_measured
from arenite.host.bench.pareto_measured import measure_build
from arenite.host.build.fit import AUTOMATIC_GOALS, choose
from arenite.host.build.options import BuildOptions
from arenite.host.build.pareto import Build, builds, mark_dominated
from arenite.host.build.prepare import prepare
from arenite.profiles.boards import load_board
from tests.host.small_graphs import classifier, counter, save

BOARD = load_board("qemu_mps2_an386")


def build(ram: int, flash: int, instructions: int, *, streamed: bool = False, mode: str = "speed") -> Build:
    return Build(mode, True, streamed, ram, flash, instructions, True)


def test_a_build_is_dominated_by_one_that_is_nowhere_worse() -> None:
    found = mark_dominated(
        [
            build(100, 100, 100, mode="speed"),
            build(100, 90, 100, mode="balanced"),  # less flash: beats the first
            build(50, 120, 110, mode="ram"),
            build(100, 91, 99, mode="flash"),
        ]
    )
    assert [b.dominated_by for b in found] == ["balanced", None, None, None]


def test_of_equal_builds_the_first_is_kept() -> None:
    found = mark_dominated([build(1, 1, 1, mode=m) for m in AUTOMATIC_GOALS])
    assert [b.dominated_by for b in found] == [None, "speed", "speed", "speed"]


def test_input_in_rows_asks_more_of_a_program() -> None:
    """It cannot beat a build that wants the input whole; that one can beat it."""
    small, large = build(10, 10, 10, streamed=True), build(20, 20, 20)
    assert [b.dominated_by for b in mark_dominated([large, small])] == [None, None]
    small, large = build(10, 10, 10), build(20, 20, 20, streamed=True)
    assert [b.dominated_by for b in mark_dominated([large, small])] == ["speed", None]


figures = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.booleans())


@given(st.lists(figures, min_size=1, max_size=12))
def test_who_is_named_is_not_dominated_and_everyone_else_is_worth_having(rows: list[tuple]) -> None:
    found = mark_dominated([Build(f"b{k}", True, s, r, f, i, True) for k, (r, f, i, s) in enumerate(rows)])
    named = {b.label: b for b in found}
    assert any(b.dominated_by is None for b in found)
    for one in found:
        if one.dominated_by is not None:
            other = named[one.dominated_by]
            assert other.dominated_by is None and (one.stream_input or not other.stream_input)
            assert all(a <= b for a, b in zip(other.figures, one.figures, strict=True))
        else:
            for other in found:
                better = all(a <= b for a, b in zip(other.figures, one.figures, strict=True))
                assert not (
                    better and other.figures != one.figures and (one.stream_input or not other.stream_input)
                )


def test_every_build_is_there_with_the_figures_of_fit(tmp_path: Path) -> None:
    path = save(classifier(), tmp_path / "small.tflite")
    found = builds(path, BOARD)
    assert [b.label for b in found if b.passes] == [
        *AUTOMATIC_GOALS,
        *(f"{mode} stream-input" for mode in AUTOMATIC_GOALS),
    ]
    for one in found:
        prepared = prepare(path, passes=one.passes)
        wanted = choose(
            prepared, BOARD, BuildOptions(one.optimise, stream_input=one.stream_input)
        ).verdict.needs
        assert one.figures == (wanted.ram, wanted.flash, round(wanted.instructions))
        assert (one.kind, one.bit_exact, one.fits) == ("estimated", None, True)
    assert found[0].options == ["--optimise", "speed"]
    assert found[-1].options[-1] == "--stream-input"


def test_builds_that_a_model_cannot_have_are_left_out(tmp_path: Path) -> None:
    """No passes that change it, no input in rows."""
    path = save(counter(), tmp_path / "counter.tflite")
    assert [b.label for b in builds(path, BOARD)] == list(AUTOMATIC_GOALS)


def test_real_boards_are_not_measured(tmp_path: Path) -> None:
    path = save(counter(), tmp_path / "counter.tflite")
    with pytest.raises(UsageError, match="is a real board; builds are measured on emulated boards only"):
        builds(path, load_board("nucleo_l4r5zi"), measure=measure_build(1))


def test_measured_figures_are_those_of_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an emulator: what bench would report, and that it is asked for the right builds."""
    asked = []

    def bench(prepared, board, samples, options, progress):  # type: ignore[no-untyped-def]
        asked.append((options.build.optimise, options.build.stream_input, len(samples)))
        return SimpleNamespace(
            memory=SimpleNamespace(ram_total=10 * len(asked)),
            flash=SimpleNamespace(total=1000 - len(asked)),
            instructions=SimpleNamespace(p50=77),
            two_cores=None,
            bit_exact=len(asked) > 1,
        )

    monkeypatch.setattr(pareto_measured, "bench", bench)
    path = save(counter(), tmp_path / "counter.tflite")
    found = builds(path, BOARD, measure=measure_build(2))
    assert asked == [(mode, False, 2) for mode in AUTOMATIC_GOALS]
    assert [b.figures for b in found] == [(10, 999, 77), (20, 998, 77), (30, 997, 77), (40, 996, 77)]
    assert [b.bit_exact for b in found] == [False, True, True, True]
    assert {b.kind for b in found} == {"measured"}
