"""Drives ``teetotal-runtime``: starts it on a built object, and reads its answers, one JSON object a line, as they come."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Semantics
from teetotal.answers.options import COMPILED_LOOP_BOUND
from teetotal.answers.verdict import Waiting
from teetotal.engines.runtime import messages
from teetotal.engines.runtime.messages import (
    AnyMessage,
    End,
    Explored,
    Loaded,
    Replayed,
    Restart,
    Stopped,
    Trouble,
    Whole,
)
from teetotal.programs.c.build import ASSERTIONS, BIT_FIELDS, LIBRARY, LIVE, ROUNDS, VARIABLES, runtime
from teetotal.scale.processes import any_size, fixed_addresses, hurried_later, spent

_NOT_STARTED = 5  # the exit status
_OVERWRITTEN = "the program overwrites the explorer's memory"


class RuntimeDied(TeetotalError):
    """The program took the explorer down with it; what it had told until then is known."""


executable = runtime


def semantics_options(semantics: Semantics) -> list[str]:
    return [f"rmw={semantics.rmw}", f"mutex={semantics.mutex}", f"failed-cas={semantics.failed_cas}"]


def loop_options(bound: int | None, waiting: Waiting) -> list[str]:
    """What the user says of loops bounds all of them. Where waiting rounds are part of executions, something must."""
    if bound is None and waiting == "count":
        bound = COMPILED_LOOP_BOUND
    given = [] if bound is None else [f"loop-bound={bound}", f"idle-bound={bound}"]
    return [f"waiting={waiting}", *given]


def _decoded(line: bytes) -> AnyMessage:
    try:
        return messages.decode(line)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise RuntimeDied(_OVERWRITTEN) from error


def answers(
    program: Path, options: Sequence[str], arguments: Sequence[str] = (), **how: bool
) -> Generator[AnyMessage, None, None]:
    """What the runtime tells: see ``lines``."""
    for _, answer in lines(program, options, arguments, **how):
        yield answer


def lines(
    program: Path,
    options: Sequence[str],
    arguments: Sequence[str] = (),
    *,
    trust: bool = False,
    show_output: bool = False,
) -> Generator[tuple[bytes, AnyMessage], None, None]:
    """What the runtime tells, each with the line that it was told by. RuntimeDied, after the last of it, where it ended by
    a signal. Without ``trust`` the program has no network, and what it writes is in a folder of its own."""
    runtime = Runtime(program, options, arguments, trust=trust, show_output=show_output)
    try:
        yield from runtime.lines()
        runtime.judge()
    finally:
        runtime.close()


class Runtime:
    """A process. With ``serve`` it stays for one part of a search after the other (``ask``)."""

    def __init__(
        self,
        program: Path,
        options: Sequence[str],
        arguments: Sequence[str] = (),
        *,
        trust: bool = False,
        show_output: bool = False,
        serve: bool = False,
    ) -> None:
        options = _with_files(program, options, trust)
        reader, writer = os.pipe()
        served = ["serve=1"] if serve else []
        command = [str(executable()), str(program), str(writer), *options, *served, "--", program.stem, *arguments]
        with any_size(), fixed_addresses(), hurried_later():
            self.process = subprocess.Popen(
                command,
                pass_fds=[writer],
                stdin=subprocess.PIPE if serve else subprocess.DEVNULL,
                stdout=None if show_output else subprocess.DEVNULL,
                stderr=None if show_output else subprocess.PIPE,
            )
        os.close(writer)
        self.channel = os.fdopen(reader, "rb")
        self.ended = False
        self.requests = 0
        self.spent = 0.0  # processor seconds, as far as whoever asks counts them
        self.watched = 0.0
        self.loaded: tuple[bytes, AnyMessage] | None = None

    def watching(self) -> float:
        """Processor seconds of whoever watches the explorer, since this was asked last."""
        before, self.watched = self.watched, spent(self.process.pid)
        return self.watched - before

    def ask(self, seconds: float, executions: int, part: str) -> Generator[tuple[bytes, AnyMessage], None, None]:
        """What ``lines`` of a process would be that explores that part alone. After an exception it is of no use."""
        assert self.process.stdin is not None
        self.requests += 1
        request = f"{seconds} {executions} {part}".encode("ascii")
        try:
            self.process.stdin.write(b"%d\n%b" % (len(request), request))
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise RuntimeDied("the explorer has ended") from error
        if self.loaded is not None:
            yield self.loaded
        self.ended = False
        for line, answer in self.lines():
            if isinstance(answer, Loaded):
                self.loaded = line, answer
            if isinstance(answer, Explored) and answer.request != self.requests:
                raise RuntimeDied(_OVERWRITTEN)
            yield line, answer
            if self.ended:
                return
        self.judge()

    def lines(self) -> Generator[tuple[bytes, AnyMessage], None, None]:
        told: set[bytes] = set()  # after a death that it survives, the runtime tells again what it told before
        for line in self.channel:
            answer = _decoded(line)
            if isinstance(answer, Restart):
                told.clear()
            elif line in told:
                continue
            told.add(line)
            self.ended = isinstance(answer, End | Trouble | Replayed | Stopped | Whole)
            if isinstance(answer, Trouble) and answer.what == "overwritten":
                raise RuntimeDied(_OVERWRITTEN)
            if isinstance(answer, Trouble) and answer.what == "internal":
                raise AssertionError(f"teetotal-runtime: {answer.message}")
            yield line, answer

    def judge(self) -> None:
        """It has told all: whether it ended as it should."""
        said = self.process.stderr.read().decode(errors="replace") if self.process.stderr is not None else ""
        status = self.process.wait()
        if not self.ended and status not in (2, _NOT_STARTED):
            how = signal.Signals(-status).name if status < 0 else "it ended the process"
            raise RuntimeDied(f"the program took the explorer down: {how}")
        if status == _NOT_STARTED:
            raise TeetotalError(said.strip())
        if status < 0:  # after its last words
            raise RuntimeDied(_OVERWRITTEN)
        if status not in (0, 3):
            raise AssertionError(f"teetotal-runtime ended with status {status}: {said}")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.channel.close()
        for pipe in (self.process.stdin, self.process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def _with_files(program: Path, options: Sequence[str], trust: bool) -> Sequence[str]:
    """What lies beside the program, for the runtime."""
    if not trust:
        own = program.parent / "own"
        own.mkdir(exist_ok=True)
        options = [*options, f"own={own}"]
    for name in (LIBRARY, VARIABLES, LIVE, ASSERTIONS):
        if (beside := program.parent / name).exists():
            options = [*options, f"{name}={beside}"]
    if (program.parent / BIT_FIELDS).exists():
        options = [*options, "bit-fields=1"]
    if (rounds := program.parent / ROUNDS).exists():
        options = [*options, f"rounds={rounds.read_text()}"]
    return options
