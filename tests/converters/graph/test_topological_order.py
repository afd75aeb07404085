"""A topological order puts each node after those on which it depends, and else keeps to the priorities."""

from __future__ import annotations

import random

from arenite.converters.graph.topological_order import topological_order


def test_the_smallest_priority_comes_first() -> None:
    assert topological_order([(), (), ()], [5, 1, 5]) == [1, 0, 2]
    assert topological_order([{2}, (), ()], [0, 1, 2]) == [1, 2, 0]


def test_random_graphs_are_in_order() -> None:
    rng = random.Random(0)
    for _ in range(200):
        count = rng.randrange(1, 12)
        rank = rng.sample(range(count), count)
        before = [{j for j in range(count) if rank[j] < rank[k] and rng.random() < 0.3} for k in range(count)]
        priority = [rng.randrange(4) for _ in range(count)]
        order = topological_order(before, priority)
        done: set[int] = set()
        for node in order:
            ready = [k for k in range(count) if k not in done and before[k] <= done]
            assert node == min(ready, key=lambda k: (priority[k], k))
            done.add(node)
        assert len(done) == count


def test_nodes_of_a_cycle_and_after_it_are_left_out() -> None:
    assert topological_order([(), {2}, {1}, {2}, {4}, {0}], range(6)) == [0, 5]
