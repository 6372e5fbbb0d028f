"""The answer of ``teetotal replay`` as text: the execution step by step, and what it shows."""

from __future__ import annotations

from collections.abc import Iterator

from teetotal.answers.replay import ReplayAnswer
from teetotal.report import story
from teetotal.report.style import PLAIN, Page


def render(answer: ReplayAnswer, page: Page = PLAIN) -> str:
    return "\n".join(_lines(answer, page))


def _lines(answer: ReplayAnswer, page: Page) -> Iterator[str]:
    told = answer.execution
    named = "" if answer.name == answer.input else f": {answer.name}"
    yield f"{answer.input}{named}, under {told.model.upper()}"
    yield from story.steps(told, answer.input, page, folded=False)
    if told.message:
        yield from page.wrapped(f"{page.bad('Not safe')}: {told.message}.", "  ")
    if not answer.judged:
        yield "  Whether it is sequentially consistent is not judged: it has atomic blocks."
    elif told.cycle:
        yield from story.proof(told, page)
    else:
        yield "  A sequentially consistent execution can do that too."
