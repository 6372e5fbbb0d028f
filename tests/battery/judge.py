"""What ``check`` says about a program of the battery, in one word, and whether that may be said.

*seen*: the violation that is there was found. *named*: inconclusive, or refused, with the channel named in a note: its
function, instruction, flag or line. *robust*: proved, which is right with fences and the worst of lies without. Wrong in
any case are *unnamed* (inconclusive, and nobody knows why), *alarm* (a violation that is not there) and *error*.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from battery.channels import Program
from teetotal.answers.errors import TeetotalError
from teetotal.answers.options import CheckOptions
from teetotal.checking import check
from teetotal.programs.c.compilers import CompileError

SECONDS = 20.0
SEEN, NAMED, ROBUST, UNNAMED, ALARM, ERROR = "seen", "named", "robust", "unnamed", "alarm", "error"
RIGHT = {False: {SEEN, NAMED}, True: {ROBUST, NAMED}}
"""For a program without fences, and with."""

_NOT_ABOUT_CHANNELS = (
    "data race on",
    "more data races",
    "whether anything fails",
    "the budget ran out",
    "reads the clock",
)


def answer(program: Program) -> tuple[str, str]:
    """The word for what is said about a channel's program, and the text that it rests on."""
    with TemporaryDirectory() as folder:
        try:
            result = check(
                program.source(Path(folder)), CheckOptions(models=("tso",), seconds=SECONDS, triage=0, shorten=False)
            )
        except Exception as error:
            refused = isinstance(error, TeetotalError) and not isinstance(error, CompileError)
            return (NAMED if refused and _names(program, str(error)) else ERROR), repr(error)
    notes = [note for note in result.notes if not any(words in note for words in _NOT_ABOUT_CHANNELS)]
    robust = result.models["tso"].robust
    if robust is False:
        return (ALARM if program.fenced else SEEN), result.violations[0].message
    if any(violation.kind != "robustness" for violation in result.violations):
        return ALARM, result.violations[0].message
    if robust:
        return ROBUST, ""
    sizes = [note for note in notes if note.startswith("accessed in different sizes")]
    if program.fenced and sizes:
        return NAMED, sizes[0]
    said = "\n".join(note for note in notes if note not in sizes)
    return (NAMED if _names(program, said) else UNNAMED), said


def _names(program: Program, text: str) -> bool:
    """Whether a note speaks of the channel: by one of its names, or by a line that is its own."""
    names = [*program.channel.names, program.channel.name]
    lines = {int(line) for line in re.findall(r"program\.cc?:(\d+)", text)}
    spoken = any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names)
    return spoken or bool(lines & program.lines())


def is_right(program: Program, word: str) -> bool:
    return word in RIGHT[program.fenced]
