"""Sums of what devices report, by release, board, group and period of time. The gates of rollouts compare them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from arenite.host.fleet.database import Transaction
from arenite.host.fleet.drift import MAX_BINS
from arenite.host.fleet.event_kinds import CRASH_CAUSES
from arenite.host.fleet.latency_histogram import BUCKETS
from arenite.host.fleet.messages import MAX_INTEGER

PERIOD_MS = 15 * 60 * 1000
#: The crashes by cause, each a quantity of its own. ``crashes`` has all.
CRASHES_BY_CAUSE = {cause: f"crashes.{cause}" for cause in CRASH_CAUSES}
#: The quantities that are one number. The others are histograms: ``latency``, ``classes``, ``confidence``,
#: ``inputs.0``, ...
TOTALS = ("heartbeats", "covered_ms", "inferences", "crashes", *CRASHES_BY_CAUSE.values())

_MAX_INPUT_STATISTICS = 8


@dataclass(frozen=True, slots=True)
class CohortKey:
    release: str
    board: str
    group: str
    period_ms: int


@dataclass(slots=True)
class Cohort:
    """The sums of some devices."""

    totals: Counter[str] = field(default_factory=Counter)
    histograms: dict[str, Counter[int]] = field(default_factory=dict)

    def set(self, quantity: str, bucket: int, amount: int) -> None:
        if quantity in TOTALS:
            self.totals[quantity] = amount
        else:
            self.histograms.setdefault(quantity, Counter())[bucket] = amount

    def add(self, other: Cohort) -> None:
        """Add the sums of other devices."""
        self.totals.update(other.totals)
        for quantity, counts in other.histograms.items():
            self.histograms.setdefault(quantity, Counter()).update(counts)

    def counts(self, quantity: str, bins: int) -> list[int]:
        counter = self.histograms.get(quantity, Counter())
        return [counter[k] for k in range(bins)]


class CohortChanges:
    """Sums that are added to the table in one step."""

    def __init__(self) -> None:
        self._amounts: Counter[tuple[CohortKey, str, int]] = Counter()

    def add_heartbeat(self, key: CohortKey, body: dict[str, Any]) -> None:
        """Add the numbers of a heartbeat. Fields that are not as expected count nothing."""
        self._add(key, "heartbeats", 0, 1)
        for name in ("covered_ms", "inferences"):
            self._add(key, name, 0, body.get(name))
        for bucket, count in _pairs(body.get("latency")):
            if 0 <= bucket < BUCKETS:
                self._add(key, "latency", bucket, count)
        histograms: list[tuple[str, Any]] = [(name, body.get(name)) for name in ("classes", "confidence")]
        inputs = body.get("inputs")
        if isinstance(inputs, list):
            histograms += [(f"inputs.{k}", counts) for k, counts in enumerate(inputs[:_MAX_INPUT_STATISTICS])]
        for name, counts in histograms:
            for bin_index, count in enumerate(counts[:MAX_BINS] if isinstance(counts, list) else ()):
                self._add(key, name, bin_index, count)

    def add_crash(self, key: CohortKey, cause: str) -> None:
        """Add a crash. A ``cause`` that is none of a crash is counted without it."""
        self._add(key, "crashes", 0, 1)
        for name, quantity in CRASHES_BY_CAUSE.items():
            self._add(key, quantity, 0, int(cause == name))

    def write(self, transaction: Transaction) -> None:
        add_amounts(
            transaction,
            [
                (key.group, key.board, key.release, key.period_ms, quantity, bucket, amount)
                for (key, quantity, bucket), amount in self._amounts.items()
            ],
        )

    def _add(self, key: CohortKey, quantity: str, bucket: int, amount: Any) -> None:
        if type(amount) is int and 0 < amount < MAX_INTEGER:
            self._amounts[key, quantity, bucket] += amount


def add_amounts(transaction: Transaction, rows: Iterable[tuple[str, str, str, int, str, int, int]]) -> None:
    """Add amounts to the table. Each row is (group, board, release, period, quantity, bucket, amount)."""
    transaction.execute_many(
        "INSERT INTO cohorts (group_name, board, release, period_ms, quantity, bucket, amount)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (group_name, board, release, period_ms, quantity, bucket)"
        " DO UPDATE SET amount = cohorts.amount + excluded.amount",
        # All transactions change the rows in the same order, so that none waits for another in a circle.
        sorted(rows),
    )


def period_of(time_ms: int) -> int:
    """Return the beginning of the period of a time."""
    return time_ms // PERIOD_MS * PERIOD_MS


def read_cohorts(
    transaction: Transaction, group: str, since_ms: int, *, release: str | None = None, other_than: str = ""
) -> dict[str, Cohort]:
    """Return the sums for each board since the period of ``since_ms``: those of ``release``, or without it those of
    all releases but ``other_than``."""
    rows = transaction.query(
        "SELECT board, quantity, bucket, sum(amount) FROM cohorts WHERE group_name = ? AND period_ms >= ? AND "
        + ("release = ?" if release is not None else "release <> ?")
        + " GROUP BY board, quantity, bucket",
        (group, period_of(since_ms), release if release is not None else other_than),
    )
    cohorts: dict[str, Cohort] = {}
    for board, quantity, bucket, amount in rows:
        cohorts.setdefault(board, Cohort()).set(quantity, bucket, int(amount))
    return cohorts


def read_all_cohorts(transaction: Transaction, since_ms: int = 0) -> dict[tuple[str, str, str], Cohort]:
    """Return the sums for each (release, board, group) since the period of ``since_ms``."""
    cohorts: dict[tuple[str, str, str], Cohort] = {}
    for release, board, group, quantity, bucket, amount in transaction.query(
        "SELECT release, board, group_name, quantity, bucket, sum(amount) FROM cohorts WHERE period_ms >= ?"
        " GROUP BY release, board, group_name, quantity, bucket ORDER BY release, board, group_name",
        (period_of(since_ms),),
    ):
        cohorts.setdefault((release, board, group), Cohort()).set(quantity, bucket, int(amount))
    return cohorts


def sum_of(cohorts: Iterable[Cohort]) -> Counter[str]:
    """Return the totals of several cohorts together."""
    totals: Counter[str] = Counter()
    for cohort in cohorts:
        totals.update(cohort.totals)
    return totals


def _pairs(value: Any) -> Iterator[tuple[int, Any]]:
    for pair in value if isinstance(value, list) else ():
        if isinstance(pair, list) and len(pair) == 2 and type(pair[0]) is int:
            yield pair[0], pair[1]
