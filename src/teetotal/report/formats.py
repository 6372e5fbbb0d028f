"""Every way to write answers down for somebody who was not there, by the name that ``--output`` gives it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from teetotal.report.json import encoded

Plain = dict[str, Any]
Renderer = Callable[[Sequence[Plain]], str]


def json_lines(answers: Sequence[Plain]) -> str:
    """As ``--json`` prints them."""
    return "".join(f"{encoded(answer)}\n" for answer in answers)


def _loaded_late(module: str, function: str) -> Renderer:
    """Loaded when it is wanted."""

    def render(answers: Sequence[Plain]) -> str:
        made: str = getattr(importlib.import_module(f"teetotal.report.{module}"), function)(answers)
        return made

    return render


FORMATS: dict[str, Renderer] = {
    "json": json_lines,
    "html": _loaded_late("html", "page"),
    "sarif": _loaded_late("sarif", "sarif"),
    "junit": _loaded_late("junit", "junit"),
    "github": _loaded_late("github", "github"),
}
WITHOUT_VERDICTS = ("json", "html")
"""Those that can hold what is no verdict: rows of a table, recordings."""
