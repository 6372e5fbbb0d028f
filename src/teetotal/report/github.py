"""Answers as workflow commands, which GitHub shows at the lines of a change: ``::error file=…,line=…::…``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from teetotal.answers.events import Location
from teetotal.report import found


def github(answers: Sequence[dict[str, Any]]) -> str:
    return "".join(f"{line}\n" for answer in answers for line in _lines(answer))


def _lines(answer: dict[str, Any]) -> Iterator[str]:
    told = found.violations(answer)
    for violation in told:
        place = next(iter(found.places(violation)), None)
        title = f"teetotal: {violation.kind} under {violation.model.upper()}"
        yield _command("error", answer, place, title, "\n".join(found.story(violation)))
    if answer.get("verdict") == "violation" and not told:
        yield _command("error", answer, None, "teetotal: violation", found.name(answer))
    for fence in answer.get("fences") or []:
        title = f"teetotal: {fence['kind']}"
        proved = "proved" if found.proved(answer) else "not proved"
        text = f"{fence['kind']} here, with {len(answer['fences']) - 1} more: {proved}"
        yield _command("warning", answer, Location(fence["file"], fence["line"]), title, text)
    trouble = found.trouble(answer)
    if trouble is not None:
        level = "error" if trouble.refused else "warning"
        yield _command(level, answer, trouble.location, "teetotal", f"{found.name(answer)}: {trouble.what}")


def _command(level: str, answer: dict[str, Any], place: Location | None, title: str, text: str) -> str:
    where = {"file": str(answer["input"])} if place is None else {"file": place.file, "line": str(place.line)}
    properties = ",".join(f"{key}={_property(value)}" for key, value in {**where, "title": title}.items())
    return f"::{level} {properties}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
