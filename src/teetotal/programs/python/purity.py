"""Whether an expression that is evaluated once stands for all the times that Python would evaluate it.

A thread is compiled before it runs: ``yield st("x", helper(3))`` in a loop calls ``helper`` once, here. That is the same
program only if the helper gives the same value every time, and leaves nothing behind that it or another could see. So an
expression with a call is evaluated twice, the values are compared, and so is everything that the functions in it can
reach before and after: globals, closures, defaults, attributes of functions, modules and classes, objects, and the state of
``random``.
"""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any


def evaluated(evaluate: Callable[[], Any], values: Mapping[str, Any], code: CodeType) -> tuple[Any, str | None]:
    """The value of an expression over ``values``, and why it is not the same every time, or None."""
    names = set(_names(code))
    before = _state(values, names)
    first = evaluate()
    after = _state(values, names)
    changed = next((name for name, held in before.items() if name not in after or not _same(held, after[name])), None)
    if changed is None:
        changed = next((name for name in after if name not in before), None)
    if changed is not None:
        return first, f"changes `{changed}`"
    if not _same(first, evaluate()):
        return first, "gives another value when it is evaluated again"
    return first, None


def _state(values: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """By name, a copy of what code with these names can see in these values, and what the functions do that it can call."""
    state: dict[str, Any] = {"random": random.getstate()}
    waiting = [(name, value, names) for name, value in values.items()]
    seen: set[int] = set()
    looked: set[tuple[int, str]] = set()
    while waiting:
        name, value, names = waiting.pop()
        if id(value) in seen or _is_teetotal_s(value):
            continue
        seen.add(id(value))
        match value:
            case MethodType():
                waiting += [(f"{value.__func__.__qualname__}'s object", value.__self__, ()), (name, value.__func__, ())]
            case FunctionType():
                state[f"an attribute of {value.__qualname__}"] = _copied(vars(value))
                inside = set(_names(value.__code__))
                waiting += ((reached, held, inside) for reached, held in _reaches(value, inside))
            case staticmethod() | classmethod():
                waiting.append((name, value.__func__, ()))
            case property():
                waiting += ((name, function, ()) for function in (value.fget, value.fset) if function is not None)
            case ModuleType():  # what others have in it is nobody's business here
                seen.remove(id(value))  # other code has other names
                parts = [part for part in names if part in vars(value) and (id(value), part) not in looked]
                looked.update((id(value), part) for part in parts)
                waiting += ((f"{name}.{part}", vars(value)[part], names) for part in parts)
            case type():
                if value.__module__.partition(".")[0] not in sys.stdlib_module_names:
                    held = {part: held for part, held in vars(value).items() if not part.startswith("__")}
                    waiting += ((f"{value.__name__}.{part}", one, ()) for part, one in held.items())
            case _:
                state[name] = _copied(value)
                if hasattr(value, "__dict__"):
                    waiting.append((name, type(value), ()))
    return state


def _is_teetotal_s(value: Any) -> bool:
    """Operations and arrays: nothing in them changes."""
    return isinstance(value, FunctionType | type) and value.__module__.partition(".")[0] == "teetotal"


def _names(code: CodeType) -> Iterator[str]:
    """Of globals and attributes, in functions and comprehensions inside it too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _reaches(function: FunctionType, names: Collection[str]) -> Iterator[tuple[str, Any]]:
    for name in names:
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
        names = set(_names(one.__code__))
        return one.__code__ is other.__code__ and _same(dict(_reaches(one, names)), dict(_reaches(other, names)))
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
