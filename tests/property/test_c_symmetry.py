"""Threads that nothing tells apart begin in order: the executions that are left are all there are, up to exchanging such
threads, and what tells threads apart is noticed."""

from __future__ import annotations

import itertools
import random
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from amounts import some
from c_letters import INTERPRETER
from c_programs import compiled, explore
from teetotal.answers.numbers import Verb

VECTOR, THREAD = 4, 12  # tags: the last of data, and creating, beginning, ending and joining

Class = frozenset[tuple[Any, ...]]


def classes(program: Path, arguments: Sequence[str], *options: str) -> list[list[list[int]]]:
    """The steps of one execution of each class."""
    end, told = explore(program, "tell-all=1", *options, arguments=arguments)
    assert end["complete"], arguments
    assert end["redundant"] == 0, arguments
    executions = [answer["steps"] for answer in told if answer["type"] == "execution"]
    assert len(executions) == end["executions"]
    return executions


def _exchanges(groups: Sequence[Sequence[int]]) -> list[dict[int, int]]:
    """All ways to exchange the threads of each group, as what they are called then."""
    orders = itertools.product(*(itertools.permutations(group) for group in groups))
    members = [member for group in groups for member in group]
    return [dict(zip(members, itertools.chain(*order), strict=True)) for order in orders]


def _class(steps: list[list[int]], names: dict[int, int]) -> Class:
    """Each event with its thread, its number there, what it did and saw, and the events that it conflicts with before."""
    position: defaultdict[int, int] = defaultdict(int)
    accesses: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
    events = []
    for thread, kind, tag, cell, place, writes, before, after, verb, *_ in steps:
        if tag == THREAD or verb in (Verb.ARRIVE, Verb.LEAVE):  # who leaves comes after all who arrived
            continue
        name = names.get(thread, thread)
        position[name] += 1
        behind = tuple(sorted((who, number) for who, number, wrote in accesses[cell] if wrote or writes))
        accesses[cell].append((name, position[name], writes))
        seen = (before, after) if tag <= VECTOR else ()  # a mutex knows who holds it
        events.append((name, position[name], kind, cell, place, writes, seen, behind))
    return frozenset(events)


def _groups(code: Sequence[str]) -> list[list[int]]:
    """Threads that do the same: those that main creates are numbered from 1."""
    alike: defaultdict[str, list[int]] = defaultdict(list)
    for number, letters in enumerate(code, 1):
        alike[letters].append(number)
    return [group for group in alike.values() if len(group) > 1]


@pytest.mark.parametrize(
    "letters",
    [
        "kl",
        "ajv",
        "PVpg",
        "CSsB",
        "CDS",
        "fFj",
        "MTl",
        "rwl",
        "rwRW",
        "bk",
        "oMl",
        "PVCSMl",
        "ukl",
        "vjk",
        "hkl",
        "ekl",
    ],
)
def test_every_class_up_to_exchange(letters: str) -> None:
    chance = random.Random(f"alike: {letters}")
    fewer = 0
    with compiled(INTERPRETER) as program:
        for _ in range(some(16, least=5)):
            most = chance.choice([2, 3, 3, 4])
            own = "".join(chance.choices(letters, k=2 if most < 4 else 1))
            code = [own] * most
            if most < 4 and chance.random() < 0.4:
                code.insert(chance.randint(0, most), chance.choice(letters))
            arguments = [str(chance.randint(0, 2)), chance.choice(letters), *code]
            exchanges = _exchanges(_groups(code))
            if not explore(program, "symmetry=off", "executions=1500", arguments=arguments)[0]["complete"]:
                continue
            every = classes(program, arguments, "symmetry=off")
            left = classes(program, arguments, "symmetry=on")
            assert {_class(steps, names) for steps in left for names in exchanges} == {
                _class(steps, {}) for steps in every
            }, arguments
            assert len(left) <= len(every), arguments
            fewer += len(left) < len(every)
    assert fewer


ALIKE = """
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
int __VERIFIER_nondet_int(void);
static atomic_int first, second, x, y;
static void *where[2];
static pthread_t of_second;
static pthread_key_t key;
static _Thread_local int local;
static void *thread(void *argument) {
  FIRST;
  THREAD;
  return (void *)turn;
}
int main(void) {
  pthread_t a, b;
  void *result = 0;
  pthread_key_create(&key, 0);
  pthread_create(&a, 0, thread, 0);
  BETWEEN;
  pthread_create(&b, 0, thread, ARGUMENT);
  END;
}
"""
JOINED = "pthread_join(a, 0); pthread_join(b, 0)"


def _text(
    thread: str = "",
    end: str = JOINED,
    between: str = "",
    argument: str = "0",
    first: str = "long turn = atomic_fetch_add(&first, 1)",
) -> str:
    text = ALIKE
    parts = {"FIRST": first, "THREAD": thread, "BETWEEN": between, "ARGUMENT": argument, "END": end}
    for name, part in parts.items():
        text = re.sub(rf"\b{name}\b", part, text)
    return text


@pytest.mark.parametrize(
    "text",
    [
        _text(),
        _text("if (turn) x = 1; else assert(!x || x)"),
        _text(end=f"{JOINED}; assert(first == 2)"),
        _text(end="x = 1; pthread_join(b, 0); pthread_join(a, 0)"),
        _text(end="return 0"),
        _text(first="x = 1; long turn = 0"),  # a fence comes first
    ],
)
def test_threads_that_nothing_tells_apart(text: str) -> None:
    with compiled(text) as program:
        reduced, _ = explore(program, "symmetry=on")
        every, _ = explore(program, "symmetry=off")
    assert (reduced["complete"], reduced["symmetric"], every["symmetric"]) == (True, True, False)
    assert reduced["executions"] < every["executions"]


@pytest.mark.parametrize(
    "text",
    [
        _text("where[turn] = &turn", end=f"{JOINED}; assert(where[0] < where[1])"),
        _text("if (!turn) x = gettid()", end=f"int mine = gettid(); {JOINED}; assert(x == mine + 1)"),
        _text("if (!turn) x = sched_getcpu()", end=f"{JOINED}; assert(x == 1)"),
        _text("if (!turn) assert(!pthread_equal(pthread_self(), of_second))", end=f"of_second = b; {JOINED}"),
        _text(end="pthread_join(a, &result); pthread_join(b, 0); assert(!result)"),
        _text(end="pthread_join(a, 0); pthread_join(b, &result); assert(result)"),
        _text("if (turn) x = 1; else y = 1", end="pthread_join(a, 0); assert(y); pthread_join(b, 0)"),
        _text("if (turn) x = 1; else y = 1", end="pthread_join(a, 0); assert(y)"),
        _text("if (turn) x = 1; else y = 1", end="if (!pthread_tryjoin_np(a, 0)) assert(y); pthread_join(b, 0)"),
        _text("if (!turn) x = __VERIFIER_nondet_int()", end=f"{JOINED}; assert(x == 0)"),
    ],
)
def test_what_tells_threads_apart_is_noticed(text: str) -> None:
    """Each fails only where the second thread comes first."""
    with compiled(text) as program:
        end, told = explore(program, "symmetry=on")
        every, _ = explore(program, "symmetry=off")
    assert (end["complete"], end["symmetric"], end["executions"]) == (True, False, every["executions"])
    assert "assertion" in [answer["what"] for answer in told if answer["type"] == "failure"]


@pytest.mark.parametrize(
    "text",
    [
        _text(argument="(void *)1"),
        _text(between="x = 1"),
        _text("pthread_setspecific(key, &first)"),
        _text("free(malloc(1))"),
        _text("where[turn] = &local; if (turn) ++*(int *)where[0]"),
        _text("where[turn] = &local"),
        _text(end="pthread_detach(b); pthread_join(a, 0)"),
        _text(end='pthread_setname_np(b, "other"); pthread_join(a, 0); pthread_join(b, 0)'),
        _text(end="pthread_join(b, 0); pthread_exit(0)"),
    ],
)
def test_threads_that_something_tells_apart(text: str) -> None:
    with compiled(text) as program:
        end, _ = explore(program, "symmetry=on")
        every, _ = explore(program, "symmetry=off")
    assert (end["complete"], end["symmetric"], end["executions"]) == (True, False, every["executions"])
