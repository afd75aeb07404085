"""The list of builds of a model, their sizes and instructions, and which of them are dominated."""

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
    """Return a build that fits, with RAM and flash in bytes and instructions per inference."""
    return Build(mode, True, streamed, ram, flash, instructions, True)


def test_a_build_is_dominated_by_one_that_is_never_worse() -> None:
    marked = mark_dominated(
        [
            build(100, 100, 100, mode="speed"),
            build(100, 90, 100, mode="balanced"),  # it needs less flash, so it dominates the first build
            build(50, 120, 110, mode="ram"),
            build(100, 91, 99, mode="flash"),
        ]
    )
    assert [b.dominated_by for b in marked] == ["balanced", None, None, None]


def test_the_first_of_equal_builds_dominates_the_others() -> None:
    marked = mark_dominated([build(1, 1, 1, mode=m) for m in AUTOMATIC_GOALS])
    assert [b.dominated_by for b in marked] == [None, "speed", "speed", "speed"]


def test_streamed_input_cannot_dominate_complete_input() -> None:
    """A build with streamed input cannot dominate a build with complete input; the reverse is possible."""
    small, large = build(10, 10, 10, streamed=True), build(20, 20, 20)
    assert [b.dominated_by for b in mark_dominated([large, small])] == [None, None]
    small, large = build(10, 10, 10), build(20, 20, 20, streamed=True)
    assert [b.dominated_by for b in mark_dominated([large, small])] == ["speed", None]


#: RAM, flash and instructions of a build, and whether its input is streamed.
figures = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.booleans())


@given(st.lists(figures, min_size=1, max_size=12))
def test_dominating_builds_are_not_dominated_themselves(rows: list[tuple]) -> None:
    marked = mark_dominated([Build(f"b{k}", True, s, r, f, i, True) for k, (r, f, i, s) in enumerate(rows)])
    by_label = {b.label: b for b in marked}
    assert any(b.dominated_by is None for b in marked)
    for checked in marked:
        if checked.dominated_by is not None:
            rival = by_label[checked.dominated_by]
            assert rival.dominated_by is None and (checked.stream_input or not rival.stream_input)
            assert all(a <= b for a, b in zip(rival.figures, checked.figures, strict=True))
        else:
            for rival in marked:
                better = all(a <= b for a, b in zip(rival.figures, checked.figures, strict=True))
                assert not (
                    better
                    and rival.figures != checked.figures
                    and (checked.stream_input or not rival.stream_input)
                )


def test_every_build_has_the_figures_of_fit(tmp_path: Path) -> None:
    path = save(classifier(), tmp_path / "small.tflite")
    all_builds = builds(path, BOARD)
    assert [b.label for b in all_builds if b.passes] == [
        *AUTOMATIC_GOALS,
        *(f"{mode} stream-input" for mode in AUTOMATIC_GOALS),
    ]
    for listed in all_builds:
        prepared = prepare(path, passes=listed.passes)
        expected = choose(
            prepared, BOARD, BuildOptions(listed.optimise, stream_input=listed.stream_input)
        ).verdict.needs
        assert listed.figures == (expected.ram, expected.flash, round(expected.instructions))
        assert (listed.kind, listed.bit_exact, listed.fits) == ("estimated", None, True)
    assert all_builds[0].options == ["--optimise", "speed"]
    assert all_builds[-1].options[-1] == "--stream-input"


def test_impossible_builds_are_left_out(tmp_path: Path) -> None:
    """No graph pass changes this model, and it cannot stream its input, so only the builds of the four modes remain."""
    path = save(counter(), tmp_path / "counter.tflite")
    assert [b.label for b in builds(path, BOARD)] == list(AUTOMATIC_GOALS)


def test_real_boards_are_not_measured(tmp_path: Path) -> None:
    path = save(counter(), tmp_path / "counter.tflite")
    with pytest.raises(UsageError, match="is a real board; builds are measured on emulated boards only"):
        builds(path, load_board("nucleo_l4r5zi"), measure=measure_build(1))


def test_measured_figures_are_those_of_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fake bench replaces the emulator. It is called with the right builds, and its figures are reported."""
    benched = []

    def bench(prepared, board, samples, options, progress):  # type: ignore[no-untyped-def]
        benched.append((options.build.optimise, options.build.stream_input, len(samples)))
        return SimpleNamespace(
            memory=SimpleNamespace(ram_total=10 * len(benched)),
            flash=SimpleNamespace(total=1000 - len(benched)),
            instructions=SimpleNamespace(p50=77),
            two_cores=None,
            bit_exact=len(benched) > 1,
        )

    monkeypatch.setattr(pareto_measured, "bench", bench)
    path = save(counter(), tmp_path / "counter.tflite")
    measured = builds(path, BOARD, measure=measure_build(2))
    assert benched == [(mode, False, 2) for mode in AUTOMATIC_GOALS]
    assert [b.figures for b in measured] == [(10, 999, 77), (20, 998, 77), (30, 997, 77), (40, 996, 77)]
    assert [b.bit_exact for b in measured] == [False, True, True, True]
    assert {b.kind for b in measured} == {"measured"}
