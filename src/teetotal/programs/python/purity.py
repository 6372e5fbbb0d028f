"""Whether an expression that is evaluated once stands for all the times that Python would evaluate it.

A thread is compiled before it runs: ``yield st("x", helper(3))`` in a loop calls ``helper`` once, here. That is the same
program only if the helper gives the same value every time, and leaves nothing behind that it or another could see. So an
expression with a call is evaluated twice, the values are compared, and so is everything that the functions in it can
reach before and after: globals, closures, defaults, objects, and the state of ``random``.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterable, Iterator
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any


def evaluated(evaluate: Callable[[], Any], values: Iterable[Any]) -> tuple[Any, str | None]:
    """The value of an expression over ``values``, and why it is not the same every time, or None."""
    before = _state(values)
    first = evaluate()
    after = _state(values)
    changed = next((name for name, held in before.items() if name not in after or not _same(held, after[name])), None)
    if changed is None:
        changed = next((name for name in after if name not in before), None)
    if changed is not None:
        return first, f"changes `{changed}`"
    if not _same(first, evaluate()):
        return first, "gives another value when it is evaluated again"
    return first, None


def _state(values: Iterable[Any]) -> dict[str, Any]:
    """By name, a copy of what functions among these values, and those that they call, can see."""
    state: dict[str, Any] = {"random": random.getstate()}
    waiting, seen = list(values), set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, MethodType):
            state[f"{value.__func__.__qualname__}'s object"] = _copied(value.__self__)
            value = value.__func__
        if not isinstance(value, FunctionType) or id(value) in seen:
            if not isinstance(value, FunctionType) and hasattr(value, "__dict__") and not isinstance(value, type):
                state[f"an object of {type(value).__name__}"] = _copied(value)
            continue
        seen.add(id(value))
        for name, held in _reaches(value):
            if isinstance(held, FunctionType | MethodType):
                waiting.append(held)
            elif not isinstance(held, ModuleType | type):
                state[name] = _copied(held)
    return state


def _reaches(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]
    cells: tuple[CellType, ...] = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not yet bound
            continue
    for number, default in enumerate([*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]):
        yield f"default {number} of {function.__name__}", default


def _copied(value: Any) -> Any:
    """What it holds now; itself where it cannot be copied, such as an iterator, which ``evaluated`` notices by use."""
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def _same(one: Any, other: Any) -> bool:
    """By value; where a type does not compare so, by what its objects hold."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, FunctionType):
        return one.__code__ is other.__code__ and _same(dict(_reaches(one)), dict(_reaches(other)))
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if type(one).__eq__ is object.__eq__:  # type: ignore[comparison-overlap]  # nobody has said how to compare them
        return _same(getattr(one, "__dict__", None), getattr(other, "__dict__", None))
    try:
        return bool(one == other)
    except Exception:
        return False
