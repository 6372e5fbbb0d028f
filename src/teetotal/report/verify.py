"""The answer of ``teetotal verify`` as text."""

from __future__ import annotations

from collections.abc import Iterator

from teetotal.answers.verdict import Verdict
from teetotal.answers.verify import Confirmation, VerifyAnswer
from teetotal.report import story
from teetotal.report.style import PLAIN, Page, counted


def render(answer: VerifyAnswer, page: Page = PLAIN) -> str:
    return "\n".join(_verified(answer, page) if answer.fences is None else _fenced(answer, page)).rstrip("\n")


def confirmed(found: Confirmation) -> str:
    """Whether a certificate proves what it should, in a line."""
    named = "" if found.certificate is None else f"{found.certificate}: "
    accepted = f"accepted: safe under {found.model.upper()} ({found.states} states)"
    return f"{found.input}: {named}{accepted if found.accepted else f'rejected: {found.reason}'}"


def headline(answer: VerifyAnswer) -> str:
    """The verdict, in a line."""
    fenced = "" if answer.fences is None else f" with {counted(len(answer.fences), 'fence')}"
    return f"{answer.input}: {answer.verdict}{fenced if answer.verdict is Verdict.SAFE else ''}"


def _verified(answer: VerifyAnswer, page: Page) -> Iterator[str]:
    yield headline(answer)
    for name, model in answer.models.items():
        what = model.reason
        if model.verdict is Verdict.SAFE:
            what = "no buffer was ever full" if answer.engine.startswith("bounded") else "proved"
        yield from page.wrapped(f"{name}  {model.verdict}: {what} ({model.states} states, {model.seconds:.3f} s)", "  ")
        if name in answer.witness:
            yield f"      certificate: {answer.witness[name]}"
        for violation in model.violations:
            yield from story.tell(violation, answer.input, page)


def _fenced(answer: VerifyAnswer, page: Page) -> Iterator[str]:
    yield headline(answer)
    if answer.verdict is Verdict.INCONCLUSIVE and answer.notes:
        yield f"  {answer.verdict}: {answer.notes[-1]}"
        return
    if answer.verdict is Verdict.VIOLATION:
        for name, model in answer.models.items():
            why = "already so under SC: no fence helps" if name == "sc" else "no fences found"
            yield f"  {name}  {model.verdict}: {model.reason} ({why})"
            for violation in model.violations:
                yield from story.tell(violation, answer.input, page)
        return
    for row in answer.fences or []:
        times = f" (in {row.processes} processes)" if row.processes > 1 else ""
        yield f"  line {row.line}: {row.kind} {'after' if row.after else 'before'} the store{times}"
    if not answer.fences:
        yield "  no fences needed"
    for number, rows in enumerate(answer.sets or [], 1):
        yield f"  set {number}: " + (", ".join(f"{row.kind} line {row.line}" for row in rows) or "no fences")
    yield f"  {answer.iterations} iterations, {answer.verifications} verifications, {answer.seconds:.3f} s"
    for name, model in answer.models.items():
        yield f"  {name}  {model.verdict}: proved with these fences ({model.states} states)"
        if name in answer.witness:
            yield f"      certificate: {answer.witness[name]}"
    if answer.backup is not None:
        yield f"  {answer.input} is patched; as it was: {answer.backup}"
    elif answer.diff:
        if answer.witness:
            yield "  the certificates are about the fenced text: use --write, or apply the diff, before --check"
        yield answer.diff
