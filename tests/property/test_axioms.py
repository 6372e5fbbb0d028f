"""A trace is one of the machine's exactly if it satisfies conditions (a)-(c): docs/explanation/monitors.md, Lemma 1."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axioms import allowed, candidates, program_order_kept
from notation import program
from teetotal import models
from teetotal.answers.events import ModelName, Semantics

RELAXED: tuple[ModelName, ...] = ("tso", "pso")
SEMANTICS = [Semantics(rmw="all"), Semantics(rmw="address")]
STATEMENTS = [
    "x=1",
    "y=1",
    "r=x",
    "r=y",
    "x=2",
    "y=2",
    "mfence",
    "sfence",
    "r=xchg(x,3)",
    "r=xchg(y,3)",
    "r=cas(x,7,8)",
]


def agree(text: str) -> None:
    for model, semantics in product(RELAXED, SEMANTICS):
        real = models.traces(program(text), model, semantics)
        threads = next(iter(real)).threads  # no branch: always the same events, values aside
        ppo = program_order_kept(threads, model, semantics)
        machine = {(trace.src, trace.co) for trace in real}
        conditions = {
            (tuple(sorted(src.items())), tuple(sorted((a, tuple(order)) for a, order in co.items())))
            for src, co in candidates(threads)
            if allowed(threads, src, co, ppo)
        }
        assert conditions == machine, (text, model, semantics)


def few_writes(threads: list[list[str]]) -> bool:
    """The candidates are all sources times all orders of writes."""
    return sum(statement[0] in "xy" or "xchg" in statement for thread in threads for statement in thread) <= 4


THREADS = st.lists(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=4), min_size=2, max_size=3)


@settings(max_examples=60)
@given(THREADS.filter(few_writes))
def test_machine_and_conditions_have_the_same_traces(threads: list[list[str]]) -> None:
    agree(" || ".join("; ".join(thread) for thread in threads))


@pytest.mark.parametrize(
    "text",
    [
        "x=1; sfence; r=y || y=1; sfence; r=x",  # an sfence is no event that a store is kept before
        "x=1; sfence; sfence; r=y || y=1; sfence; sfence; r=x",
        "r=x; x=1 || x=2",  # a load reads no later store of its own thread
        "x=1; x=2; r=x || x=3",  # nor one older than any earlier
        "x=1; sfence; r=xchg(y,3) || r=y; r=x",  # what an atomic operation writes is a later store
        "x=1; r=xchg(y,3); r=x || y=1; r=x",
        "x=1; y=1; r=x || y=2; sfence; x=2 || r=y; r=x",
    ],
)
def test_programs_at_the_edge_of_a_definition(text: str) -> None:
    agree(text)
