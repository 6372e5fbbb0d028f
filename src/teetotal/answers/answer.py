"""What every verb answers with: plain values that serialise to JSON and, where work is shared, add up with ``+``.

Adding is how one core, many processes and a cluster run the same code: each part of the work gives an answer, and the
sum of the parts is the answer. The JSON keys are a contract: add, do not rename.
"""

from __future__ import annotations

import msgspec

from teetotal.answers.errors import TeetotalError
from teetotal.answers.verdict import Verdict
from teetotal.answers.version import VERSION


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """About one ``input``. ``complete``: nothing was cut off or left out. ``notes``: what was left out, and why."""

    input: str
    command: str
    verdict: Verdict
    complete: bool
    seconds: float | None
    notes: list[str] = []
    version: str = msgspec.field(default_factory=lambda: VERSION)  # made, so that JSON does not leave it out

    @property
    def headline(self) -> str:
        """The verdict, in a line."""
        return f"{self.input}: {self.verdict}{'' if self.complete else ', not everything explored'}"

    @property
    def found(self) -> list[str]:
        """What was found, each in a line."""
        return [str(violation) for violation in getattr(self, "violations", [])]

    def __str__(self) -> str:
        """The verdict first, then what was found; ``teetotal.report`` tells the whole."""
        return "\n".join([self.headline, *dict.fromkeys(self.found), *(f"note: {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.headline}>"


class Undecided(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """About an input that was given up before anything else could be said about it."""

    verdict: Verdict = msgspec.field(default_factory=lambda: Verdict.INCONCLUSIVE)
    complete: bool = msgspec.field(default_factory=lambda: False)  # made, so that JSON does not leave it out
    seconds: float | None = msgspec.field(default_factory=lambda: None)


class Refusal(Undecided, frozen=True, kw_only=True, omit_defaults=True):
    """About an input that cannot be read or run: the ``error``, and its place where there is one."""

    error: str
    file: str | None = None
    line: int | None = None

    @property
    def message(self) -> str:
        """With its place."""
        return self.error if self.file is None else f"{self.file}:{self.line}: {self.error}"

    @classmethod
    def of(cls, error: TeetotalError, input: str, command: str) -> Refusal:
        file, line = error.location or (None, None)
        return cls(input=input, command=command, error=error.message, file=file, line=line)


class Interrupted(KeyboardInterrupt):
    """The user ended it; ``answer`` is what was found until then."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer
