"""Answers as SARIF 2.1.0, for code scanning: a result per violation, its execution as thread flows, fences as fixes.

==========================  =========================================================================================
SARIF                       here
==========================  =========================================================================================
``result``                  a violation; the rule is its kind
``codeFlow``                the execution that shows it: a ``threadFlow`` for each thread, ``executionOrder`` across them,
                            ``state`` the thread's buffer
``partialFingerprints``     what happens where, by the words of the lines and not by their numbers: an edit above leaves it
``fix``                     the patch of ``fence``, where the patched program is proved
``notification``            what was refused, or left inconclusive
==========================  =========================================================================================
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from teetotal.answers.events import Location
from teetotal.answers.violation import Violation
from teetotal.report import found
from teetotal.report.style import counted

RULES = {
    "robustness": "On a relaxed machine it does something that no sequentially consistent machine does",
    "assertion": "An assertion fails",
    "final assertion": "What must hold in the end does not",
    "outcome": "A result shows that no sequentially consistent machine has",
    "race": "Two accesses race: nothing orders them, and one is not atomic",
    "deadlock": "Threads wait for each other for ever",
    "livelock": "Threads spin or wait for what never comes",
    "wild access": "An access goes astray",
    "crash": "The program crashes",
    "use after free": "Memory is used after it was freed",
    "use after return": "A frame's memory is used after the function has returned",
    "heap overflow": "Memory of the heap is accessed that nobody allocated",
    "misuse": "A synchronisation object is misused",
    "abort": "The program aborts",
    "history": "What was observed is not consistent with the memory model",
    "replay": "The execution that was asked for is not sequentially consistent, or ends badly",
    "missing fence": "A fence is missing",
}


def sarif(answers: Sequence[dict[str, Any]]) -> str:
    """One log with one run."""
    results = [result for answer in answers for result in _results(answer)]
    used = list(dict.fromkeys(result["ruleId"] for result in results))
    for result in results:
        result["ruleIndex"] = used.index(result["ruleId"])
    notifications = [_notification(answer) for answer in answers if found.trouble(answer) is not None]
    driver = {
        "name": "teetotal",
        "semanticVersion": next((answer["version"] for answer in answers if "version" in answer), "0"),
        "rules": [
            {"id": _rule(kind), "shortDescription": {"text": text}, "defaultConfiguration": {"level": "error"}}
            for rule in used
            for kind, text in RULES.items()
            if _rule(kind) == rule
        ],
    }
    refused = any((trouble := found.trouble(answer)) is not None and trouble.refused for answer in answers)
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not refused, "toolExecutionNotifications": notifications}],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    log = {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(log, separators=(",", ":")) + "\n"


def _rule(kind: str) -> str:
    return f"teetotal/{kind.replace(' ', '-')}"


def _results(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    fixes = _fixes(answer)
    told = found.violations(answer)
    for violation in told:
        yield _result(answer, violation, fixes)
    if not told and answer.get("fences"):
        places = [Location(fence["file"], fence["line"]) for fence in answer["fences"]]
        count = len(places)
        yield {
            "ruleId": _rule("missing fence"),
            "level": "error",
            "message": {"text": f"{found.name(answer)}: {counted(count, 'fence')} missing"},
            "locations": [_location(places[0])],
            "relatedLocations": [_location(place) for place in places[1:]],
            "partialFingerprints": {"teetotalFence/v1": _digest([_line(answer, place) for place in places])},
            **({"fixes": fixes} if fixes else {}),
        }


def _result(answer: dict[str, Any], violation: Violation, fixes: list[dict[str, Any]]) -> dict[str, Any]:
    places = found.places(violation)
    result: dict[str, Any] = {
        "ruleId": _rule(violation.kind),
        "level": "error",
        "message": {"text": "\n".join(found.story(violation))},
        "locations": [_location(places[0]) if places else _input(answer)],
        "relatedLocations": [_location(place) for place in places[1:]],
        "partialFingerprints": {"teetotalViolation/v1": _fingerprint(answer, violation)},
        "properties": {"model": violation.model, "input": answer["input"], "command": answer["command"]},
    }
    flows = list(_thread_flows(violation))
    if flows:
        result["codeFlows"] = [{"message": {"text": found.headline(violation)}, "threadFlows": flows}]
    if fixes:
        result["fixes"] = fixes
    return result


def _thread_flows(violation: Violation) -> Iterator[dict[str, Any]]:
    cycle = {edge.source for edge in violation.cycle}
    flows: dict[int, list[dict[str, Any]]] = {}
    if not violation.steps:  # a history, or what a monitor saw: events without an order between threads
        for number, event in enumerate(violation.events):
            flows.setdefault(event.thread, []).append(
                {"location": _location(event.location, event.text), "importance": _importance(number in cycle)}
            )
    for order, step in enumerate(violation.steps, start=1):
        told = violation.events[step.event] if step.event >= 0 else None
        text = step.text or (told.text if told is not None else "")
        place = step.location if told is None else told.location
        flow: dict[str, Any] = {
            "location": _location(
                place, f"{text} reaches memory" if step.action == "commit" and not step.text else text
            ),
            "executionOrder": order,
            "importance": _importance(step.event in cycle),
        }
        if step.thread < len(step.buffers):
            flow["state"] = {"buffer": {"text": ", ".join(step.buffers[step.thread]) or "empty"}}
        flows.setdefault(step.thread, []).append(flow)
    for thread, locations in sorted(flows.items()):
        yield {"id": f"T{thread}", "locations": locations}


def _importance(essential: bool) -> str:
    return "essential" if essential else "important"


def _location(place: Location | None, text: str = "") -> dict[str, Any]:
    located: dict[str, Any] = {"message": {"text": text}} if text else {}
    if place is not None:
        located["physicalLocation"] = {
            "artifactLocation": _artifact(place.file),
            "region": {"startLine": max(place.line, 1)},
        }
    return located


def _input(answer: dict[str, Any]) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": _artifact(str(answer["input"]))}}


def _artifact(path: str) -> dict[str, Any]:
    """Relative to where teetotal was called, which for code scanning is the top of the repository."""
    encoded = quote(os.fsencode(path))
    if path.startswith("/"):
        return {"uri": f"file://{encoded}"}
    return {"uri": re.sub(r"^(\./)+", "", encoded), "uriBaseId": "%SRCROOT%"}


def _fingerprint(answer: dict[str, Any], violation: Violation) -> str:
    """The same for the same fault of the same program, wherever its lines have moved."""
    events = [violation.events[edge.source] for edge in violation.cycle]
    what = [(str(event.kind), event.address or "", _line(answer, event.location)) for event in events]
    turned = min((what[i:] + what[:i] for i in range(len(what))), default=[])  # wherever the cycle is begun
    where = [_line(answer, place) for place in found.places(violation)] if not what else []
    message = re.sub(r"\S+:\d+", "", violation.message) if not what else ""
    return _digest([answer["input"], violation.model, violation.kind, turned, where, message])


def _digest(what: Any) -> str:
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]


def _line(answer: dict[str, Any], place: Location | None) -> str:
    """The words of a line, without the blanks around them; where the text is not known, its number."""
    if place is None:
        return ""
    for piece in answer.get("sources", {}).get(place.file, []):
        if 0 <= place.line - piece["line"] < len(piece["text"]):
            return str(piece["text"][place.line - piece["line"]]).strip()
    return str(place)


def _notification(answer: dict[str, Any]) -> dict[str, Any]:
    trouble = found.trouble(answer)
    assert trouble is not None
    return {
        "level": "error" if trouble.refused else "warning",
        "message": {"text": f"{found.name(answer)}: {trouble.what}"},
        "locations": [_input(answer) if trouble.location is None else _location(trouble.location)],
    }


# -- fixes ------------------------------------------------------------------------------------------------------------

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


def _fixes(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The patch as one fix: no part of it is proved by itself, and a patch that is not proved is none."""
    if not found.proved(answer) or not answer.get("diff") or "\\ No newline" in answer["diff"]:
        return []
    files = {fence["file"] for fence in (*answer.get("fences", []), *answer.get("removed", []))} | {answer["input"]}
    changes: dict[str, list[dict[str, Any]]] = {}
    file, line = "", 0
    for text in str(answer["diff"]).split("\n")[:-1]:
        if text.startswith("--- a/"):
            named = text[len("--- a/") :].rstrip("\t")
            file = next((one for one in files if os.path.abspath(one) in (f"/{named}", os.path.abspath(named))), named)
        elif text.startswith("+++ "):
            continue
        elif (hunk := _HUNK.match(text)) is not None:
            line = int(hunk[1]) + (hunk[2] == "0")
        elif text[:1] == "+":
            _replace(changes.setdefault(file, []), line, 0, f"{text[1:]}\n")
        elif text[:1] == "-":
            _replace(changes.setdefault(file, []), line, 1, "")
            line += 1
        else:
            line += 1
    goal = f"{answer.get('goal', 'robust')} under {' and '.join(model.upper() for model in answer['models'])}"
    return [
        {
            "description": {"text": f"{len(answer.get('fences', []))} fences, with which it is proved {goal}"},
            "artifactChanges": [
                {"artifactLocation": _artifact(name), "replacements": replacements}
                for name, replacements in changes.items()
            ],
        }
    ]


def _replace(replacements: list[dict[str, Any]], line: int, deleted: int, text: str) -> None:
    """One more line that goes or comes; with those just before it, it is one replacement."""
    if replacements and replacements[-1]["deletedRegion"]["endLine"] == line:
        last = replacements[-1]
        last["deletedRegion"]["endLine"] += deleted
        last["insertedContent"]["text"] += text
        return
    region = {"startLine": line, "startColumn": 1, "endLine": line + deleted, "endColumn": 1}
    replacements.append({"deletedRegion": region, "insertedContent": {"text": text}})
