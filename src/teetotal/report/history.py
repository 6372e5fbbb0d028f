"""The answers of ``teetotal history`` as text: a line for each, a table of all, and proofs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from teetotal.answers.history import HistoryAnswer, Kernel
from teetotal.answers.verdict import Verdict

MOST_LINES = 60
"""Lines of proof that the terminal shows; JSON has them all."""


def lines(answer: HistoryAnswer) -> Iterator[str]:
    """The verdict, and what was asked beside it."""
    word = "consistent" if answer.verdict is Verdict.SAFE else str(answer.verdict)
    yield (
        f"{word:12} {answer.model:3}  {name(answer)}: {answer.operations:,} operations, "
        f"{answer.threads} threads, {answer.seconds:.3f} s by {answer.decided_by}"
    )
    if answer.learned:
        yield f"  known all the same: {answer.learned}"
    if answer.witness_checked:
        yield f"  witness of {answer.witness_steps:,} steps checked"
    if answer.kernel:
        yield from _kernel(answer.kernel)
    yield from notes(answer.notes)


def name(answer: HistoryAnswer) -> str:
    return answer.name or Path(answer.input).name


def notes(told: Sequence[str]) -> Iterator[str]:
    return (f"  note: {note}" for note in told)


def table(tally: Counter[tuple[str, Verdict]]) -> Iterator[str]:
    """How many of each verdict, by model."""
    yield f"\n{'model':8}{'consistent':>12}{'violation':>12}{'inconclusive':>14}"
    for model in dict.fromkeys(model for model, _ in tally):
        safe, violation, unknown = (tally[model, verdict] for verdict in Verdict)
        yield f"{model:8}{safe:>12}{violation:>12}{unknown:>14}"


def models(verdicts: Mapping[str, Verdict]) -> Iterator[str]:
    """What each model says about an inconsistent history."""
    words = {Verdict.VIOLATION: "violates", Verdict.SAFE: "satisfies", Verdict.INCONCLUSIVE: "undecided"}
    for verdict, word in words.items():
        if named := [model for model, found in verdicts.items() if found is verdict]:
            yield f"  {word} {', '.join(named)}"


def explanation(answer: HistoryAnswer, most: int | None = MOST_LINES) -> list[str]:
    """The operations of a minimal part, and the proof over them."""
    told: list[str] = []
    for violation in answer.violations:
        shown = [
            (f"  ({number}) {thread}: {event.text}", f"   {event.location}" if event.location is not None else "")
            for number, (thread, event) in enumerate(zip(violation.threads, violation.events, strict=True), start=1)
        ]
        shown += [(f"  final {final}", "") for final in violation.finals]
        width = max((len(text) for text, _ in shown), default=0)
        told += (f"{text:{width}}{place}".rstrip() for text, place in shown)
        proof = violation.proof
        if most is not None and len(proof) > most:
            proof = [*proof[:most], f"… and {len(proof) - most} more lines, which --json shows"]
        told += ("  " + line for line in proof)
    return told


def _kernel(kernel: Kernel) -> Iterator[str]:
    def share(part: int) -> str:
        return f"{part:,} ({100 * part / kernel.kernel:.2f} %)" if kernel.kernel else str(part)

    yield f"  SC-kernel: {kernel.kernel:,} of {kernel.pairs:,} pairs of writes of one address"
    yield f"  found by CCM {share(kernel.ccm)}, by wSC {share(kernel.wsc)}"
    yield f"  with the six-write rule {share(kernel.six)}, with one guessed pair {share(kernel.guess)}"
