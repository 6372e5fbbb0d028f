"""An execution of a C program that fails, or that a monitor reports, made shorter by the runtime
(runtime/schedule/shortening.hpp) before it is told.

The runtime reduces the schedule greedily, running the program itself each time. What comes back is an execution like any
other: the machines of ``models/`` must accept it, or the one that was found first is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from teetotal.answers.events import ModelName
from teetotal.answers.options import CheckOptions
from teetotal.answers.schedules import TokenError
from teetotal.engines.runtime import driver, replaying
from teetotal.engines.runtime.messages import AnyMessage, Failed, Found, Replayed
from teetotal.programs.c.build import Source

SECONDS = 2.0
"""For each failure, inside the runtime, where its own count of steps does not end it sooner."""
MOST = 2
"""So many failures of a model: those that are told step by step."""
_FEW = 8
"""Steps that nobody needs to have shortened."""


def shortened(
    program: Path,
    source: Source,
    failed: Failed,
    token: str,
    model: ModelName,
    options: CheckOptions,
    left: float,
) -> Failed | None:
    """The same failure after fewer steps; None where there is none, or it is short enough, or takes more than what is
    ``left`` of the time."""
    if len(failed.steps) <= _FEW or failed.waiting:
        return None
    request = replaying.request(model, token, options.semantics, failed.context, options.spurious)
    for told in _answers(program, source, request, options, left):
        if isinstance(told, Replayed) and len(told.steps) < len(failed.steps):
            for thread, place, message, what, cause in told.failures:
                if (what, place) == (failed.what, failed.place):
                    return replace(
                        failed, thread=thread, message=message, cause=cause, steps=told.steps, cells=told.cells
                    )
    return None


def shorter(program: Path, source: Source, found: Found, options: CheckOptions, left: float) -> Found | None:
    """The same report of a monitor after fewer steps of an SC execution; None as above."""
    if len(found.steps) <= _FEW:
        return None
    delayed, _, deciding = found.report
    steps = (str(step.thread) for step in found.steps)
    request = replaying.request_steps("sc", steps, options.semantics, found.context, options.spurious)
    request += [f"monitor={found.monitor}", f"report={delayed},{deciding}"]
    for told in _answers(program, source, request, options, left):
        if isinstance(told, Found) and len(told.steps) < len(found.steps):
            return told
    return None


def _answers(
    program: Path, source: Source, request: list[str], options: CheckOptions, left: float
) -> Iterator[AnyMessage]:
    seconds = min(SECONDS, left)
    limits = [f"shorten={seconds}", f"seconds={seconds}"]  # the second is for what a replay learns first
    limits.append(f"memory={options.max_megabytes}")
    with suppress(driver.RuntimeDied, TokenError):  # a program that dies of it
        yield from driver.answers(program, [*request, *limits], source.arguments, trust=source.trust)
