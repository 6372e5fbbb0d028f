"""The answer of ``teetotal replay`` as text: the execution step by step, and what it shows."""

from __future__ import annotations

from collections.abc import Iterator

from teetotal.answers.replay import ReplayAnswer
from teetotal.report import terminal


def render(answer: ReplayAnswer) -> str:
    return "\n".join(_lines(answer))


def _lines(answer: ReplayAnswer) -> Iterator[str]:
    told = answer.execution
    named = "" if answer.name == answer.input else f": {answer.name}"
    yield f"{answer.input}{named}, under {told.model.upper()}"
    yield from terminal.steps(told, answer.input)
    if told.message:
        yield f"  Not safe: {told.message}."
    if not answer.judged:
        yield "  Whether it is sequentially consistent is not judged: it has atomic blocks."
    elif told.cycle:
        yield from terminal.proof(told)
    else:
        yield "  A sequentially consistent execution can do that too."
