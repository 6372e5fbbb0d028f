"""Assertions that prove nothing: never evaluated, or the same whatever happens. A proof about them is told as one."""

from __future__ import annotations

from collections.abc import Iterable

from teetotal.engines.states.outcomes import Outcomes
from teetotal.programs.expressions import Const, evaluate, leaves, render
from teetotal.programs.observation import filtered
from teetotal.programs.program import Assert, Program


def vacuous(program: Program, everywhere: Iterable[Outcomes]) -> list[str]:
    """In words, where every state of every model was visited. An assertion stands at one place for all threads that run
    it: it is evaluated where one of them does."""
    explored = list(everywhere)
    if not all(found.complete for found in explored):
        return []
    evaluated = set().union(*(found.evaluated for found in explored))
    reached: dict[str, bool] = {}
    constant: dict[str, int] = {}
    for number, thread in enumerate(program.threads):
        for position, instruction in enumerate(thread.code):
            if isinstance(instruction, Assert) and not instruction.implied:
                place = instruction.location
                name = (
                    f"T{number}'s assertion {render(instruction.condition)}"
                    if place is None
                    else f"assertion at {place}"
                )
                reached[name] = reached.get(name, False) or (number, position) in evaluated
                if all(isinstance(leaf, Const) for leaf in leaves(instruction.condition)):
                    constant[name] = evaluate(instruction.condition, _no_leaf)
    told = [f"the {name} is never evaluated: nothing is known about it" for name, was in reached.items() if not was]
    told += [
        f"the {name} is always {'true' if value else 'false'}, whatever the program does"
        for name, value in constant.items()
        if reached[name]
    ]
    asked = program.condition is not None or program.final_assertion is not None
    if asked and not any(found.values for found in explored):
        told.append("no execution comes to its end: what is asked about final states is asked of none")
    elif asked and not any(filtered(program, found.values) for found in explored):
        told.append("no final state passes its filter: what is asked about final states is asked of none")
    return told


def _no_leaf(leaf: object) -> int:
    raise AssertionError(leaf)
