"""A topological order puts each node after the nodes on which it depends. Of the nodes that could be next, the one with
the smallest priority is next, then the one with the smallest index."""

from __future__ import annotations

import random

from arenite.converters.graph.topological_order import topological_order


def test_the_smallest_priority_comes_first() -> None:
    assert topological_order([(), (), ()], [5, 1, 5]) == [1, 0, 2]
    assert topological_order([{2}, (), ()], [0, 1, 2]) == [1, 2, 0]


def test_every_node_of_a_random_graph_is_the_ready_node_with_the_smallest_priority() -> None:
    rng = random.Random(0)
    for _ in range(200):
        count = rng.randrange(1, 12)
        rank = rng.sample(range(count), count)
        dependencies = [
            {j for j in range(count) if rank[j] < rank[k] and rng.random() < 0.3} for k in range(count)
        ]
        priority = [rng.randrange(4) for _ in range(count)]
        order = topological_order(dependencies, priority)
        done: set[int] = set()
        for node in order:
            ready = [k for k in range(count) if k not in done and dependencies[k] <= done]
            assert node == min(ready, key=lambda k: (priority[k], k))
            done.add(node)
        assert len(done) == count


def test_nodes_of_a_cycle_and_after_it_are_left_out() -> None:
    assert topological_order([(), {2}, {1}, {2}, {4}, {0}], range(6)) == [0, 5]
