"""The fit verdict for a model and a board names the missing bytes and a build that would fit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arenite.host.build.fit_verdict import FirmwareRequirements, fit
from arenite.profiles.board import Board, MemoryRegion, Power
from arenite.profiles.boards import load_board

#: Requirements of 10,000 bytes of RAM (arena, static data and stack) and 40,000 bytes of flash (weights and code).
NEEDS = FirmwareRequirements(
    optimise="balanced",
    arena=9000,
    static=400,
    stack=600,
    weights=30_000,
    code=10_000,
    exact=True,
    instructions=2_000_000,
    cycles_per_instruction=1.5,
)


def board(flash: int = 40_000, ram: int = 10_000, *more: MemoryRegion, power: Power | None = None) -> Board:
    """Return a board at 1 MHz with this many bytes of flash and of RAM. ``more`` are further RAM regions."""
    nucleo = load_board("nucleo_l4r5zi")
    return replace(
        nucleo,
        flash=(replace(nucleo.flash[0], size=flash),),
        ram=(replace(nucleo.ram[0], size=ram), *more),
        clock_hz=1_000_000,
        power=power,
    )


def test_a_model_that_needs_exactly_all_memory_fits() -> None:
    assert (NEEDS.ram, NEEDS.flash) == (10_000, 40_000)
    verdict = fit(NEEDS, board())
    assert verdict.fits and verdict.reasons == ()


@pytest.mark.parametrize(
    ("flash", "ram", "reasons"),
    [
        (39_999, 10_000, ["needs 1 B more flash"]),
        (40_000, 9_999, ["needs 1 B more SRAM"]),
        (1_000, 500, ["needs 9,500 B more SRAM", "needs 39,000 B more flash"]),
    ],
)
def test_the_verdict_names_missing_bytes(flash: int, ram: int, reasons: list[str]) -> None:
    verdict = fit(NEEDS, board(flash, ram))
    assert not verdict.fits and list(verdict.reasons) == reasons
    assert verdict.to_json()["reasons"] == reasons


def test_the_verdict_names_a_build_that_fits() -> None:
    """A build is suggested only if it saves all missing bytes."""
    smaller = replace(NEEDS, code=6_000, stack=500)
    for flash, expected in (
        (39_999, "needs 1 B more flash: try --optimise flash (then 36,000 B)"),
        (36_000, "needs 4,000 B more flash: try --optimise flash (then 36,000 B)"),
        (35_999, "needs 4,001 B more flash"),
    ):
        assert fit(NEEDS, board(flash), [("--optimise flash", smaller)]).reasons == (expected,)
    verdict = fit(NEEDS, board(ram=9_900), [("--optimise flash", smaller)])
    assert verdict.reasons == ("needs 100 B more SRAM: try --optimise flash (then 9,900 B)",)


def test_a_second_memory_counts_only_for_the_part_planned_there() -> None:
    psram = MemoryRegion("PSRAM", 0x6000_0000, 6_032, "psram", 4.0)
    assert fit(NEEDS, board(40_000, 5_000, psram)).reasons == ("needs 5,000 B more SRAM",)
    # The second memory contains 6,000 B of the arena and 32 B of guard words, which are static data.
    split = replace(
        NEEDS, static=NEEDS.static + 32, second=psram, arena_slow=6_000, slow_ram=6_032, slow_cycles=2e6
    )
    verdict = fit(split, board(40_000, 4_000, psram))
    assert verdict.fits and verdict.reasons == () and verdict.missing == 0
    assert verdict.latency_ms == pytest.approx(5000)  # three seconds, and two million cycles at 1 MHz
    assert verdict.notes == (
        "6,000 B of the arena in PSRAM, slower: about 2,000.00 ms per inference (estimated)",
    )
    verdict_json = verdict.to_json()
    assert verdict_json["ram"]["needed"] == verdict_json["ram"]["available"] == 4_000
    assert sum(verdict_json["ram"][k] for k in ("arena", "stack", "static")) == 4_000
    assert verdict_json["slow_ram"] == {
        "region": "PSRAM",
        "needed": 6_032,
        "available": 6_032,
        "arena": 6_000,
    }
    assert fit(NEEDS, board(40_000, 10_000, psram)).to_json()["slow_ram"] is None
    assert fit(split, board(40_000, 3_999, psram)).reasons == ("needs 1 B more SRAM",)
    small = replace(split, second=replace(psram, size=6_031))
    assert fit(small, board(40_000, 4_000, psram)).reasons == ("needs 1 B more PSRAM",)


def test_an_arena_above_the_limit_of_fast_ram_does_not_fit() -> None:
    arena = NEEDS.arena_fast
    assert fit(NEEDS, board(), fast_ram=arena).fits
    verdict = fit(NEEDS, board(), fast_ram=arena - 1)
    assert not verdict.fits and verdict.missing == 1
    assert verdict.reasons == (f"the arena takes 1 B more of SRAM1+2+3 than the limit of {arena - 1:,} B",)


def test_a_second_memory_may_be_as_fast_or_faster() -> None:
    ccm = MemoryRegion("CCM", 0x1000_0000, 65_536, "ccm")
    split = replace(NEEDS, second=ccm, arena_slow=1_000, slow_ram=1_032)
    assert fit(split, board()).notes == ("1,000 B of the arena in CCM, as fast as SRAM1+2+3",)
    faster = replace(split, slow_cycles=-1000.0)
    assert "faster: about 1.00 ms" in fit(faster, board()).notes[0]


def test_time_and_energy_are_estimates() -> None:
    """2 million instructions with 1.5 cycles each take 3 s at 1 MHz. 10 mA at 3 V for 3 s are 90 mJ."""
    verdict = fit(NEEDS, board(power=Power(10.0, 3.0, "for a test")))
    assert verdict.latency_ms == pytest.approx(3000)
    assert verdict.energy_mj == pytest.approx(90)
    verdict_json = verdict.to_json()
    assert verdict_json["latency_ms"] == {"value": 3000.0, "kind": "estimated"}
    assert verdict_json["energy_mj"] == {"value": 90.0, "kind": "estimated"}
    # A profile without figures is assumed to draw 100 uA/MHz at 3.3 V, here at 1 MHz for the same three seconds.
    assert fit(NEEDS, board()).to_json()["energy_mj"] == {"value": 0.99, "kind": "assumed"}


def test_sizes_that_are_not_exact_are_marked() -> None:
    exact, estimated = (fit(replace(NEEDS, exact=e), board()).to_json() for e in (True, False))
    for section in ("ram", "flash"):
        assert "kind" not in exact[section] and estimated[section]["kind"] == "estimated"
        assert {k: v for k, v in estimated[section].items() if k != "kind"} == exact[section]
    parts = {"arena": 9000, "stack": 600, "static": 400, "code_in_ram": 0}
    assert exact["ram"] == {"needed": 10_000, "available": 10_000, **parts}
    assert exact["flash"] == {"needed": 40_000, "available": 40_000, "weights": 30_000, "code": 10_000}
