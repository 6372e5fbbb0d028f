"""Schedules of C programs as tokens (``teetotal.answers.schedules``), the command that shows one again, and the showing.

The same steps mean another execution where other memory is shared or other values are chosen, so a token of a C program
may have a context before its colon, which the runtime writes and reads and Python only passes on:

- ``k`` and what threads share beside variables and heap. First a hexadecimal number: bit t is set where the whole stack of
  thread t is visible to others, bit 32 + t where others touch its thread-local variables. Then, each after a dot, the
  parts of stacks that others touch, and the cells there whose end of life is an event.
- ``n`` and the values that ``__VERIFIER_nondet_int`` gave, as ``PATH+NUMBER=VALUE``: the NUMBER-th that a thread asked for.
  PATH names the thread by how many children its creator had before it, behind the same of its creator, and so on.

Locations of PSO commits are numbered in the order in which the schedule first stores to them (``recorded``): the runtime
has no names for them.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from teetotal.answers.events import Commit, ModelName, Semantics, Step
from teetotal.answers.schedules import TokenError, from_token, replay_command
from teetotal.answers.violation import Violation
from teetotal.engines import story, weak
from teetotal.engines.runtime import driver, events
from teetotal.engines.runtime.messages import Loaded, Replayed, Trouble
from teetotal.engines.runtime.recorded import Recorded
from teetotal.programs.c.build import Source, built
from teetotal.programs.c.symbols import Symbols

_CHOICE = r"(?:\d+(?:/\d+)*)?\+\d{1,9}=-?\d{1,10}"
_CONTEXT = re.compile(rf"^([^:kn]*)((?:k[0-9a-f.]+)?(?:n{_CHOICE}(?:,{_CHOICE})*)?):", re.ASCII)


class _Numbers(Sequence[str]):
    """The names of locations that a token may have: their numbers."""

    def __len__(self) -> int:
        return 1 << 16

    def __getitem__(self, number: Any) -> Any:
        return str(number)


_MANY = _Numbers()


def command(source: Source, token: str, context: str, spurious: int = 0) -> str:
    """``teetotal replay TOKEN FILES`` with what the program needs: compiler, arguments, flags."""
    head, colon, steps = token.partition(":")
    options = [] if source.compiler is None else ["--cc", source.compiler]
    for argument in source.arguments:
        options += [f"--args={argument}"] if argument.startswith("-") else ["--args", argument]
    if source.trust:
        options += ["--trust"]
    if spurious:
        options += ["--spurious", str(spurious)]
    return replay_command(f"{head}{context}{colon}{steps}", source.files, options, source.flags)


def request(model: ModelName, token: str, semantics: Semantics, context: str, spurious: int) -> list[str]:
    """What the runtime is asked, for a token without its context."""
    _, schedule, _ = from_token(token, _MANY)
    return request_steps(model, map(_text, schedule), semantics, context, spurious)


def request_steps(
    model: ModelName, steps: Iterable[str], semantics: Semantics, context: str, spurious: int
) -> list[str]:
    return [
        f"model={model}", *driver.semantics_options(semantics), f"context={context}", f"schedule={' '.join(steps)}",
        f"spurious={spurious}",
    ]  # fmt: skip


def replay(
    token: str,
    source: Source,
    *,
    gdb: bool = False,
    show_output: bool = False,
    spurious: int = 0,
    known: int | None = None,
) -> Violation | None:
    """That execution of the real program again, told; None after a look in the debugger, which stops before the last
    step. ``known``: how many writes the last step knows where it is C11's."""
    context = ""
    if match := _CONTEXT.match(token):
        context = match.group(2)
        token = token[: match.end(1)] + token[match.end() - 1 :]
    model, _, semantics = from_token(token, _MANY)
    options = [*request(model, token, semantics, context, spurious), f"output={int(show_output)}"]
    with built(source) as program:
        if gdb:
            _debug(program, [*options, "stop-at-last=1"], source.arguments)
            return None
        symbols = Symbols(program, source.files)
        try:
            return _told(program, options, source, symbols, model, semantics, show_output, known)
        finally:
            symbols.close()


def _told(
    program: Path,
    options: Sequence[str],
    source: Source,
    symbols: Symbols,
    model: ModelName,
    semantics: Semantics,
    show_output: bool,
    known: int | None,
) -> Violation:
    names: events.Names | None = None
    for answer in driver.answers(program, options, source.arguments, trust=source.trust, show_output=show_output):
        match answer:
            case Loaded():
                names = events.Names(symbols, answer.base)
            case Trouble(what="nondeterministic"):
                assert names is not None
                raise TokenError(f"{source.name}: {events.divergence(answer, names)}")
            case Trouble():
                raise TokenError(f"{source.name}: {answer.message}; the token belongs to another program")
            case Replayed():
                assert names is not None
                execution = events.execution(answer.steps, answer.cells, names, model)
                if known is not None:
                    return _weak(execution, known)
                recorded = Recorded(execution, execution.schedule)
                found, _ = story.confirmed(
                    recorded, model, execution.schedule, semantics, kind="replay", telling=execution
                )
                failed = [
                    f"T{thread}: {what}{f' ({message})' if message else ''}"
                    + (f" at {at}" if (at := names.place(place)) is not None else "")
                    + names.cause(*cause)
                    for thread, place, message, what, cause in answer.failures
                ]
                return replace(found, message="; ".join(failed))
    raise TokenError(f"{source.name}: the execution did not come to its end")


def _weak(execution: events.Execution, known: int) -> Violation:
    """Of C11: the last event, had it known so many writes of its location."""
    *before, last = execution.events
    again = partial(execution.having_seen, last)
    return weak.older(execution.initial, before, last.thread, last.address, known, again, execution)


def _text(step: Step) -> str:
    if isinstance(step, Commit):
        return f"{step.thread}c{step.address or ''}"
    return str(step.thread)


def _debug(program: Path, options: Sequence[str], arguments: Sequence[str]) -> None:
    """gdb on the runtime: it stops in the hook of the last step, and goes up to the program's own line."""
    inferior = [str(driver.executable()), str(program), "1", *options, "--", program.stem, *arguments]
    subprocess.run(
        [
            "gdb",
            "-q",
            "-ex",
            "run",
            "-ex",
            "up (int)teetotal_frames_up",
            "--args",
            *inferior,
        ],
        check=False,
    )
