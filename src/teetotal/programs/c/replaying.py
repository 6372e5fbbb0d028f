"""Schedules of C programs as tokens (``teetotal.schedules``), and the command that shows one again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from teetotal.events import ModelName, Semantics
from teetotal.models import Step
from teetotal.programs.c.build import Source
from teetotal.schedules import to_token


def token(model: ModelName, schedule: Sequence[Step], semantics: Semantics) -> str:
    """For schedules without commits of a location."""
    return to_token(model, schedule, [], semantics)


def command(source: Source, token_or_command: str, stacks: int) -> str:
    """``teetotal replay TOKEN FILES`` with what the program needs: compiler, arguments, flags."""
    words = shlex.split(token_or_command)
    bare = words[2] if words[:2] == ["teetotal", "replay"] else token_or_command
    head, colon, steps = bare.partition(":")
    marked = f"{head}k{stacks:x}{colon}{steps}" if stacks else bare
    parts = ["teetotal", "replay", marked, *source.files]
    if source.compiler is not None:
        parts += ["--cc", source.compiler]
    for argument in source.arguments:
        parts += ["--args", argument]
    if source.flags:
        parts += ["--", *source.flags]
    return shlex.join(parts)
