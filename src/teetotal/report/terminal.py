"""The answer of ``teetotal check`` as text: stable, greppable, and a proof that a person can follow.

Only verdicts go in. Colour and progress are the command line's business.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from teetotal.answers.check import CheckAnswer, ModelAnswer
from teetotal.answers.events import Location, ModelName
from teetotal.answers.verdict import Verdict
from teetotal.answers.violation import Violation

FEW = 20
"""More outcomes than this are counted, not listed, unless all are asked for."""


def render(result: CheckAnswer, *, every_outcome: bool = False, every_violation: bool = False) -> str:
    return "\n".join(_lines(result, every_outcome, every_violation))


def _lines(result: CheckAnswer, every_outcome: bool, every_violation: bool) -> Iterator[str]:
    yield f"{result.input}: {result.name}" if result.input != result.name else result.input
    constant = {} if every_outcome else _constant(result)
    if constant:
        yield f"In every outcome: {_values(constant)}"
    for name, model in result.models.items():
        yield ""
        yield f"{name.upper()}: {_summary(model, name != 'sc' and result.goal == 'robust')}"
        yield from _outcomes(name, result.models, constant, every_outcome)
        if model.positive is not None:
            word = model.observation or "unknown"
            yield f"Observation {result.name} {word} {model.positive} {model.negative}"
    told: list[Violation] = []
    for name, model in result.models.items():
        untold = []
        for violation in model.violations:
            alike = [other for other in told if _same(violation, other)]
            own = next((other for other in alike if other.model == name), None)
            same = own if own is not None and not every_violation else next(iter(alike), None)
            if same is not None and same.model != name:
                yield ""
                yield _headline(violation, result.input, f", as under {same.model.upper()}")
                told.append(violation)
            elif same is not None and not every_violation:
                if same.kind != violation.kind:  # otherwise the same cycle from another end: nothing new
                    yield ""
                    yield f"{_headline(violation, result.input)}: the one above"
                told.append(violation)
            elif every_violation or not any(other.model == name and other.kind == violation.kind for other in told):
                yield ""
                yield from tell(violation, result.input)
                told.append(violation)
            else:
                untold.append(violation)
        if untold:
            yield ""
            yield f"{len(untold)} more under {name.upper()} (--violations tells them all):"
            for headline, count in Counter(_headline(violation, result.input) for violation in untold).items():
                yield f"  {headline}{'' if count == 1 else f' ({count} of them)'}"
    for hazard in result.hazards:
        yield ""
        yield f"Hazard: {hazard}"
        yield "  RC11 forbids it; ARMv8, POWER, RISC-V and compilers may not. An acquire load or a release store ends it."
    yield ""
    for note in result.notes:
        yield f"Note: {note}"
    yield f"{result.name}: {_verdict(result)}"


def tell(violation: Violation, source: str) -> Iterator[str]:
    """One violation: the execution step by step, with the buffers, and why it is not sequentially consistent."""
    yield _headline(violation, source)
    yield from steps(violation, source)
    yield from proof(violation)
    if violation.model == "c11" and violation.kind == "robustness":
        yield f"  {violation.message}."
        shown = ", ".join(violation.shown_by) or "none of x86, ARMv8, POWER, RISC-V that we know of"
        yield f"  Shown by: {shown}; a compiler may reorder what the orders allow."
    if violation.repair:
        yield f"  {'Missing' if violation.kind == 'race' else 'Repair'}: {violation.repair}"
    if violation.replay:
        yield f"  Again: {violation.replay}"


def proof(violation: Violation) -> Iterator[str]:
    """Why the execution is not sequentially consistent, if it is not."""
    if violation.cycle:
        yield "  No sequentially consistent execution does that:"
        width = max(len(str(violation.events[edge.source])) for edge in violation.cycle)
        for edge in violation.cycle:
            first, second = violation.events[edge.source], violation.events[edge.target]
            why = "in program order" if edge.reason == "po" else edge.because
            yield f"    {first!s:<{width}}  comes before  {second!s:<{width}}  {why}"
        yield f"  so {violation.events[violation.cycle[0].source]} would come before itself: a contradiction."


def steps(violation: Violation, source: str) -> Iterator[str]:
    """The execution, a step a line."""
    rows = []
    for step in violation.steps:
        commit = step.action == "commit"
        what, location, within = f"T{step.thread} {step.text}", step.location, ""
        if step.action != "step":
            event = violation.events[step.event]
            location, within = event.location, event.within
            if not step.text:
                what = f"T{step.thread}: {event.text}{' reaches memory' if commit else ''}"
        where = _place(location, source) if location is not None and not commit else ""
        where += f" in {within}" if where and within else ""
        rows.append((what, where, step.buffers))
    yield from table(rows, violation.model)


def table(told: Iterable[tuple[str, str, Sequence[Sequence[str]]]], model: ModelName) -> Iterator[str]:
    """What happens, where, and what the buffers hold after it, numbered. Buffers that never hold anything are left out,
    and without buffers (SC) there is no column for them."""
    told = list(told)
    buffered = model in ("tso", "pso")
    rows = [("", "what happens", "where", "buffers after it" if buffered else "")]
    used = sorted({thread for _, _, held in told for thread, entries in enumerate(held) if entries})
    for number, (what, where, held) in enumerate(told, start=1):
        buffers = "  ".join(f"T{thread}[{', '.join(held[thread])}]" for thread in used if thread < len(held))
        rows.append((str(number), what, where, buffers if buffered else ""))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for number_text, *rest in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(rest, widths[1:], strict=True))
        yield f"  {number_text:>{widths[0]}}  {'  '.join(cells)}".rstrip()


def _summary(model: ModelAnswer, about_robustness: bool) -> str:
    words = []
    if about_robustness and not (model.robust is None and model.race_free is not msgspec.UNSET):
        words.append({True: "robust", False: "NOT ROBUST", None: "robust or not: unknown"}[model.robust])
    if model.race_free is not msgspec.UNSET:
        words.append({True: "race-free", False: "RACES", None: "race-free or not: unknown"}[model.race_free])
    if model.portable is False and model.robust and model.race_free:
        words.append("NOT PORTABLE")
    elif model.portable is True:
        words.append("portable")
    words.append({True: "safe", False: "NOT SAFE", None: "safe or not: unknown"}[model.safe])
    if model.outcomes is not None:  # not every engine lists them
        words.append(counted(len(model.outcomes), "outcome") + ("" if model.complete else " so far"))
    return ", ".join(words)


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
    name: ModelName, models: dict[ModelName, ModelAnswer], constant: dict[str, int], every: bool
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
        yield f"  {text:<{width}}  not under SC" if outcome in new else f"  {text}"
    if len(shown) < len(outcomes):
        beyond = f", {len(new)} of all {len(outcomes)} not under SC" if name != "sc" else ""
        yield f"  … {len(outcomes) - len(shown)} more{beyond} (--outcomes lists them)"


def _same(a: Violation, b: Violation) -> bool:
    """The same cycle, or the same assertion under two models."""
    if a.kind == "robustness":
        return a.shape == b.shape
    return a.model != b.model and a.kind == b.kind and a.message == b.message


def _headline(violation: Violation, source: str, as_before: str = "") -> str:
    model = f"{violation.model.upper()}{as_before}"
    if violation.kind != "robustness":
        return f"Not {'race-free' if violation.kind == 'race' else 'safe'} under {model}: {violation.message}"
    return f"Not robust under {model}: a cycle through {_ways(violation, source)}"


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
    return " and ".join([", ".join(ways[:-1]), ways[-1]] if len(ways) > 1 else ways)


def _place(place: Location, source: str) -> str:
    return f"line {place.line}" if place.file == source else str(place)


def _verdict(result: CheckAnswer) -> str:
    robust = result.goal == "robust" and list(result.models) != ["sc"]
    word = {
        Verdict.SAFE: f"safe ({'robust, and ' if robust else ''}no assertion fails)",
        Verdict.VIOLATION: "violation",
        Verdict.INCONCLUSIVE: "inconclusive",
    }[result.verdict]
    counts = [] if result.states is None else [counted(result.states, "state")]
    if result.executions is not None:
        blocked = f" ({result.blocked:,} blocked)" if result.blocked else ""
        rate = (
            f", {result.executions / result.seconds:,.0f} a second"
            if result.cpu and result.seconds and result.executions > 1000
            else ""
        )
        noun = "SC execution" if result.goal == "robust" else "execution"
        counts.append(f"{counted(result.executions, noun)}{blocked}{rate}")
    counts.append(f"{result.seconds:.3f} s")
    return f"{word}{'' if result.complete else ', not everything explored'}; {', '.join(counts)}"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
