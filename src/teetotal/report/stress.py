"""What a machine showed of a litmus test, in the manner of litmus7."""

from __future__ import annotations

from collections.abc import Iterator

from teetotal.answers.record import Seen, StressAnswer


def render(answer: StressAnswer) -> str:
    return "\n".join(_lines(answer))


def _lines(answer: StressAnswer) -> Iterator[str]:
    yield f"Test {answer.name}"
    yield f"Histogram ({len(answer.histogram)} states)"
    for seen in answer.histogram:
        values = "; ".join(f"{what}={value}" for what, value in seen.outcome.items())
        mark = "*>" if seen.positive else ":>"
        yield f"{seen.count:<10}{mark}{values};{_forbidden(seen, answer.model)}"
    yield f"Observation {answer.name} {answer.observation} {answer.positive} {answer.negative}"
    relaxed = sum(seen.count for seen in answer.histogram if seen.sc is False)
    share = f" ({relaxed / answer.rounds:.4%})" if relaxed else ""
    yield f"{answer.rounds:,} rounds in {answer.seconds:.2f} s, {relaxed:,} not SC{share}"
    for note in answer.notes:
        yield f"Note: {note}"
    wrong = sum(seen.count for seen in answer.histogram if seen.model is False)
    model = answer.model.upper()
    yield (
        f"{answer.name}: {wrong:,} rounds ended in states that {model} forbids"
        if wrong
        else f"{answer.name}: nothing that {model} forbids"
    )


def _forbidden(seen: Seen, model: str) -> str:
    if seen.model is False:
        return f"  {model.upper()} forbids this!"
    if seen.model is None:
        return f"  not known whether {model.upper()} allows this"
    return "  not SC" if seen.sc is False else "  not known whether it is SC" if seen.sc is None else ""
