"""The event store keeps events through kills, cut files and damaged records, and is bounded."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from arenite.host.fleet.event_store import EventStore
from arenite.host.fleet.messages import MAX_BODY_BYTES


def stored(path: Path) -> list[tuple[int, int, str]]:
    """Return all events in a store, which this removes."""
    store = EventStore(path, is_durable=False)
    events = []
    while (batch := store.oldest_batch()) is not None:
        events += [(batch.epoch, event.sequence, event.body) for event in batch.events]
        assert store.acknowledge(batch.epoch, batch.events[-1].sequence) == len(batch.events)
    return events


def test_events_stay_until_they_are_acknowledged(tmp_path: Path) -> None:
    store = EventStore(tmp_path / "log")
    events = [(epoch, sequence, f'{{"n":{sequence}}}') for epoch in (7, 8) for sequence in range(1, 31)]
    for event in events:
        store.append(*event)
    store.acknowledge(7, 10)
    store.acknowledge(8, 30)  # events of epoch 7 are older, so this acknowledgement is early and ignored
    batch = store.oldest_batch(100)
    assert batch is not None
    assert (batch.epoch, batch.first, len(batch.events)) == (7, 11, 20)
    # Acknowledged events are removed from the file later. They may be read again, but none may be missing.
    assert set(events[10:]) <= set(stored(tmp_path / "log"))


def test_a_full_store_drops_the_oldest_events(tmp_path: Path) -> None:
    store = EventStore(tmp_path / "log", max_events=10, is_durable=False)
    for sequence in range(1, 5001):
        store.append(1, sequence, "{}")
    assert (len(store), store.dropped) == (10, 4990)
    assert (tmp_path / "log").stat().st_size < 20_000
    batch = store.oldest_batch()
    assert batch is not None
    assert batch.first == 4991


def test_a_batch_fits_into_a_message(tmp_path: Path) -> None:
    store = EventStore(tmp_path / "log")
    for sequence in range(1, 21):
        store.append(1, sequence, '{"x":"' + "y" * (MAX_BODY_BYTES - 8) + '"}')
    batch = store.oldest_batch()
    assert batch is not None
    assert len(batch.events) == 7


def test_a_cut_file_loses_only_the_interrupted_event(tmp_path: Path) -> None:
    path = tmp_path / "log"
    store = EventStore(path, is_durable=False)
    sizes = []
    for sequence in range(1, 21):
        store.append(1, sequence, '{"text":"%s"}' % ("x" * sequence))
        sizes.append(path.stat().st_size)
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        store = EventStore(path, is_durable=False)
        assert len(store) == sum(size <= length for size in sizes)
        store.append(2, 1, "{}")
        assert stored(path)[-1] == (2, 1, "{}")


def test_a_damaged_record_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log"
    store = EventStore(path, is_durable=False)
    for sequence in range(1, 4):
        store.append(1, sequence, '{"a":1}')
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1  # in the body of the second record
    path.write_bytes(data)
    assert [sequence for _, sequence, _ in stored(path)] == [1, 3]


def test_random_bytes_are_no_events(tmp_path: Path) -> None:
    random_source = random.Random(0)
    for _ in range(300):
        (tmp_path / "log").write_bytes(random_source.randbytes(random_source.randrange(200)))
        assert stored(tmp_path / "log") == []


_WRITER = """
import sys
from pathlib import Path
from arenite.host.fleet.event_store import EventStore
store = EventStore(Path(sys.argv[1]), is_durable=False)
for sequence in range(1, 10_000_000):
    store.append(1, sequence, '{"n":%d}' % sequence)
    if sequence % 3 == 0 and len(store) > 200:
        store.acknowledge(1, sequence - 100)
    sys.stdout.write(f"{sequence}\\n")
    sys.stdout.flush()
"""


def test_a_killed_process_loses_no_recorded_event(tmp_path: Path) -> None:
    for kill_after in (50, 700, 3001):
        path = tmp_path / f"log-{kill_after}"
        with subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if int(line) == kill_after:
                    process.kill()
                    break
            last = kill_after
            for line in process.stdout:
                if line.endswith("\n"):
                    last = int(line)
        events = stored(path)
        assert events[-1][1] - last in (0, 1)
        sequences = [sequence for _, sequence, _ in events]
        assert sequences == list(range(sequences[0], sequences[-1] + 1))
        assert sequences[0] <= max(last - 100, 1)
