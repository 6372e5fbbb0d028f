"""The oracle of the Python front end: Python itself runs the generators, one memory access at a time.

``agree`` runs the same threads twice under the same schedule, once as generators over a dictionary and once as the
compiled ``Program``, and compares every request, every thread's fate, the memory, and the locals at the end.
"""

from __future__ import annotations

import linecache
import random
import sys
from collections.abc import Callable, Generator
from itertools import count
from types import FrameType
from typing import Any

from teetotal.answers.events import Kind, Request
from teetotal.programs.expressions import wrap
from teetotal.programs.program import LocalState, Program
from teetotal.programs.python.operations import Blocked

STEPS = 120
_serial = count()


def execute(text: str) -> dict[str, Any]:
    """Run source text as a module whose lines can be looked up, as if it had been a file."""
    name = f"<module {next(_serial)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": "generated"}
    exec(compile(text, name, "exec"), namespace)
    return namespace


class RealThread:
    """A generator, run by Python."""

    def __init__(self, generator: Generator[Any, Any, Any]) -> None:
        self.generator = generator
        self.code = generator.gi_code
        self.locals: dict[str, Any] = {}
        self.status = "running"
        self.request: Request | None = None
        self.advance(None)

    def advance(self, response: int | None) -> None:
        outer = sys.getprofile()
        sys.setprofile(self._watch)
        try:
            request = self.generator.send(response)
            self.request = request() if callable(request) else request
        except StopIteration:
            self.status, self.request = "ended", None
        except (AssertionError, IndexError):
            self.status, self.request = "failed", None
        except Blocked:
            self.status, self.request = "blocked", None
        finally:
            sys.setprofile(outer)

    def _watch(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and frame.f_code is self.code:
            self.locals = dict(frame.f_locals)


def agree(make: Callable[[], list[Generator[Any, Any, Any]]], program: Program, seed: int) -> list[str]:
    """Check one random sequentially consistent schedule; the fates of the threads."""
    chance = random.Random(seed)
    memory: dict[str, Any] = dict(program.memory)
    real = [RealThread(generator) for generator in make()]
    states = [program.start(p) for p in range(len(real))]
    compare(program, real, states, memory)
    for _ in range(STEPS):
        ready = [p for p, thread in enumerate(real) if _ready(thread, memory)]
        if not ready:
            break
        p = chance.choice(ready)
        response = _perform(real[p].request, memory)
        real[p].advance(response)
        states[p] = program.update(p, states[p], None if response is None else number(program, response))
        compare(program, real, states, memory)
    return [thread.status for thread in real]


def _ready(thread: RealThread, memory: dict[str, Any]) -> bool:
    request = thread.request
    return request is not None and not (request.kind is Kind.LOCK and memory[str(request.address)] != 0)


def number(program: Program, value: Any) -> int:
    return program.address_of(value) if isinstance(value, str) else wrap(int(value))


def _kept(value: Any) -> Any:
    return value if isinstance(value, str) else wrap(int(value))


def _perform(request: Request | None, memory: dict[str, Any]) -> Any:
    """The answer to a request. An address that was stored stays what it is, so that Python can follow it."""
    assert request is not None
    if request.kind.is_fence:
        return None
    address = str(request.address)
    old = memory[address]
    match request.kind:
        case Kind.ST:
            memory[address] = _kept(request.value)
            return None
        case Kind.RMW:
            assert request.function is not None
            new = request.function(old)
            if new is not None:
                memory[address] = _kept(new)
        case Kind.LOCK | Kind.UNLOCK:
            memory[address] = int(request.kind is Kind.LOCK)
    return old


def compare(program: Program, real: list[RealThread], states: list[LocalState], memory: dict[str, Any]) -> None:
    for p, (thread, state) in enumerate(zip(real, states, strict=True)):
        assert state.status == thread.status, (p, state, thread.status)
        request = program.next(p, state)
        if thread.request is None:
            assert request is None
        else:
            assert request is not None
            assert (request.kind, request.address) == (thread.request.kind, thread.request.address)
            assert request.location is not None
            if request.kind is Kind.ST:
                assert request.value == number(program, thread.request.value)
            if request.kind is Kind.RMW:
                assert request.function is not None
                assert thread.request.function is not None
                for old in (0, 1, memory[str(request.address)]):
                    ours, theirs = request.function(number(program, old)), thread.request.function(old)
                    assert ours == (None if theirs is None else number(program, theirs))
        for name, value in zip(program.threads[p].registers, state.registers, strict=True):
            if name.isidentifier():
                assert value == number(program, thread.locals.get(name, 0)), (p, name)
