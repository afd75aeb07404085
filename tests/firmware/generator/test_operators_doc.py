"""The generated pages of operators and kernels agree with the code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arenite.firmware.generator.lower import LOWERINGS
from arenite.firmware.generator.lower.core.variant import kernels_of
from arenite.firmware.generator.operators_doc import DOCS, kernel_note, main, pages
from arenite.firmware.sources import ENGINE
from tests.fuzz.cases import load_all
from tests.fuzz.comparison import HOST_TARGETS, lower
from tests.fuzz.graph_builder import GraphBuilder


def test_the_pages_are_up_to_date() -> None:
    for name, text in pages().items():
        assert (DOCS / name).read_text() == text, "run: python -m arenite.firmware.generator.operators_doc"


@pytest.mark.parametrize("name", ["operators.md", "kernel-files.md"])
def test_check_finds_an_old_page(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    to_folder = ["-o", str(tmp_path)]
    assert main(["--check", *to_folder]) == 1 and "not up to date" in capsys.readouterr().err
    assert main(to_folder) == 0 and main(["--check", *to_folder]) == 0
    page = tmp_path / name
    page.write_text(page.read_text() + "x")
    assert main(["--check", *to_folder]) == 1 and name in capsys.readouterr().err


def test_every_operator_states_what_it_supports() -> None:
    assert [name for name, lowering in LOWERINGS.items() if not lowering.supports] == []


def test_every_kernel_belongs_to_an_operator() -> None:
    """The exceptions are the functions that reset state and those that run streaming segments. The generated model
    calls them directly."""
    named = {
        source for name, lowering in LOWERINGS.items() for source in (*lowering.kernels, *kernels_of(name))
    }
    assert {path.name for path in ENGINE.paths(".c")} - named == {"state.c", "stream.c"}
    assert named <= {path.name for path in ENGINE.paths(".c")}


@pytest.mark.slow
def test_operators_use_the_kernels_that_they_name() -> None:
    used: dict[str, set[str]] = {}
    for case in load_all().values():
        for seed in range(12):
            b = GraphBuilder(np.random.default_rng([5, seed]))
            case(b)
            model = b.build()
            for target in HOST_TARGETS:
                for layer in lower(model, target=target).calls:
                    assert layer.call is not None
                    used.setdefault(layer.op.kind, set()).update(layer.call.sources)
    named = {name: {*LOWERINGS[name].kernels, *kernels_of(name)} for name in used}
    assert {n: s - named[n] for n, s in used.items() if s - named[n]} == {}


def test_the_notes_of_kernels_describe_their_rounding() -> None:
    assert kernel_note("conv_2d_s8.c")[1] == "rounds twice"
    assert kernel_note("conv_2d_s16.c")[1] == "16-bit multiplier, rounds once"
    assert kernel_note("strided_copy.c") == (
        "The kernel of all operators that only move elements, see strided_copy.h.",
        "",
    )
