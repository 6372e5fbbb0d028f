"""Answers as text, as JSON, as a page, and for machines. Renderers know answers, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from teetotal.answers.answer import Answer
from teetotal.answers.arguments import checked
from teetotal.answers.check import CheckAnswer
from teetotal.answers.errors import ArgumentError, TeetotalError
from teetotal.answers.fence import FenceAnswer
from teetotal.answers.history import HistoryAnswer
from teetotal.answers.monitor import MonitorAnswer
from teetotal.answers.replay import ReplayAnswer
from teetotal.answers.verify import VerifyAnswer
from teetotal.report.json import to_json
from teetotal.report.results import oddity, read
from teetotal.report.style import PLAIN, Page

__all__ = ["as_format", "json_schema", "read", "text", "to_json"]


@checked
def as_format(answers: Answer | Iterable[Answer | dict[str, Any]], format: str) -> str:
    """One or several as ``--output`` writes them: ``json``, ``html``, ``sarif``, ``junit`` or ``github``. What ``read``
    gives will do, too."""
    from teetotal.report.formats import FORMATS
    from teetotal.report.json import to_plain

    if format not in FORMATS:
        raise TeetotalError(f"{format!r} is no format; there are {', '.join(FORMATS)}")
    several = [to_plain(answers)] if isinstance(answers, Answer) else []
    for answer in () if isinstance(answers, Answer) else answers:
        if isinstance(answer, dict) and (wrong := oddity(answer)):
            raise ArgumentError(f"answers: {wrong}")
        several.append(answer if isinstance(answer, dict) else to_plain(answer))
    return FORMATS[format](several)


def json_schema() -> dict[str, Any]:
    """Of every object that ``to_json`` makes."""
    from teetotal.report.schema import schema

    return schema()


@checked
def text(answer: Answer, page: Page = PLAIN) -> str:
    """As the terminal shows it, whole."""
    from teetotal.report import fences, history, monitored, replay, terminal, verify

    match answer:
        case CheckAnswer():
            return terminal.render(answer, page)
        case FenceAnswer():
            return fences.render(answer, page)
        case HistoryAnswer():
            told = [*history.lines(answer), *history.explanation(answer), *history.models(answer.models)]
            return "\n".join(line for text in told for line in page.kept(text))
        case MonitorAnswer():
            return monitored.render(answer, page)
        case ReplayAnswer():
            return replay.render(answer, page)
        case VerifyAnswer():
            return verify.render(answer, page)
    return str(answer)
