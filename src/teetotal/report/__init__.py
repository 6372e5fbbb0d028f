"""Answers as text, as JSON, as a page, and for machines. Renderers know answers, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from teetotal.answers.answer import Answer
from teetotal.answers.check import CheckAnswer
from teetotal.answers.errors import TeetotalError
from teetotal.answers.fence import FenceAnswer
from teetotal.answers.history import HistoryAnswer
from teetotal.answers.monitor import MonitorAnswer
from teetotal.answers.replay import ReplayAnswer
from teetotal.answers.verify import VerifyAnswer
from teetotal.report.json import to_json

__all__ = ["as_format", "text", "to_json"]


def as_format(answers: Iterable[Answer], format: str) -> str:
    """As ``--output`` writes them: ``json``, ``html``, ``sarif``, ``junit`` or ``github``."""
    from teetotal.report.formats import FORMATS
    from teetotal.report.json import to_plain

    if format not in FORMATS:
        raise TeetotalError(f"{format!r} is no format; there are {', '.join(FORMATS)}")
    return FORMATS[format]([to_plain(answer) for answer in answers])


def text(answer: Answer) -> str:
    """As the terminal shows it, whole."""
    from teetotal.report import fences, history, monitored, replay, terminal, verify

    match answer:
        case CheckAnswer():
            return terminal.render(answer)
        case FenceAnswer():
            return fences.render(answer)
        case HistoryAnswer():
            return "\n".join([*history.lines(answer), *history.explanation(answer), *history.models(answer.models)])
        case MonitorAnswer():
            return monitored.render(answer)
        case ReplayAnswer():
            return replay.render(answer)
        case VerifyAnswer():
            return verify.render(answer)
    return str(answer)
