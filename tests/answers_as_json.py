"""The published schema, closed: a key that it does not know is a mistake here, though readers should not mind it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from teetotal.report.schema import schema


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    closed = schema()
    for definition in closed["$defs"].values():
        if "properties" in definition:
            definition["additionalProperties"] = False
    Draft202012Validator.check_schema(closed)
    return Draft202012Validator(closed)


def check(line: str) -> None:
    """One object that ``--json`` printed."""
    _validator().validate(json.loads(line))


def shape(plain: Any) -> Any:
    """Which keys there are, and what kinds of values they have, wherever they are."""
    if isinstance(plain, dict):
        return frozenset((key if key.isidentifier() else "", shape(value)) for key, value in plain.items())
    if isinstance(plain, list | tuple):
        return frozenset(shape(value) for value in plain)
    return type(plain).__name__
