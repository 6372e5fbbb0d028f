"""A hard limit for a call that cannot be interrupted (the SAT solver): it runs in a process of its own."""

from __future__ import annotations

import ctypes
import os
import pickle
import select
import signal
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from teetotal.budget import Budget

Result = TypeVar("Result")
_PR_SET_PDEATHSIG = 1


class ProcessEnded(Exception):
    """The process that worked on it ended before it answered: killed for its memory, most likely."""


def within(seconds: float | None, function: Callable[..., Result], *arguments: Any) -> Result | None:
    """The function's result, or None if the time is over. Without a limit it is simply called."""
    if seconds is None:
        return function(*arguments)
    budget = Budget(seconds)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _serve(writer, function, arguments)
    os.close(writer)
    try:
        answer = _received(reader, budget)
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)  # not waited for yet, so nobody else has its number
        _, status = os.waitpid(child, 0)
    if answer is None:
        return None
    try:
        worked, result = pickle.loads(answer)
    except (EOFError, pickle.UnpicklingError) as error:
        code = os.waitstatus_to_exitcode(status)
        how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with status {code}"
        raise ProcessEnded(f"its process ended {how}") from error
    if not worked:
        raise result
    done: Result = result
    return done


def _received(pipe: int, budget: Budget) -> bytes | None:
    """What is written until the other end is closed; None if the time is over before that."""
    pieces: list[bytes] = []
    while select.select([pipe], [], [], budget.limit)[0]:
        piece = os.read(pipe, 1 << 20)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
    return None


def _serve(pipe: int, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    """What the other process does; it never returns."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who started us decides
        if sys.platform == "linux":  # and when that one is killed, nobody waits for our answer
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        try:
            answer = pickle.dumps((True, function(*arguments)))
        except Exception as error:
            answer = pickle.dumps((False, error))
        with open(pipe, "wb") as out:
            out.write(answer)
        status = 0
    finally:
        os._exit(status)
