"""Schedules as short tokens that a person can paste into a command line.

A token is ``VERSION MODEL [OPTIONS] : STEPS``, without the blanks:

- version: ``1``;
- model: ``s`` (SC), ``t`` (TSO), ``p`` (PSO);
- options that differ from the default: ``a`` (``rmw=address``), ``r`` (``mutex=rmw``), ``w`` (``failed_cas=write``);
- steps, separated by ``.``: a thread's number for its next operation; that number and ``c`` for the commit of its oldest
  store (TSO), and then the location's number for the commit of that location's oldest store (PSO); that number, ``a`` and
  another for which of several ways on a Promela process takes, the first being 0 and not written. A step that comes
  several times in a row is written once, with ``x`` and how often.

``1t:0.1.0.1.0c.1c`` is store buffering at its best.

C11 is no machine. A token of it has the model ``c``: a schedule of SC, but for its last step, a thread's number, ``o`` and
how many writes of its location that operation knows, where SC would have it know them all.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import MODELS, Commit, Issue, ModelName, Semantics, Step

_TOKEN = re.compile(r"(\d+)([stp])([arw]*):(.*)", re.ASCII)
_STEP = re.compile(r"(\d{1,9})(?:(c(\d{0,9}))|a(\d{1,9}))?(?:x(\d{1,9}))?", re.ASCII)
_WEAK = re.compile(r"(\d+)c([^:]*):(?:(.*)\.)?(\d{1,9})o(\d{1,9})", re.ASCII)
_MAX_STEPS = 10_000_000


class Choice(NamedTuple):
    """A Promela process goes on, and not in the first of the ways that it has."""

    thread: int
    alternative: int


ScheduleStep = Step | Choice


class TokenError(TeetotalError):
    """A token that does not describe a schedule of this program."""


def to_token(
    model: ModelName, schedule: Iterable[ScheduleStep], locations: Sequence[str], semantics: Semantics = Semantics()
) -> str:
    numbers = {name: number for number, name in enumerate(locations)}
    options = ("a" if semantics.rmw == "address" else "") + ("r" if semantics.mutex == "rmw" else "")
    options += "w" if semantics.failed_cas == "write" else ""
    steps = []
    for step, run in groupby(schedule):
        text = str(step.thread)
        if isinstance(step, Commit):
            text += "c" if step.address is None else f"c{numbers[step.address]}"
        elif isinstance(step, Choice):
            text += f"a{step.alternative}"
        count = sum(1 for _ in run)
        steps.append(text if count == 1 else f"{text}x{count}")
    return f"1{model[0]}{options}:{'.'.join(steps)}"


def to_weak_token(schedule: Iterable[ScheduleStep], thread: int, known: int, semantics: Semantics) -> str:
    """Of C11: what SC does, and then an operation of a thread that knows so many writes of its location."""
    before = to_token("sc", schedule, (), semantics)
    head, _, steps = before.partition(":")
    return f"{head.replace('s', 'c', 1)}:{steps}{'.' * bool(steps)}{thread}o{known}"


def known_writes(token: str) -> tuple[str, int] | None:
    """Of a token of C11: the schedule that SC has in its place, and how many writes the last step knows."""
    match = _WEAK.fullmatch(token)
    if match is None:
        return None
    version, options, steps, thread, known = match.groups()
    return f"{version}s{options}:{f'{steps}.' if steps else ''}{thread}", int(known)


def from_token(token: str, locations: Sequence[str]) -> tuple[ModelName, tuple[Step, ...], Semantics]:
    """A schedule of a program whose threads have one way on only."""
    model, schedule, semantics = with_choices(token, locations)
    steps = tuple(step for step in schedule if not isinstance(step, Choice))
    if len(steps) < len(schedule):
        raise TokenError("a token with alternatives, which only processes of Promela have")
    return model, steps, semantics


def with_choices(token: str, locations: Sequence[str]) -> tuple[ModelName, tuple[ScheduleStep, ...], Semantics]:
    """A schedule of a Promela program."""
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
    steps: list[ScheduleStep] = []
    for part in text.split(".") if text else []:
        found = _STEP.fullmatch(part)
        if found is None:
            raise TokenError(f"{part!r} is not a step of a schedule")
        thread, commit, location, alternative, count = found.groups()
        step: ScheduleStep = Choice(int(thread), int(alternative)) if alternative else Issue(int(thread))
        if commit is not None:
            if location and int(location) >= len(locations):
                raise TokenError(f"step {part!r} commits location {location}, and there are {len(locations)}")
            step = Commit(int(thread), locations[int(location)] if location else None)
        repeats = int(count or 1)
        if repeats == 0:
            raise TokenError(f"{part!r} is not a step of a schedule")
        if len(steps) + repeats > _MAX_STEPS:
            raise TokenError(f"a schedule of more than {_MAX_STEPS} steps")
        steps += [step] * repeats
    return model, tuple(steps), semantics


def replay_command(token: str, files: Sequence[str], options: Sequence[str] = (), flags: Sequence[str] = ()) -> str:
    """What to type into a shell to see it again, whatever the files are called."""
    paths = [f"./{file}" if file.startswith("-") else file for file in files]
    return shlex.join(["teetotal", "replay", token, *paths, *options, *(["--", *flags] if flags else [])])
