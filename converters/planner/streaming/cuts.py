"""Cut the order of the operators into items that need little memory, and few instructions in addition.

An item is one operator on complete tensors, or a segment. ``items`` has the items that begin at each position of the
order, and ``need`` the bytes that each item needs, by id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from arenite.converters.planner.streaming.timeline import PlanItem

#: If a sequence of items needs more bytes together than the limit, sequences are tried in which all items except those
#: above the first share of the limit need at most one of the other shares.
_LARGEST_SHARE, _LOWER_SHARES = 0.95, (0.9, 0.8)


def cheapest_cut(
    items: list[list[PlanItem]],
    need: Mapping[int, int],
    limit: int,
    allowed: frozenset[int] = frozenset(),
) -> list[PlanItem] | None:
    """Return the sequence of items that need at most ``limit`` bytes each and have the fewest extra instructions in
    total, or None if there is none. If several sequences have the same number of extra instructions, return the
    sequence with the fewest stages.

    The items whose ids are ``allowed`` may need more than ``limit``.
    """
    n = len(items)
    cost: list[tuple[int, int] | None] = [None] * n + [(0, 0)]
    choice: list[PlanItem | None] = [None] * n
    for first in reversed(range(n)):
        for item in items[first]:
            later_cost = cost[item.end]
            if later_cost is None or (need[id(item)] > limit and id(item) not in allowed):
                continue
            stages = 0 if item.schedule is None else item.end - item.first
            total = (later_cost[0] + item.extra, later_cost[1] + stages)
            lowest = cost[first]
            if lowest is None or total < lowest:
                cost[first], choice[first] = total, item
    if cost[0] is None:
        return None
    cut, at = [], 0
    while at < n:
        chosen = choice[at]
        assert chosen is not None
        cut.append(chosen)
        at = chosen.end
    return cut


def alternatives(
    items: list[list[PlanItem]], need: Mapping[int, int], limit: int, cut: list[PlanItem]
) -> Iterator[list[PlanItem]]:
    """Yield ``cut``, then sequences in which all items except the largest need clearly less than ``limit``. Then
    there are more possible addresses for complete tensors between the items."""
    yield cut
    fixed = frozenset(id(i) for i in cut if need[id(i)] > _LARGEST_SHARE * limit)
    for share in _LOWER_SHARES:
        lower = cheapest_cut(items, need, int(share * limit), fixed)
        if lower is not None:
            yield lower
