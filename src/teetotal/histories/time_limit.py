"""A hard limit for a call that cannot be interrupted (the SAT solver): it runs in a process of its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


def within(seconds: float | None, function: Callable[..., Result], *arguments: Any) -> Result | None:
    """The function's result, or None if the time is over. Without a limit it is simply called."""
    if seconds is None:
        return function(*arguments)
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_result, args=(sender, function, arguments))
    process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            return None
        outcome = receiver.recv()
    except EOFError as error:
        raise RuntimeError(f"the process of {function.__name__} died") from error
    finally:
        process.kill()
        process.join()
        receiver.close()
    if isinstance(outcome, Exception):
        raise outcome
    result: Result = outcome
    return result


def _send_result(sender: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        result = function(*arguments)
    except Exception as error:
        result = error
    sender.send(result)
