"""``program(…)``: threads as generators, locations as keywords, and a question, put together into a ``Program``."""

from __future__ import annotations

import inspect
import operator
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from types import GeneratorType
from typing import Any, Literal

from teetotal.answers.arguments import fits
from teetotal.answers.errors import ProgramError
from teetotal.answers.events import Location
from teetotal.programs.expressions import Expr, Final, leaves, wrap
from teetotal.programs.program import Condition, Program, Thread, refuse_many
from teetotal.programs.python.compiler import compile_thread
from teetotal.programs.python.conditions import Names, compile_condition
from teetotal.programs.python.locations import Locations
from teetotal.programs.python.operations import Address

Initial = int | str | Sequence[int]
"""Of a location: a number, an ``address(…)``, or for an array one number for each element."""


def program(
    *threads: GeneratorType[Any, Any, Any],
    name: str | None = None,
    exists: str | None = None,
    forall: str | None = None,
    never: str | None = None,
    always: str | None = None,
    filter: str | None = None,
    loop_bound: int | None = None,
    memory: Mapping[str, Initial] | None = None,
    **locations: Initial,
) -> Program:
    """A program of these threads over these shared locations.

    ``exists``, ``forall`` and ``never`` ask about the final states, as a litmus test does; at most one of them.
    ``filter`` leaves out final states in which it does not hold. ``always`` is an assertion: a final state in which it
    does not hold makes the program unsafe. ``memory`` takes locations whose names are no keywords.
    """
    frame = sys._getframe(1)
    place = Location(frame.f_code.co_filename, frame.f_lineno)
    try:
        refuse_many(threads=len(threads))
        if not isinstance(memory, Mapping | None):
            raise ProgramError(f"memory is {memory!r}, and must be a dict of locations")
        shared = Locations(_declared(memory or {}, locations))
        compiled = [compile_thread(_checked(thread, number), shared) for number, thread in enumerate(threads)]
        if not compiled:
            raise ProgramError("a program has at least one thread")
        if not fits(loop_bound, int | None) or (loop_bound is not None and loop_bound < 0):
            raise ProgramError(f"loop_bound is {loop_bound}, and must be a number of rounds or None")
        titles = _titles([thread.gi_code.co_name for thread in threads])
        numbers = {f"P{number}": number for number in range(len(threads))}
        for number, title in enumerate(titles):
            if numbers.setdefault(title, number) != number:
                raise ProgramError(f"thread {number} is called {title}, which always means thread {numbers[title]}")
    except ProgramError as error:
        raise error if error.location else ProgramError(error.message, place) from None

    names = Names(numbers, [c.names for c in compiled], [c.constants for c in compiled], list(shared.memory))
    texts = {"exists": exists, "forall": forall, "~exists": never, "always": always, "filter": filter}
    for what, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise ProgramError(f"{what} is {text!r}, and must be a string", place)
    asked = {what: compile_condition(text, names, place) for what, text in texts.items() if text is not None}
    quantifiers: list[Literal["exists", "forall", "~exists"]] = ["exists", "forall", "~exists"]
    chosen = [what for what in quantifiers if what in asked]
    if len(chosen) > 1:
        raise ProgramError("ask one of exists, forall and never", place)
    return Program(
        name=default_name(titles) if name is None else name,
        threads=tuple(Thread(title, c.code, c.registers) for title, c in zip(titles, compiled, strict=True)),
        memory=_numbered(shared.memory, place),
        condition=Condition(chosen[0], asked[chosen[0]]) if chosen else None,
        filter=asked.get("filter"),
        final_assertion=asked.get("always"),
        observed=_observed(list(asked.values()) if chosen else None, names, [c.settled for c in compiled]),
        loop_bound=loop_bound,
        source=place.file,
    )


def default_name(threads: Sequence[str]) -> str:
    """Of a program that has been given none: as the textbooks write two threads side by side."""
    return " || ".join(threads)


def _checked(thread: object, number: int) -> GeneratorType[Any, Any, Any]:
    if isinstance(thread, GeneratorType):
        return thread
    name = getattr(thread, "__name__", "f")
    hint = f": call it, `{name}(…)`" if inspect.isgeneratorfunction(thread) else ""
    if inspect.isfunction(thread) and not hint:
        hint = f": `{name}` has no yield"
    raise ProgramError(f"thread {number} is a {type(thread).__name__}, not a generator{hint}")


def _declared(*parts: Mapping[str, Initial]) -> dict[str, int | Address]:
    declared: dict[str, int | Address] = {}
    for part in parts:
        for name, initial in part.items():
            if isinstance(initial, list | tuple):
                values: dict[str, Any] = {f"{name}[{index}]": value for index, value in enumerate(initial)}
            else:
                values = {name: initial}
            for location, value in values.items():
                if location in declared:
                    raise ProgramError(f"location {location!r} is declared twice")
                declared[location] = _initial(location, value)
    return declared


def _initial(location: str, value: Any) -> int | Address:
    if isinstance(value, Address):
        return value
    try:
        number = operator.index(value)
    except TypeError:
        kind = type(value).__name__
        raise ProgramError(f"location {location!r} begins with {value!r}, a {kind}; locations hold integers") from None
    if wrap(number) != number:
        raise ProgramError(f"location {location!r} begins with {number}, which is not between -2**63 and 2**63 - 1")
    return number


def _numbered(memory: Mapping[str, int | Address], place: Location) -> dict[str, int]:
    """Addresses become numbers: the first location's is 1."""
    names = list(memory)
    for location, value in memory.items():
        if isinstance(value, Address) and str(value) not in memory:
            raise ProgramError(f"location {location!r} begins with the address of {str(value)!r}, not declared", place)
    return {
        location: 1 + names.index(str(value)) if isinstance(value, Address) else value
        for location, value in memory.items()
    }


def _titles(functions: list[str]) -> list[str]:
    """The functions' names, numbered where one is used more than once."""
    used = Counter(functions)
    taken = set(functions)
    titles: list[str] = []
    for position, function in enumerate(functions):
        title = function
        if used[function] > 1:
            title = f"{function}{functions[:position].count(function)}"
            while title in taken:
                title += "_"
            taken.add(title)
        titles.append(title)
    return titles


def _observed(propositions: list[Expr] | None, names: Names, settled: list[frozenset[str]]) -> tuple[Final, ...]:
    """What the question names, or else all locations and the locals of interest.

    A local is of none if it always ends with the same value, or if its name begins with an underscore.
    """
    if propositions is not None:
        asked = [leaf for proposition in propositions for leaf in leaves(proposition)]
        return tuple(dict.fromkeys(leaf for leaf in asked if isinstance(leaf, Final)))
    registers = [Final(number, name) for number, known in enumerate(names.registers) for name in known]
    registers = [what for what in registers if not what.name.startswith("_")]
    registers = [what for what in registers if what.thread is None or what.name not in settled[what.thread]]
    return (*registers, *(Final(None, name) for name in names.memory))
