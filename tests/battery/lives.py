"""Whole programs about lifetimes, endings, loops with hidden state and nondeterminism, with their truth: ``lives/*.toml``.

``truth``: ``safe`` (and robust, and nothing else may be said), ``violation`` (one of ``kinds``, where these are given) or
``unproved`` (anything but a proof). ``goals``: of ``check``; both, where not given. The truth holds for each.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import msgspec

from teetotal.answers.check import CheckAnswer
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Goal, Verdict
from teetotal.answers.violation import ViolationKind
from teetotal.checking import check
from teetotal.programs.c.build import Source

DATA = Path(__file__).parent / "lives"
GOALS: tuple[Goal, ...] = ("robust", "safe")
SECONDS = 20.0

HEAD = """#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#ifdef __cplusplus
#include <atomic>
#else
#include <stdatomic.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define RUN(f, g) int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0); \\
  pthread_join(t, 0); pthread_join(u, 0); END }
#define END return 0;
"""


class Life(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: str
    name: str
    text: str
    truth: Literal["safe", "violation", "unproved"]
    kinds: tuple[ViolationKind, ...] = ()
    goals: tuple[Goal, ...] = GOALS
    language: Literal["c", "c++"] = "c"
    flags: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        return HEAD + ("#undef END\n" if "#define END" in self.text else "") + self.text


class Question(msgspec.Struct, frozen=True, kw_only=True):
    life: Life
    goal: Goal

    @property
    def title(self) -> str:
        return f"{self.life.kind}/{self.life.name}-{self.goal}"


def lives() -> list[Life]:
    return [
        msgspec.convert({**table, "kind": file.stem, "name": name}, Life)
        for file in sorted(DATA.glob("*.toml"))
        for name, table in tomllib.loads(file.read_text()).items()
    ]


def questions() -> Iterator[Question]:
    for life in lives():
        for goal in life.goals:
            yield Question(life=life, goal=goal)


def answer(question: Question, compiler: str | None = None) -> tuple[str, str]:
    """What is said, in one word (a verdict, a kind of violation, or ``error``), and the text that it rests on."""
    life = question.life
    with TemporaryDirectory() as folder:
        file = Path(folder) / ("program.c" if life.language == "c" else "program.cc")
        file.write_text(life.source)
        options = CheckOptions(models=("tso",), goal=question.goal, seconds=SECONDS, triage=0, shorten=False)
        try:
            result = check(Source((str(file),), life.flags, compiler), options)
        except Exception as error:  # of the user's making or ours: these programs are in order
            return "error", repr(error)
    return _word(life, result), "\n".join([*(violation.message for violation in result.violations), *result.notes])


def _word(life: Life, result: CheckAnswer) -> str:
    if result.verdict is not Verdict.VIOLATION:
        return str(result.verdict)
    kinds = [violation.kind for violation in result.violations]
    return next((kind for kind in kinds if kind in life.kinds), kinds[0])


def is_right(question: Question, word: str) -> bool:
    life = question.life
    if word == "error":
        return False
    if life.truth == "safe":
        return word == "safe"
    if life.truth == "unproved":
        return word != "safe"
    return word not in ("safe", "inconclusive", "robustness") and (not life.kinds or word in life.kinds)
