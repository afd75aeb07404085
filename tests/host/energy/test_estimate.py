"""Tests of the energy estimate without a meter: counted classes of instructions times the energy figures of the
board."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.errors import DoesNotFitError, ProfileError, UsageError
from arenite.host.build.fit_verdict import ASSUMED_W_PER_HZ
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.emulator.profile import Profile
from arenite.host.emulator.timing import CycleCount, CycleTally, load_timing
from arenite.host.energy.estimate import ACCURACY_NOTE, estimate_energy
from arenite.host.energy.estimate_counts import COUNTING_BOARDS, counting_board_of
from arenite.host.energy.estimate_units import PerCycle, joules, per_cycle, shares
from arenite.profiles.board import CORES
from arenite.profiles.boards import all_boards, load_board
from arenite.profiles.instruction_energy import ENERGY_DIRECTORY, energy_units_of, parse_energy
from tests.host.small_graphs import classifier, save

DOC = Path(__file__).parents[3] / "docs" / "energy-estimates.md"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """A small classifier that is prepared for boards."""
    return prepare(save(classifier(), tmp_path_factory.mktemp("estimate") / "model.tflite"))


def counted_profile(core: str, classes: dict[str, tuple[int, float]], **rules: tuple[int, float]) -> Profile:
    """Return a profile in which each instruction class and each timing rule has a count and a number of cycles."""
    count = CycleCount(
        {name: CycleTally(*value) for name, value in classes.items()},
        {name: CycleTally(*value) for name, value in rules.items()},
    )
    return Profile(load_timing(core), (count,))


def test_every_instruction_class_has_an_energy() -> None:
    for core in {core for _, core in COUNTING_BOARDS.values()}:
        for name in load_timing(core).classes:
            assert energy_units_of(core).unit_of(name).value > 0


def test_every_core_has_energies_and_a_counting_board() -> None:
    assert set(COUNTING_BOARDS) == set(CORES)
    for core in CORES:
        assert energy_units_of(core).mix
    for board in all_boards():
        counting_board = counting_board_of(board)
        assert counting_board.emulated
        assert counting_board is board or counting_board.core == COUNTING_BOARDS[board.core][1]


@given(st.integers(1, 10**7), st.floats(1.0, 2.5))
def test_the_mix_of_the_data_sheet_takes_its_current(instructions: int, cpi: float) -> None:
    """Code with the mix of the data sheet takes the joules per cycle of the data sheet."""
    units = energy_units_of("cortex-m4f")
    group = {"plain": "alu", "memory": "store", "multiply": "multiply"}
    classes = {
        group[name]: (round(share * 100 * instructions), share * 100 * instructions)
        for name, share in units.mix.items()
    }
    stalls = (cpi - 1) * 100 * instructions
    rows = shares(counted_profile("cortex-m4f", classes, taken=(1, stalls)), units)
    energy = joules(rows, units, PerCycle(1e-10, "estimated", ""), cpi)
    assert energy.value == pytest.approx(1e-10 * 100 * instructions * cpi, rel=1e-6)
    assert energy.low <= energy.value <= energy.high
    # For this mix the energy does not depend on the coefficients of the classes, so the bounds are close together.
    assert energy.high - energy.low < 0.01 * energy.value


def test_each_register_of_a_multiple_load_is_counted() -> None:
    """An LDM instruction of four words takes five cycles on a Cortex-M4: four accesses and one stall cycle."""
    rows = {
        r.name: r
        for r in shares(
            counted_profile("cortex-m4f", {"load_multiple": (10, 50.0)}), energy_units_of("cortex-m4f")
        )
    }
    assert rows["load_multiple"].moves == 40
    assert rows["stall"].moves == 10


def test_dual_issue_saves_time_but_no_energy() -> None:
    units = energy_units_of("cortex-m7")
    alone = counted_profile("cortex-m7", {"alu": (100, 100.0)})
    paired = counted_profile("cortex-m7", {"alu": (100, 100.0)}, dual_issue=(50, -50.0))
    per_cycle_j = PerCycle(1e-10, "assumed", "")
    assert joules(shares(alone, units), units, per_cycle_j, 0.67) == joules(
        shares(paired, units), units, per_cycle_j, 0.67
    )


def test_a_class_without_an_energy_raises_an_error() -> None:
    units = replace(energy_units_of("cortex-m4f"), group={})
    with pytest.raises(ProfileError, match="has no class 'alu'"):
        shares(counted_profile("cortex-m4f", {"alu": (1, 1.0)}), units)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("plain = 68", "plain = 60"), "add up to 100"),
        (("low = 1.2", "low = 1.9"), "low ≤ value ≤ high"),
        (("[mix]", "[mixture]"), r"\[mix\]"),
        (('"alu", ', '"load", "alu", '), "two groups"),
        (("stall = {", "wait = {"), "'stall' must be"),
    ],
)
def test_an_invalid_file_raises_an_error(change: tuple[str, str], message: str) -> None:
    text = (ENERGY_DIRECTORY / "cortex-m.toml").read_text("utf-8")
    assert change[0] in text
    with pytest.raises(ProfileError, match=message):
        parse_energy(text.replace(*change), "cortex-m.toml")


@pytest.mark.qemu
def test_the_instructions_of_a_real_board_are_counted_on_an_emulated_board(prepared: Prepared) -> None:
    board = load_board("nucleo_l4r5zi")
    actual = estimate_energy(prepared, board)
    energy = actual["energy_uj_per_inference"]
    assert actual["schema"] == "arenite.energy/1" and actual["method"] == "instruction classes"
    assert energy["kind"] == "estimated"
    assert energy["low"] < energy["median"] < energy["high"] and energy["p25"] == energy["median"]
    assert actual["counted"]["board"] == "qemu_mps2_an386"
    assert actual["supply_v"] == 3.3 and actual["sleep_current_a"] == pytest.approx(2.8e-6)
    # The classes add up to the total, and each has a source.
    assert sum(row["energy_uj"] for row in actual["classes"]) == pytest.approx(energy["median"])
    assert sum(row["count"] for row in actual["classes"]) == actual["counted"]["instructions"]
    assert all(row["kind"] in ("estimated", "assumed") and row["source"] for row in actual["classes"])
    # Like fit, the estimate uses the joules per cycle of the profile.
    assert actual["per_cycle_pj"]["value"] == pytest.approx(13.2e-3 * 3.3 / 120e6 * 1e12)
    assert actual["fit_uj"]["kind"] == "estimated"
    # The power is near that of the data sheet. The classes change it by at most tens of percent.
    assert 0.7 < actual["average_power_w"] / (13.2e-3 * 3.3) < 1.5


@pytest.mark.slow
@pytest.mark.qemu
def test_a_real_board_has_the_counts_of_its_counting_board(prepared: Prepared) -> None:
    """For a real board and its counting board, the counts are equal and energy does not depend on the clock, so only
    the joules per cycle differ."""
    real = estimate_energy(prepared, load_board("nucleo_l4r5zi"), BuildOptions("speed"))
    emulated = estimate_energy(prepared, load_board("qemu_mps2_an386"), BuildOptions("speed"))
    assert real["counted"]["instructions"] == emulated["counted"]["instructions"]
    ratio = emulated["energy_uj_per_inference"]["median"] / real["energy_uj_per_inference"]["median"]
    assert ratio == pytest.approx(ASSUMED_W_PER_HZ / per_cycle(load_board("nucleo_l4r5zi")).joules)
    assert emulated["energy_uj_per_inference"]["kind"] == "assumed"
    assert emulated["sleep_current_a"] is None
    assert any("is not a real chip" in note for note in emulated["notes"])


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize(
    ("board", "counting_board", "core"),
    [
        ("nucleo_l053r8", "qemu_mps2_m0", "cortex-m0plus"),
        ("esp32-c3-devkitm-1", "qemu_riscv32", "rv32imc"),
        ("esp32dev", "qemu_xtensa_lx106", "xtensa-lx106"),
        ("ek_ra8d1", "qemu_mps3_an547", "cortex-m55"),
    ],
)
def test_boards_with_other_cores_are_counted(
    prepared: Prepared, board: str, counting_board: str, core: str
) -> None:
    actual = estimate_energy(prepared, load_board(board))
    assert (actual["counted"]["board"], actual["counted"]["core"]) == (counting_board, core)
    assert actual["energy_uj_per_inference"]["median"] > 0
    nearest = any("nearest" in note for note in actual["notes"])
    assert nearest == (load_board(board).core != core)


def test_without_an_emulator_a_rule_of_thumb_is_used(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    actual = estimate_energy(prepared, load_board("nucleo_l4r5zi"))
    energy = actual["energy_uj_per_inference"]
    assert actual["method"] == "rule of thumb" and actual["classes"] is None
    assert energy["median"] == pytest.approx(actual["fit_uj"]["value"])
    assert energy["low"] < energy["median"] < energy["high"]
    assert "could not be counted" in actual["notes"][0]


@pytest.mark.qemu
def test_a_model_too_large_for_the_counting_board_uses_the_rule_of_thumb(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chip can have more memory than the emulated board that counts its instructions."""
    small = load_board("qemu_mps2_an386")
    small = replace(small, ram=(replace(small.ram[0], size=64),))
    monkeypatch.setattr("arenite.host.energy.estimate_counts.load_board", lambda name: small)
    actual = estimate_energy(prepared, load_board("nucleo_l4r5zi"))
    assert actual["method"] == "rule of thumb" and "does not fit qemu_mps2_an386" in actual["notes"][0]


@pytest.mark.slow
@pytest.mark.qemu
def test_a_streamed_input_is_counted(prepared: Prepared) -> None:
    board = load_board("nucleo_l4r5zi")
    complete_input, streamed_input = (
        estimate_energy(prepared, board, BuildOptions("ram", stream_input=s)) for s in (False, True)
    )
    assert streamed_input["method"] == "instruction classes"
    ratio = streamed_input["counted"]["instructions"] / complete_input["counted"]["instructions"]
    assert 0.5 < ratio < 2 and ratio != 1


def test_a_model_that_does_not_fit_raises_an_error(prepared: Prepared) -> None:
    board = load_board("nucleo_l4r5zi")
    small = replace(board, flash=(replace(board.flash[0], size=64),))
    with pytest.raises(DoesNotFitError, match="does not fit"):
        estimate_energy(prepared, small)


def test_a_core_without_a_counting_board_raises_an_error() -> None:
    with pytest.raises(UsageError, match="There is no emulated board for the core"):
        counting_board_of(replace(load_board("nucleo_l4r5zi"), core="avr"))


def test_the_stated_error_agrees_with_the_published_table() -> None:
    rows = re.findall(
        r"^\| `\w+` \|.*\| (estimated|assumed) \| ([\d.]+) \|$", DOC.read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) >= 24
    limits = [float(x) for x in re.findall(r"\d\.\d", ACCURACY_NOTE)]
    for kind, (low, high) in (("estimated", limits[:2]), ("assumed", limits[2:])):
        ratios = [float(ratio) for k, ratio in rows if k == kind]
        assert low <= min(ratios) + 1e-9 and max(ratios) <= high
        assert min(ratios) < low + 0.1 and max(ratios) > high - 0.1
