"""Answers as one HTML page that needs nothing else: ``page.html``, built from ``web/``, with their JSON in it.

The page asks nothing of the network, and nothing that an answer says is markup: the JSON stands in a ``script`` element
that is not run, in which no ``<`` is left, and the page puts it into the document as text alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from teetotal.report.json import encoded

MARK = '<script type="application/json" id="answers">[]</script>'
_ESCAPED = {code: f"\\u{code:04x}" for code in (*map(ord, "<>&"), 0x2028, 0x2029)}
_EXACT = 2**53
"""JavaScript's numbers are exact up to here."""


def page(answers: Sequence[dict[str, Any]]) -> str:
    """Of plain answers (``to_plain``), or of what ``--json`` printed."""
    whole = (files("teetotal.report") / "page.html").read_text(encoding="utf-8")
    before, after = whole.split(MARK)
    data = ",\n".join(encoded(_shown(answer)).translate(_ESCAPED) for answer in answers)
    opened, closed = MARK.split("[]")
    return f"{before}{opened}[{data}]{closed}{after}"


def _shown(answer: dict[str, Any]) -> dict[str, Any]:
    """Without the violations that each model has again, and with numbers that JavaScript would round as text."""
    models = answer.get("models")
    if answer.get("violations") and isinstance(models, dict):
        told = {name: _without_violations(model) for name, model in models.items()}
        answer = {**answer, "models": told}
    shown: dict[str, Any] = _exact(answer)
    return shown


def _without_violations(model: Any) -> Any:
    return {key: value for key, value in model.items() if key != "violations"} if isinstance(model, dict) else model


def _exact(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {key: _exact(value) for key, value in plain.items()}
    if isinstance(plain, list | tuple):
        return [_exact(value) for value in plain]
    return str(plain) if type(plain) is int and abs(plain) > _EXACT else plain
