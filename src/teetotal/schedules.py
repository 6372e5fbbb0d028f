"""Schedules as short tokens that a person can paste into a command line.

A token is ``VERSION MODEL [OPTIONS] : STEPS``, without the blanks:

- version: ``1``;
- model: ``s`` (SC), ``t`` (TSO), ``p`` (PSO);
- options that differ from the default: ``a`` (``rmw=address``), ``r`` (``mutex=rmw``), ``w`` (``failed_cas=write``);
- steps, separated by ``.``: a thread's number for its next operation; that number and ``c`` for the commit of its oldest
  store (TSO), and then the location's number for the commit of that location's oldest store (PSO). A step that comes
  several times in a row is written once, with ``x`` and how often.

``1t:0.1.0.1.0c.1c`` is store buffering at its best.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from teetotal.errors import TeetotalError
from teetotal.events import MODELS, ModelName, Semantics
from teetotal.models import Commit, Issue, Step

_TOKEN = re.compile(r"(\d+)([stp])([arw]*):(.*)")
_STEP = re.compile(r"(\d+)(c(\d*))?(?:x(\d+))?")
_MAX_STEPS = 10_000_000


class TokenError(TeetotalError):
    """A token that does not describe a schedule of this program."""


def to_token(
    model: ModelName, schedule: Sequence[Step], locations: Sequence[str], semantics: Semantics = Semantics()
) -> str:
    numbers = {name: number for number, name in enumerate(locations)}
    options = ("a" if semantics.rmw == "address" else "") + ("r" if semantics.mutex == "rmw" else "")
    options += "w" if semantics.failed_cas == "write" else ""
    steps = []
    for step, run in groupby(schedule):
        text = str(step.thread)
        if isinstance(step, Commit):
            text += "c" if step.address is None else f"c{numbers[step.address]}"
        count = sum(1 for _ in run)
        steps.append(text if count == 1 else f"{text}x{count}")
    return f"1{model[0]}{options}:{'.'.join(steps)}"


def from_token(token: str, locations: Sequence[str]) -> tuple[ModelName, tuple[Step, ...], Semantics]:
    match = _TOKEN.fullmatch(token)
    if match is None:
        raise TokenError(f"{token!r} is not a schedule token")
    version, letter, options, text = match.groups()
    if version != "1":
        raise TokenError(f"a token of version {version}; this teetotal reads version 1")
    model = next(name for name in MODELS if name[0] == letter)
    semantics = Semantics(
        rmw="address" if "a" in options else "all",
        mutex="rmw" if "r" in options else "fence",
        failed_cas="write" if "w" in options else "read",
    )
    steps: list[Step] = []
    for part in text.split(".") if text else []:
        found = _STEP.fullmatch(part)
        if found is None:
            raise TokenError(f"{part!r} is not a step of a schedule")
        thread, commit, location, count = found.groups()
        step: Step = Issue(int(thread))
        if commit is not None:
            if location and int(location) >= len(locations):
                raise TokenError(f"step {part!r} commits location {location}, and there are {len(locations)}")
            step = Commit(int(thread), locations[int(location)] if location else None)
        repeats = int(count or 1)
        if len(steps) + repeats > _MAX_STEPS:
            raise TokenError(f"a schedule of more than {_MAX_STEPS} steps")
        steps += [step] * repeats
    return model, tuple(steps), semantics
