"""A hard limit for a call that cannot be interrupted (the SAT solver): it runs in a process of its own."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


def within(seconds: float | None, function: Callable[..., Result], *arguments: Any) -> Result | None:
    """The function's result, or None if the time is over. Without a limit it is simply called."""
    if seconds is None:
        return function(*arguments)
    command = [sys.executable, "-c", "from teetotal.histories.time_limit import serve; serve()"]
    work = pickle.dumps((function, arguments))
    try:
        done = subprocess.run(command, input=work, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode == -signal.SIGKILL or b"MemoryError" in done.stderr[-200:]:
        raise MemoryError
    if done.returncode != 0:
        raise RuntimeError(f"the process of {function.__name__} died:\n{done.stderr.decode(errors='replace')}")
    result: Result = pickle.loads(done.stdout)
    return result


def serve() -> None:
    """What the other process does: work from standard input, the result to standard output."""
    function, arguments = pickle.load(sys.stdin.buffer)
    sys.stdout.buffer.write(pickle.dumps(function(*arguments)))
