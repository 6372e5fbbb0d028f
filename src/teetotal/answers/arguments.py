"""What functions of ``teetotal`` are given, looked at before anything is done with it: their own hints say what they take.

Something else raises an ``ArgumentError``, which whoever knows teetotal expects, where Python would fail somewhere inside
with an error that speaks of our own names.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable as Function
from collections.abc import Mapping, Sequence, Set
from functools import cache, wraps
from os import PathLike, fspath
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from teetotal.answers.errors import ArgumentError

Given = ParamSpec("Given")
Made = TypeVar("Made")
Natural = Annotated[int, msgspec.Meta(ge=0)]
Some = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
"""A number of threads, of locations: there is one, and 32 bits can number them."""
_MOST = 200
"""Characters of a value that are told."""


def checked(function: Function[Given, Made]) -> Function[Given, Made]:
    """The function, which refuses what its hints do not allow. What it gives one by one is refused when it is called."""

    @wraps(function)
    def call(*given: Given.args, **named: Given.kwargs) -> Made:
        signature, hints = _known(function)
        try:
            bound = signature.bind(*given, **named)
        except TypeError as problem:
            raise ArgumentError(f"{function.__name__}: {problem}") from None
        for name, value in bound.arguments.items():
            kind = signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD or name not in hints:
                continue
            for one in value if kind is inspect.Parameter.VAR_POSITIONAL else (value,):
                if not fits(one, hints[name]):
                    raise ArgumentError(f"{name}: {_complaint(one, hints[name])}")
        return function(*given, **named)

    return call


@cache
def _known(function: Function[..., Any]) -> tuple[inspect.Signature, dict[str, Any]]:
    return inspect.signature(function), get_type_hints(function, include_extras=True)


def fits(value: object, hint: Any) -> bool:
    """Whether a value is what a hint says, and its elements, where looking at them does not use them up."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if origin is Annotated:
        return fits(value, inner[0]) and all(_within(value, bounds) for bounds in inner[1:])
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    kind = origin or hint
    if kind in (Path, PathLike):
        return isinstance(value, PathLike) and _named(value)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return hasattr(value, "__index__") and not isinstance(value, bool | type)  # numpy's, too
    if not isinstance(value, kind) or (inner and isinstance(value, str | bytes)):  # whose elements nobody means
        return False
    if inner and isinstance(value, Sequence | Set) and kind is not tuple:
        return all(fits(one, inner[0]) for one in value)
    return not (len(inner) == 2 and isinstance(value, Mapping)) or all(
        fits(key, inner[0]) and fits(one, inner[1]) for key, one in value.items()
    )


def _complaint(value: object, hint: Any) -> str:
    choices = [word for one in (hint, *get_args(hint)) if get_origin(one) is Literal for word in get_args(one)]
    if choices:
        return f"{_told(value)} is none of {', '.join(map(str, choices))}"
    return f"{_words(hint)} is needed, not {_told(value)}"


def _words(hint: Any) -> str:
    """A hint as a person would say it."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_words(one) for one in inner))
    if origin is Annotated:
        return _words(inner[0])
    known = {int: "a whole number", float: "a number", str: "a text", bool: "True or False", NoneType: "None"}
    known |= {Path: "a file", PathLike: "a file", msgspec.Struct: "an answer"}
    kind = origin or hint
    if inner and issubclass(kind, Sequence | Set):
        return f"a {kind.__name__.lower()} of which each is {_words(inner[0])}"
    name = kind.__name__.lower()
    return known.get(kind, f"{'an' if name[0] in 'aeiou' else 'a'} {name}")


def _told(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _MOST else f"{shown[:_MOST]}…"


def _within(value: Any, bounds: object) -> bool:
    if not isinstance(bounds, msgspec.Meta):
        return True
    return (bounds.ge is None or value >= bounds.ge) and (bounds.le is None or value <= bounds.le)


def _named(path: PathLike[Any]) -> bool:
    try:
        return isinstance(fspath(path), str)
    except TypeError:  # what it gives is neither a text nor bytes
        return False
