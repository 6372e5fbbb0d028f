"""Answers as JUnit XML: a suite per input, a case per model. A violation is a failure; what is inconclusive or was refused
is an error, since nothing was tested."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from teetotal.report import found

_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML may hold, not even as a reference."""


def junit(answers: Sequence[dict[str, Any]]) -> str:
    suites = [_suite(answer) for answer in answers]
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", *suites, "</testsuites>", ""])


def _suite(answer: dict[str, Any]) -> str:
    cases = list(_cases(answer))
    failures, errors = (sum(f"<{what} " in case for case in cases) for what in ("failure", "error"))
    seconds = f"{answer.get('seconds') or 0:.3f}"
    attributes = f"name={_quoted(found.name(answer))} tests={_quoted(len(cases))} failures={_quoted(failures)}"
    head = f'  <testsuite {attributes} errors={_quoted(errors)} time="{seconds}">'
    return "\n".join([head, *cases, "  </testsuite>"])


def _cases(answer: dict[str, Any]) -> Iterator[str]:
    """Per model where each has its own verdict; else one."""
    told = found.violations(answer)
    models = answer.get("models")
    if answer.get("command") in ("check", "verify", "monitor") and isinstance(models, dict) and models:
        for name, model in models.items():
            own = [violation for violation in told if violation.model == name]
            yield _case(answer, name.upper(), model["verdict"], own)
    else:
        yield _case(answer, str(answer.get("model", answer["command"])), answer["verdict"], told)


def _case(answer: dict[str, Any], name: str, verdict: str, told: Sequence[Any]) -> str:
    classname = f"teetotal.{answer['command']}.{found.name(answer)}"
    trouble = found.trouble(answer)
    lines: list[str] = []
    if verdict == "violation":
        message = found.headline(told[0]) if told else "violation"
        text = "\n\n".join("\n".join(found.story(violation)) for violation in told)
        lines.append(f'<failure type="violation" message={_quoted(message)}>{_text(text)}</failure>')
    elif verdict != "safe":
        what = trouble.what if trouble is not None else "inconclusive"
        kind = "refused" if trouble is not None and trouble.refused else "inconclusive"
        lines.append(f'<error type="{kind}" message={_quoted(what)}>{_text(what)}</error>')
    if answer.get("diff"):
        lines.append(f"<system-out>{_text(answer['diff'])}</system-out>")
    head = f"    <testcase classname={_quoted(classname)} name={_quoted(name)}>"
    return "\n".join([head, *(f"      {line}" for line in lines), "    </testcase>"])


def _text(text: str) -> str:
    return escape(_possible(text))


def _quoted(value: object) -> str:
    return quoteattr(_possible(str(value)), {"\n": "&#10;", "\t": "&#9;", "\r": "&#13;"})


def _possible(text: str) -> str:
    return _IMPOSSIBLE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
