"""Certificates with one thing changed, in every way that their form has room for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import msgspec

from teetotal.engines.symbolic.certificates import Certificate

Tree = dict[str, Any]


def mutations(certificate: Certificate, most: int, random: Random) -> Iterator[tuple[str, Certificate]]:
    """(what was done, the result): all that there are, or ``most`` of them."""
    found = list(changes(msgspec.to_builtins(certificate)))
    for name, change in found if len(found) <= most else random.sample(found, most):
        tree = msgspec.json.decode(msgspec.json.encode(certificate))
        change(tree)
        changed = msgspec.convert(tree, Certificate)
        if changed != certificate:
            yield name, changed


def changes(tree: Tree) -> Iterator[tuple[str, Callable[[Tree], None]]]:
    yield from _of_states(tree)
    yield from _of_automata(tree)
    yield from _of_vocabulary(tree)


def _of_states(tree: Tree) -> Iterator[tuple[str, Callable[[Tree], None]]]:
    states, memories, automata = tree["states"], tree["memories"], tree["automata"]
    yield "no states", lambda t: t.update(states=[])
    for i, (memory, parts) in enumerate(states):
        yield "a state less", lambda t, i=i: t["states"].pop(i)
        yield "a state twice", lambda t, i=i: t["states"].append(t["states"][i])
        yield "processes swapped", lambda t, i=i, p=parts: t["states"][i].__setitem__(1, [*p[1:], p[0]])
        yield "a process less", lambda t, i=i: t["states"][i][1].pop()
        for other in range(len(memories)):
            if other != memory:
                yield "a state's memory", lambda t, i=i, o=other: t["states"][i].__setitem__(0, o)
        for p, k in enumerate(parts):
            for other in range(len(automata)):
                if other != k:
                    yield "a state's automaton", lambda t, i=i, p=p, o=other: t["states"][i][1].__setitem__(p, o)
    for i, memory in enumerate(memories):
        for x, value in enumerate(memory):
            yield "a value in memory", lambda t, i=i, x=x, v=value: t["memories"][i].__setitem__(x, v + 1)
    if states:
        yield "a memory that is none", lambda t: t["states"][0].__setitem__(0, len(memories))
        yield "an automaton that is none", lambda t: t["states"][0][1].__setitem__(0, -1)


def _of_automata(tree: Tree) -> Iterator[tuple[str, Callable[[Tree], None]]]:
    controls = min(map(len, tree["controls"]))
    for k, nodes in enumerate(tree["automata"]):
        yield "no finals", lambda t, k=k: [node.__setitem__(1, []) for node in t["automata"][k]]
        yield "a node that nothing leads to", lambda t, k=k: t["automata"][k].append([[], []])
        yield "no nodes", lambda t, k=k: t["automata"].__setitem__(k, [])
        for n, (edges, finals) in enumerate(nodes):
            for i in range(len(finals)):
                yield "a final less", lambda t, k=k, n=n, i=i: t["automata"][k][n][1].pop(i)
            for q in range(controls):
                if q not in finals:
                    yield "a final more", lambda t, k=k, n=n, q=q: t["automata"][k][n][1].append(q)
            for i, (letter, to) in enumerate(edges):
                yield "an edge less", lambda t, k=k, n=n, i=i: t["automata"][k][n][0].pop(i)
                for other in range(len(nodes)):
                    if other != to:
                        yield (
                            "an edge elsewhere",
                            lambda t, k=k, n=n, i=i, a=letter, o=other: t["automata"][k][n][0].__setitem__(i, [a, o]),
                        )
                yield "an edge twice", lambda t, k=k, n=n, a=letter: t["automata"][k][n][0].append([a, 0])
                yield (
                    "an edge to nowhere",
                    lambda t, k=k, n=n, i=i, a=letter: t["automata"][k][n][0].__setitem__(
                        i, [a, len(t["automata"][k])]
                    ),
                )
            for letter in range(1, 1 + len(tree["letters"])):
                if letter not in dict(edges):
                    for to in range(len(nodes)):
                        yield "an edge more", lambda t, k=k, n=n, a=letter, o=to: t["automata"][k][n][0].append([a, o])
            if 0 not in dict(edges):
                yield "a cycle of markers", lambda t, k=k, n=n: t["automata"][k][n][0].append([0, n])


def _of_vocabulary(tree: Tree) -> Iterator[tuple[str, Callable[[Tree], None]]]:
    for i, (location, value) in enumerate(tree["letters"]):
        yield "another value stored", lambda t, i=i, x=location, v=value: t["letters"].__setitem__(i, [x, v + 1])
        yield "a store to nowhere", lambda t, i=i, v=value: t["letters"].__setitem__(i, [len(t["locations"]), v])
        yield "a letter twice", lambda t, i=i: t["letters"].append(t["letters"][i])
    for p, controls in enumerate(tree["controls"]):
        yield "a control state less", lambda t, p=p: t["controls"][p].pop()
        for q, (pc, registers, status) in enumerate(controls):
            yield "a control state twice", lambda t, p=p, q=q: t["controls"][p].append(t["controls"][p][q])
            yield "at another instruction", lambda t, p=p, q=q, pc=pc: t["controls"][p][q].__setitem__(0, pc + 1)
            yield "at a negative instruction", lambda t, p=p, q=q: t["controls"][p][q].__setitem__(0, -1)
            for i, value in enumerate(registers):
                yield "another register", lambda t, p=p, q=q, i=i, v=value: t["controls"][p][q][1].__setitem__(i, v + 1)
            for other in ("running", "ended", "failed", "cut", "fine"):
                if other != status:
                    yield "another status", lambda t, p=p, q=q, o=other: t["controls"][p][q].__setitem__(2, o)
    yield "a process's control states less", lambda t: t["controls"].pop()
    yield "control states swapped", lambda t: t["controls"].reverse()
