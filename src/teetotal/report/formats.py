"""Every way to write answers down for somebody who was not there, by the name that ``--output`` gives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from teetotal.report.json import encoded

Plain = dict[str, Any]
Renderer = Callable[[Sequence[Plain]], str]


def json_lines(answers: Sequence[Plain]) -> str:
    """As ``--json`` prints them."""
    return "".join(f"{encoded(answer)}\n" for answer in answers)


def _html(answers: Sequence[Plain]) -> str:
    from teetotal.report.html import page

    return page(answers)


def _sarif(answers: Sequence[Plain]) -> str:
    from teetotal.report.sarif import sarif

    return sarif(answers)


def _junit(answers: Sequence[Plain]) -> str:
    from teetotal.report.junit import junit

    return junit(answers)


def _github(answers: Sequence[Plain]) -> str:
    from teetotal.report.github import github

    return github(answers)


FORMATS: dict[str, Renderer] = {
    "json": json_lines,
    "html": _html,
    "sarif": _sarif,
    "junit": _junit,
    "github": _github,
}
WITHOUT_VERDICTS = ("json", "html")
"""Those that can hold what is no verdict: rows of a table, recordings."""
