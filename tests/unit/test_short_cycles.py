"""Cycles that the search with SAT learns from (``histories/cycles``): a shortest one through each node, or an order."""

from __future__ import annotations

import random

import numpy as np

from teetotal import _core


def shortest(start: int, edges: list[tuple[int, ...]]) -> int | None:
    """Edges on a shortest way from the node back to it."""
    reached = {start}
    for length in range(1, len(edges) + 1):
        reached = {b for a, b in edges if a in reached}
        if start in reached:
            return length
    return None


def test_a_shortest_cycle_through_each_node_or_an_order() -> None:
    chance = random.Random(7)
    both = set()
    for _ in range(60):
        nodes = chance.randint(2, 7)
        edges = [tuple(chance.sample(range(nodes), 2)) for _ in range(chance.randint(1, 12))]
        start, end = (np.array(column, np.uint32) for column in zip(*edges, strict=True))
        cycles, order = _core.short_cycles(nodes, start, end, nodes)
        lengths = {node: shortest(node, edges) for node in range(nodes)}
        expected = sorted(length for length in lengths.values() if length is not None)
        both.add(bool(expected))
        for cycle in cycles:
            steps = [edges[number] for number in cycle]
            assert all(a[1] == b[0] for a, b in zip(steps, [*steps[1:], steps[0]], strict=True))
            assert len(steps) == lengths[steps[0][0]]
        assert sorted(map(len, cycles)) == expected
        if not expected:
            assert all(order.tolist().index(a) < order.tolist().index(b) for a, b in edges)
    assert both == {True, False}
