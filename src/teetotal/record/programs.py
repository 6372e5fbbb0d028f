"""C and C++ programs: executions under the explorer, as histories for ``history`` and SC traces for ``monitor``.

A mutex is an rmw of 0 and 1 in a history. Values are those of the program, so that they may repeat.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import NamedTuple

from msgspec.structs import replace

from teetotal.answers.events import Event, Kind, MemoryOrder, ModelName
from teetotal.answers.strategies import Strategy
from teetotal.engines.runtime.events import Execution
from teetotal.engines.runtime.recording import executions
from teetotal.histories.history import History, Operation, to_text
from teetotal.programs.c.build import Source
from teetotal.traces.trace import Trace

_OTHER = re.compile(r"[^\w.$\[\]/+]", re.ASCII)
"""What names in a history's text are not made of."""


class RecordedExecution(NamedTuple):
    """An execution of a program. Events whose values are not known are in its ``trace``, and not in its ``history``."""

    name: str
    execution: Execution

    @property
    def history(self) -> History:
        names = _names(self.execution)
        operations = [_operation(event, names) for event in self.execution.events if _is_known(event)]
        initial = {names[name]: value for name, value in self.execution.initial.items() if value}
        return History.of(operations, name=self.name, initial=initial)

    def text(self, format: str = "text") -> str:
        assert format == "text", "the variables of a program have names"
        return to_text(self.history)

    @property
    def trace(self) -> Trace:
        """Of an SC execution. What begins as held, as a thread does until it is started, is no mutex there, but an rmw."""
        held = {name for name, value in self.execution.initial.items() if value}
        return Trace.from_events(
            replace(event, kind=Kind.RMW) if event.kind.is_atomic and event.address in held else event
            for event in self.execution.events
        )

    @property
    def orders(self) -> list[MemoryOrder]:
        """C11's, of the events of ``trace``."""
        return [event.order for event in self.execution.events]

    @property
    def operations(self) -> int:
        return sum(map(_is_known, self.execution.events))


def executed(
    source: Source,
    *,
    count: int = 10,
    seed: int = 0,
    model: ModelName = "sc",
    seconds: float | None = None,
    unseen: list[str] | None = None,
) -> Iterator[RecordedExecution | None]:
    """So many random executions. ``unseen`` is told what no hook sees, and so is in none of them. None: those before do not
    count (``engines.runtime.recording``)."""
    strategy = Strategy("random", count)
    called = told_name(PurePath(source.name).name)
    number = 0
    for execution in executions(source, strategy, model, seed=seed, seconds=seconds, unseen=unseen):
        if execution is None:
            number = 0
            yield None
        else:
            yield RecordedExecution(f"{called}-{seed}-{number}", execution)
            number += 1


def settled(found: Iterable[RecordedExecution | None]) -> list[RecordedExecution]:
    """Those that count, when all have come."""
    kept: list[RecordedExecution] = []
    for one in found:
        if one is None:
            kept.clear()
        else:
            kept.append(one)
    return kept


def told_name(name: str) -> str:
    """As a history's text can have it."""
    return _OTHER.sub("_", name)


def _names(execution: Execution) -> dict[str, str]:
    """Of locations, as a history's text can have them, and still different."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for name in execution.initial:
        plain = shown = told_name(name)
        number = 1
        while shown in taken:
            number += 1
            shown = f"{plain}.{number}"
        names[name] = shown
        taken.add(shown)
    return names


def _is_known(event: Event) -> bool:
    return event.kind.is_fence or (event.value if event.read is None else event.read) is not None


def _operation(event: Event, names: dict[str, str]) -> Operation:
    kind = Kind.RMW if event.kind.is_atomic else event.kind
    if kind.is_fence:
        return Operation(f"T{event.thread}", kind)
    assert event.address is not None
    reads = event.value if kind is Kind.LD else event.read
    return Operation(
        thread=f"T{event.thread}",
        kind=kind,
        address=names[event.address],
        read=reads if kind is not Kind.ST else None,
        written=None if kind is Kind.LD else event.value,
    )
