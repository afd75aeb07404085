"""The state store keeps its last record, whole, through a power cut in every operation on the flash memory."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_count import example_count
from tests.firmware.state_store.flash_model import (
    BUSY,
    EMPTY,
    FAILED,
    IDLE,
    LOADED,
    SAVED,
    UNSUITABLE,
    Flash,
    Store,
)

#: Bytes of a page, pages, bytes of a unit, bytes of the record. The units are those of the nRF51, the STM32L4, the
#: STM32H7 and of memories of single bytes. Two records are longer than a page, and as long as one.
GEOMETRIES = [
    (256, 3, 4, 57),
    (256, 2, 8, 30),
    (128, 4, 32, 80),
    (64, 2, 1, 5),
    (64, 6, 4, 150),
    (64, 5, 8, 56),
]


def record(number: int, size: int) -> bytes:
    """Return record ``number``. Every byte depends on the number."""
    return random.Random(number).randbytes(size)


def saves_until_cut(flash: Flash, size: int, count: int, busy_steps: int = 0) -> tuple[int, int]:
    """Save records 1 to ``count``. Return the numbers of the last one that was saved and of the last one begun."""
    store = Store(flash, size, busy_steps=busy_steps)
    saved = begun = 0
    for number in range(1, count + 1):
        begun = number
        if store.save(record(number, size)) != SAVED:
            break
        saved = number
    return saved, begun


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.slow
def test_a_cut_in_every_operation_keeps_the_last_record_whole(geometry: tuple[int, int, int, int]) -> None:
    *shape, size = geometry
    updates = 5 if size > 100 else 14
    whole = Flash(*shape)
    assert saves_until_cut(whole, size, updates) == (updates, updates)
    assert whole.violations == [] and sum(whole.erasures) > shape[1], "the updates do not go round all pages"
    for cut_at in range(whole.operations):
        for seed in range(3):
            flash = Flash(*shape)
            flash.random.seed(seed * 10_000 + cut_at)
            flash.restart(cut_at)
            saved, begun = saves_until_cut(flash, size, updates)
            assert flash.is_dead
            flash.restart()
            store = Store(flash, size)
            candidates = {record(n, size) if n else None for n in (saved, begun)}
            assert store.record in candidates, f"cut {cut_at}: neither record {saved} nor {begun}"
            for number in (101, 102):
                assert store.save(record(number, size)) == SAVED
            assert Store(flash, size).record == record(102, size)
            assert flash.violations == []


@settings(max_examples=example_count(60), deadline=None)
@given(st.data())
def test_cuts_again_and_again(data: st.DataObject) -> None:
    """Power fails in most runs, also in the first save after a start. What one start finds, the next one finds too."""
    *shape, size = data.draw(st.sampled_from(GEOMETRIES))
    flash = Flash(*shape)
    flash.random.seed(data.draw(st.integers(0, 2**32)))
    last, number = 0, 0  # the record that a start must find, and the newest one that was begun
    for _ in range(data.draw(st.integers(2, 12))):
        flash.restart(data.draw(st.one_of(st.just(-1), st.integers(0, 120))))
        store = Store(flash, size)
        assert store.record == (record(last, size) if last else None)
        begun: list[int] = []
        for _ in range(data.draw(st.integers(0, 7))):
            number += 1
            begun = [number]
            if store.save(record(number, size)) != SAVED:
                break
            last, begun = number, []
        flash.restart()
        found = Store(flash, size).record
        last = next((n for n in begun if record(n, size) == found), last)
    assert flash.violations == []


def test_a_slot_that_reads_correctly_only_later_counts_as_older() -> None:
    """A cut can leave bits that read as 1 at one start and as 0 at the next."""
    flash = Flash(256, 3, 4)
    store = Store(flash, 40)
    for number in range(1, 12):  # five slots in each page, and one in the last page
        assert store.save(record(number, 40)) == SAVED
    before = bytes(flash.content)
    assert store.save(record(12, 40)) == SAVED
    complete = bytes(flash.content)
    last_unit = slice(512 + 92, 512 + 96)  # the CRC of the second slot of the last page
    assert complete[last_unit] != before[last_unit]
    flash.content[last_unit] = before[last_unit]
    store = Store(flash, 40)
    assert store.record == record(11, 40) and store.save(record(13, 40)) == SAVED
    flash.content[last_unit] = complete[last_unit]
    assert Store(flash, 40).record == record(13, 40)


def test_pages_wear_equally() -> None:
    flash = Flash(256, 4, 4)
    store = Store(flash, 40)
    for number in range(2000):
        assert store.save(record(number, 40)) == SAVED
    per_page = 256 // 48
    assert max(flash.erasures) - min(flash.erasures) <= 1
    assert sum(flash.erasures) == -(-2000 // per_page)


def test_the_caller_goes_on_learning_while_a_save_runs() -> None:
    flash = Flash(256, 3, 4)
    store = Store(flash, 60, busy_steps=3)
    assert store.step() == IDLE
    learned = bytearray(record(1, 60))
    import ctypes

    shared = (ctypes.c_uint8 * 60).from_buffer(learned)
    assert store.begin(shared)  # type: ignore[arg-type]
    results: list[int] = []
    while not results or results[-1] == BUSY:
        before = flash.operations
        learned[len(results) % 60] ^= 0xFF
        assert not store.begin(bytes(60)), "a second save began while the first one runs"
        results.append(store.step())
        assert flash.operations - before <= 4, "a step did more than one erasure or 16 bytes"
    assert results[-1] == SAVED and flash.violations == []
    assert Store(flash, 60).record == record(1, 60)


def test_a_page_that_no_longer_works_is_passed_over() -> None:
    flash = Flash(256, 3, 4)
    store = Store(flash, 100)
    assert store.save(record(1, 100)) == SAVED
    flash.failing_pages = {1}
    for number in range(2, 12):
        assert store.save(record(number, 100)) == SAVED
        assert Store(flash, 100).record == record(number, 100)
    flash.failing_pages = {0, 1, 2}
    results = [store.save(record(99, 100)) for _ in range(3)]
    assert results == [FAILED] * 3
    assert Store(flash, 100).record == record(11, 100)
    flash.failing_pages = set()
    assert store.save(record(12, 100)) == SAVED
    assert Store(flash, 100).record == record(12, 100)


def test_a_save_that_failed_counts_as_older_when_its_pages_work_later() -> None:
    flash = Flash(64, 3, 4)
    store = Store(flash, 40)
    assert store.save(record(1, 40)) == SAVED
    flash.failing_pages = {1, 2}
    assert [store.save(record(number, 40)) for number in (2, 3)] == [FAILED] * 2
    late = dict(flash.missing)
    flash.failing_pages = {2}
    assert store.save(record(4, 40)) == SAVED
    flash.missing = {at: data for at, data in late.items() if at >= 128}
    flash.program_missing()
    assert Store(flash, 40).record == record(4, 40)


def test_records_of_another_size_or_meaning_are_not_found() -> None:
    flash = Flash(256, 2, 4)
    assert Store(flash, 100).save(record(1, 100)) == SAVED
    assert Store(flash, 100).result == LOADED
    assert Store(flash, 100, tag=8).result == EMPTY
    assert Store(flash, 98).result == EMPTY


def test_damage_of_any_byte_is_found() -> None:
    flash = Flash(64, 2, 4)
    store = Store(flash, 20)
    for number in (1, 2):
        assert store.save(record(number, 20)) == SAVED
    for at in range(28, 56):
        flash.content[at] ^= 0x10
        assert Store(flash, 20).record == record(1, 20)
        flash.content[at] ^= 0x10


@pytest.mark.parametrize(
    "shape", [(256, 1, 4), (256, 2, 3), (256, 2, 64), (258, 2, 4), (64, 4, 4), (256, 2, 0)], ids=str
)
def test_unsuitable_memories_are_refused(shape: tuple[int, int, int]) -> None:
    flash = Flash(*shape[:2], max(shape[2], 1))
    flash.unit_bytes = shape[2]
    assert Store(flash, 150 if shape == (64, 4, 4) else 20).result == UNSUITABLE
