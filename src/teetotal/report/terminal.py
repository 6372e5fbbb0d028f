"""The answer of ``teetotal check`` as text: stable, greppable, and a proof that a person can follow.

Only verdicts go in. Colour and progress are the command line's business.
"""

from __future__ import annotations

from collections.abc import Iterator

from teetotal.events import Event, ModelName
from teetotal.verdicts import CheckResult, ModelResult, Verdict, Violation

FEW = 20
"""More outcomes than this are counted, not listed, unless all are asked for."""


def render(result: CheckResult, *, every_outcome: bool = False, every_violation: bool = False) -> str:
    return "\n".join(_lines(result, every_outcome, every_violation))


def _lines(result: CheckResult, every_outcome: bool, every_violation: bool) -> Iterator[str]:
    yield f"{result.input}: {result.name}"
    allowed = {tuple(outcome.items()) for outcome in result.models["sc"].outcomes or []}
    for name, model in result.models.items():
        yield ""
        yield f"{name.upper()}: {_summary(name, model)}"
        yield from _outcomes(name, model, allowed, every_outcome)
        if model.observation is not None:
            yield f"Observation {result.name} {model.observation} {model.positive} {model.negative}"
    for name, model in result.models.items():
        told = model.violations if every_violation else model.violations[:1]
        for violation in told:
            yield ""
            yield from _violation(violation)
        rest = model.violations[len(told) :]
        if rest:
            yield ""
            yield f"{len(rest)} more under {name.upper()}, at:"
            yield from (f"  {_headline(violation)}" for violation in rest)
    yield ""
    for note in result.notes:
        yield f"Note: {note}"
    yield f"{result.name}: {_verdict(result)}"


def _summary(name: ModelName, model: ModelResult) -> str:
    words = []
    if name != "sc":
        words.append({True: "robust", False: "NOT ROBUST", None: "robust or not: unknown"}[model.robust])
    words.append({True: "safe", False: "NOT SAFE", None: "safe or not: unknown"}[model.safe])
    count = len(model.outcomes or [])
    words.append("1 outcome" if count == 1 else f"{count} outcomes")
    return ", ".join(words)


def _outcomes(
    name: ModelName, model: ModelResult, allowed: set[tuple[tuple[str, int], ...]], every: bool
) -> Iterator[str]:
    outcomes = [outcome for outcome in model.outcomes or [] if outcome]
    new = [outcome for outcome in outcomes if tuple(outcome.items()) not in allowed]
    shown = outcomes if every or len(outcomes) <= FEW else new[:FEW]
    for outcome in shown:
        text = " ".join(f"{what}={value};" for what, value in outcome.items())
        yield f"  {text}{'   <- not under SC' if outcome in new else ''}"
    if len(shown) < len(outcomes):
        hidden = len(outcomes) - len(shown)
        beyond = f", {len(new)} of all {len(outcomes)} not under SC" if name != "sc" else ""
        yield f"  … {hidden} more{beyond} (--outcomes lists them)"


def _violation(violation: Violation) -> Iterator[str]:
    yield f"{_headline(violation)}"
    width = max((len(event.text) for event in violation.events), default=0) + len("reaches memory: ")
    threads = 1 + max((event.thread for event in violation.events), default=0)
    yield f"  step  {'what happens':<{width + 4}}  buffers after it" if violation.model != "sc" else "  step  what happens"
    for number, step in enumerate(violation.steps, start=1):
        event = violation.events[step.event]
        text = f"reaches memory: {event.text}" if step.action == "commit" else event.text
        buffers = "  ".join(f"T{t}[{', '.join(step.buffers[t])}]" for t in range(threads) if t < len(step.buffers))
        place = f"   {event.location}" if event.location is not None and step.action == "event" else ""
        told = f"  {number:>4}  T{step.thread}: {text:<{width}}  {buffers if violation.model != 'sc' else ''}{place}"
        yield told.rstrip()
    if violation.cycle:
        yield "  No sequentially consistent execution does that:"
        for edge in violation.cycle:
            yield f"    {_named(violation.events[edge.source])}  is before  {_named(violation.events[edge.target])}"
            yield f"        {edge.because}"
        yield f"    so {_named(violation.events[violation.cycle[0].source])} would be before itself: a contradiction."
    if violation.replay:
        yield f"  Again: {violation.replay}"


def _headline(violation: Violation) -> str:
    model = violation.model.upper()
    if violation.kind == "robustness":
        places = f" ({', '.join(violation.locations)})" if violation.locations else ""
        return f"Not robust under {model}: an execution that is not sequentially consistent{places}"
    return f"Not safe under {model}: {violation.message}"


def _named(event: Event) -> str:
    return str(event)


def _verdict(result: CheckResult) -> str:
    bounds = "" if result.complete else " (not everything was explored)"
    counts = [f"{result.states:,} states" if result.states is not None else ""]
    if result.executions is not None:
        blocked = f", {result.blocked:,} of them blocked" if result.blocked else ""
        counts.append(f"{result.executions:,} SC executions{blocked}")
    told = ", ".join(filter(None, counts))
    word = {
        Verdict.SAFE: "safe: robust, and no assertion fails",
        Verdict.VIOLATION: "violation",
        Verdict.INCONCLUSIVE: "inconclusive",
    }[result.verdict]
    return f"{word}{bounds}; {told}, {result.seconds:.3f} s"
