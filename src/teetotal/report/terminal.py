"""The answer of ``teetotal check`` as text: the verdict first, then the shortest story that shows it.

Only verdicts go in. Stable and greppable: ``TSO: NOT ROBUST, safe`` and herd's ``Observation`` are lines of their own, and
where there is no terminal no line is broken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from teetotal.answers.check import CheckAnswer, ModelAnswer
from teetotal.answers.events import Location, ModelName
from teetotal.answers.verdict import Verdict, both
from teetotal.answers.violation import Violation
from teetotal.report import story
from teetotal.report.style import PLAIN, Page, counted

FEW = 20
"""More outcomes than this are counted, not listed, unless all are asked for."""
MOST = 5
"""So many violations that are not told in full have a line under each model; the rest are counted."""
_HARM = {
    "breaks": "breaks",
    "harmless": "harmless for what it asserts: proved",
    "unknown": "unknown whether that breaks anything",
}


def render(
    result: CheckAnswer, page: Page = PLAIN, *, every_outcome: bool = False, every_violation: bool = False
) -> str:
    return "\n".join(_lines(result, page, every_outcome, every_violation))


def headline(result: CheckAnswer, page: Page = PLAIN) -> str:
    """The verdict, in a line."""
    title = result.input if result.input in ("", result.name) else f"{result.input}: {result.name}"
    return "\n".join(page.wrapped(f"{title}: {_verdict(result, page)}"))


def _lines(result: CheckAnswer, page: Page, every_outcome: bool, every_violation: bool) -> Iterator[str]:
    yield headline(result, page)
    yield from _status(result, page)
    constant = {} if every_outcome else _constant(result)
    if constant:
        yield from page.wrapped(f"In every outcome: {_values(constant)}")
    listed = any(model.outcomes for model in result.models.values())
    for number, (name, model) in enumerate(result.models.items()):
        if listed or number == 0:
            yield ""
        yield _summary(name, model, name != "sc" and result.goal != "safe", page)
        yield from _outcomes(name, result.models, constant, every_outcome, page)
        if model.positive is not None:
            word = model.observation or "unknown"
            yield f"Observation {result.name} {word} {model.positive} {model.negative}"
    yield from _violations(result, page, every_violation)
    for hazard in result.hazards:
        yield ""
        yield from page.wrapped(f"Hazard: {hazard}")
        ends = (
            "RC11 forbids it; ARMv8, POWER, RISC-V and compilers may not. An acquire load or a release store ends it."
        )
        yield from page.wrapped(ends, "  ")
    yield ""
    for note in result.notes:
        yield from page.wrapped(f"Note: {note}")
    yield from page.wrapped(f"{result.name}: {_counts(result)}")


class Found(NamedTuple):
    """A violation, told by the first model that has it, and all models that have it."""

    violation: Violation
    models: list[ModelName]


def distinct(result: CheckAnswer) -> list[Found]:
    """What fails first, then cycles that no failure under the same model shows."""
    found: list[Found] = []
    every = [violation for model in result.models.values() for violation in model.violations]
    for violation in sorted(every, key=lambda violation: violation.kind == "robustness"):
        alike = [other for other in found if _same(violation, other.violation)]
        same = next((o for o in alike if o.violation.kind == violation.kind or violation.model in o.models), None)
        if same is None:
            found.append(Found(violation, [violation.model]))
        elif violation.model not in same.models:
            same.models.append(violation.model)
    return found


def _violations(result: CheckAnswer, page: Page, every: bool) -> Iterator[str]:
    """The first of each kind in full, a cycle only where nothing fails; a line for the others, and a count."""
    told: list[Found] = []
    untold: list[Found] = []
    for found in distinct(result):
        if every or _is_news(found.violation, told):
            yield ""
            yield from tell(found.violation, result.input, page, found.models)
            told.append(found)
        else:
            untold.append(found)
    if not untold:
        return
    yield ""
    yield f"{len(untold)} more (--violations tells {'it' if len(untold) == 1 else 'them all'}):"
    headlines = Counter(headline_of(other.violation, result.input, page, other.models) for other in untold)
    for line, count in list(headlines.items())[: None if page.unfolded else MOST]:
        yield from page.wrapped(f"{line}{'' if count == 1 else f' ({count} of them)'}", "  ")
    if not page.unfolded and len(headlines) > MOST:
        yield f"  … and {sum(list(headlines.values())[MOST:])} more"


def _is_news(violation: Violation, told: list[Found]) -> bool:
    if violation.kind == "robustness":  # a cycle shows less than a failure
        return not told
    return all(other.violation.kind != violation.kind for other in told)


def tell(violation: Violation, source: str, page: Page = PLAIN, models: Sequence[ModelName] = ()) -> Iterator[str]:
    """One violation: where, the execution step by step, with the buffers, and why it is not sequentially consistent."""
    yield from page.wrapped(headline_of(violation, source, page, models))
    yield from story.tell(violation, source, page)


def headline_of(violation: Violation, source: str, page: Page = PLAIN, models: Sequence[ModelName] = ()) -> str:
    """A violation in a line."""
    under = _models(models or [violation.model])
    if violation.kind == "robustness":
        return f"{page.bad('Not robust')} under {under}: a cycle through {_ways(violation, source)}"
    if violation.kind == "outcome":
        return f"{page.bad('Beyond SC')} under {under}: {violation.message}"
    if violation.kind == "race":
        return f"{page.bad('Not race-free')} under {under}: {violation.message}"
    return f"{page.bad('Not safe')} under {under}: {violation.message}"


def _summary(name: ModelName, model: ModelAnswer, about_robustness: bool, page: Page) -> str:
    words = []
    if about_robustness and not (model.robust is None and model.race_free is not msgspec.UNSET):
        words.append({True: "robust", False: page.bad("NOT ROBUST"), None: "robust or not: unknown"}[model.robust])
    if model.race_free is not msgspec.UNSET:
        words.append({True: "race-free", False: page.bad("RACES"), None: "race-free or not: unknown"}[model.race_free])
    if model.portable is False and model.robust and model.race_free:
        words.append(page.bad("NOT PORTABLE"))
    elif model.portable is True:
        words.append("portable")
    words.append({True: "safe", False: page.bad("NOT SAFE"), None: "safe or not: unknown"}[model.safe])
    if model.triage is not None:
        words.append(_HARM[model.triage])
    if model.outcomes is not None:  # not every engine lists them
        words.append(counted(len(model.outcomes), "outcome") + ("" if model.complete else " so far"))
    return f"{page.strong(name.upper())}: {', '.join(words)}"


def _constant(result: CheckAnswer) -> dict[str, int]:
    """What has the same value in every outcome of every model, where there are several outcomes to tell apart."""
    outcomes = [outcome for model in result.models.values() for outcome in model.outcomes or []]
    if not outcomes or all(outcome == outcomes[0] for outcome in outcomes):
        return {}
    first = outcomes[0]
    return {what: first[what] for what in first if all(outcome[what] == first[what] for outcome in outcomes)}


def _values(outcome: dict[str, int]) -> str:
    return " ".join(f"{what}={value};" for what, value in outcome.items())


def _outcomes(
    name: ModelName, models: dict[ModelName, ModelAnswer], constant: dict[str, int], every: bool, page: Page
) -> Iterator[str]:
    outcomes = [outcome for outcome in models[name].outcomes or [] if outcome]
    if not outcomes:
        return
    same = next(other for other in models if models[other].outcomes == models[name].outcomes)
    if same != name and not every:
        yield f"  those of {same.upper()}"
        return
    allowed = {tuple(outcome.items()) for outcome in models["sc"].outcomes or []}
    new = [outcome for outcome in outcomes if tuple(outcome.items()) not in allowed]
    shown = outcomes if every or len(outcomes) <= FEW else new[:FEW]
    texts = [_values({what: value for what, value in outcome.items() if what not in constant}) for outcome in shown]
    width = max(map(len, texts), default=0)
    for outcome, text in zip(shown, texts, strict=True):
        yield f"  {text:<{width}}  {page.doubt('not under SC')}" if outcome in new else f"  {text}"
    if len(shown) < len(outcomes):
        beyond = f", {len(new)} of all {len(outcomes)} not under SC" if name != "sc" else ""
        yield f"  … {len(outcomes) - len(shown)} more{beyond} (--outcomes lists them)"


def _same(a: Violation, b: Violation) -> bool:
    """The same cycle, perhaps as part of a failure, or the same failure."""
    if "robustness" in (a.kind, b.kind):
        return a.shape == b.shape
    return a.kind == b.kind and a.message == b.message


def _ways(violation: Violation, source: str) -> str:
    """Where a cycle goes: ``T0 (lines 3, 4) and T1 (lines 8, 9)``."""
    places: dict[int, set[Location]] = {}
    for event in (violation.events[edge.source] for edge in violation.cycle):
        places.setdefault(event.thread, set()).update([event.location] if event.location is not None else [])
    ways = []
    for thread, found in sorted(places.items()):
        lines = [str(place.line) for place in sorted(found) if place.file == source]
        others = [str(place) for place in sorted(found) if place.file != source]
        here = [f"{'line' if len(lines) == 1 else 'lines'} {', '.join(lines)}"] if lines else []
        ways.append(f"T{thread} ({', '.join(here + others)})" if found else f"T{thread}")
    return _listed(ways)


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _verdict(result: CheckAnswer, page: Page) -> str:
    cut = "" if result.complete else ", not everything explored"
    if result.verdict is Verdict.INCONCLUSIVE:
        return f"{page.doubt('inconclusive')}{cut}"
    if result.verdict is Verdict.SAFE:
        relaxed = [model for name, model in result.models.items() if name != "sc"]
        robust = result.goal != "safe" and relaxed and all(model.robust for model in relaxed)
        races = "no data race, and " if any(model.race_free is True for model in relaxed) and not robust else ""
        where = " under SC" if races and any(model.safe is None for model in relaxed) else ""
        return f"{page.good('safe')} ({'robust, and ' if robust else races}no assertion fails{where}){cut}"
    return f"{page.bad('violation')}: {'; '.join(_wrong(result))}{cut}"


def _wrong(result: CheckAnswer) -> Iterator[str]:
    """What is wrong, the worst first: what fails, and what that has to do with buffers."""
    if result.models["sc"].safe is False:
        yield f"fails under SC already: {_first(result, 'sc')}"
        return
    relaxed = {name: model for name, model in result.models.items() if name != "sc"}
    broken = [name for name, model in relaxed.items() if model.triage == "breaks" or model.safe is False]
    if broken:  # where SC was not explored whole, the same may fail there
        known = result.models["sc"].safe is not None or any(relaxed[name].triage == "breaks" for name in broken)
        yield f"{'breaks' if known else 'fails'} under {_models(broken)}: {_first(result, broken[0])}"
    for word, told in (("harmless", _HARM["harmless"]), ("unknown", _HARM["unknown"])):
        if found := [name for name, model in relaxed.items() if model.triage == word]:
            yield f"not robust under {_models(found)}, {told}"
    if (c11 := relaxed.get("c11")) is not None:
        if c11.race_free is False:
            yield _first(result, "c11")
        elif c11.robust is False:
            yield "not robust under C11"


def _models(names: Sequence[ModelName]) -> str:
    return _listed([name.upper() for name in names])


def _first(result: CheckAnswer, model: ModelName) -> str:
    """What fails there."""
    failures = (violation for violation in result.models[model].violations if violation.kind != "robustness")
    return next((violation.message for violation in failures), "something fails")


def _status(result: CheckAnswer, page: Page) -> Iterator[str]:
    """What the exit status means, where it is not 0."""
    if result.verdict is Verdict.SAFE:
        return
    asked = {
        "robust": "every execution sequentially consistent, and no assertion fails",
        "safe": "nothing fails",
        "both": "every execution sequentially consistent, and nothing fails",
    }[result.goal]
    other = ""
    asked_for = [model for model in result.models.values() if not model.by_default]  # with --goal safe
    if result.triage is not None:
        safe: bool | None = True
        for model in asked_for:
            safe = both(safe, model.safe)
        if safe is not True or all(
            model.outcomes is None for model in result.models.values()
        ):  # nothing more is claimed
            other = f"; with --goal safe: {Verdict.of(safe).exit_status}"
    elif any(model.by_default for model in result.models.values()):
        without = sum((model.verdict for model in asked_for), Verdict.SAFE)
        other = f"; with --model tso,pso, without C11: {without.exit_status}"
    yield from page.wrapped(f"Exit status {result.verdict.exit_status} (--goal {result.goal}: {asked}){other}")


def _counts(result: CheckAnswer) -> str:
    counts = [] if result.states is None else [counted(result.states, "state")]
    if result.executions is not None:
        blocked = f" ({result.blocked:,} blocked)" if result.blocked else ""
        rate = (
            f", {result.executions / result.seconds:,.0f} a second"
            if result.cpu and result.seconds and result.executions > 1000
            else ""
        )
        noun = "SC execution" if result.goal != "safe" else "execution"
        exchanged = " up to exchanging identical threads" if result.symmetric else ""
        counts.append(f"{counted(result.executions, noun)}{exchanged}{blocked}{rate}")
    for name, model in result.models.items():
        if model.executions is not None:
            counts.append(counted(model.executions, f"{name.upper()} execution"))
    counts.append(f"{result.seconds:.3f} s")
    return ", ".join(counts)
