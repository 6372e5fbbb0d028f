"""Whatever a function of ``teetotal`` is given: an answer, or one of teetotal's own errors, and never one of Python's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import teetotal
from teetotal import generate, record, report, reproduce
from teetotal.answers.arguments import checked
from teetotal.answers.errors import ArgumentError, TeetotalError
from teetotal.answers.events import Event, Kind
from teetotal.histories.readers import read_text

HISTORY = "T0: st x = 1\nT0: ld y -> 0\n"
TEST = """X86_64 one
{ }
 P0          | P1            ;
 movq $1,(x) | movq (x),%rax ;
exists (1:rax=0)
"""
PROMELA = "byte x;\nactive proctype P() { x = 1 }\n"
MODULE = "from teetotal import program, st\ndef t():\n    yield st('x', 1)\np = program(t(), x=0)\n"
EVENTS = [Event(0, 0, Kind.ST, "x"), Event(0, 1, Kind.LD, "y")]


class Named:
    """A file whose name is another kind of thing."""

    def __init__(self, name: Any) -> None:
        self.name = name

    def __fspath__(self) -> Any:
        return self.name


def odd() -> Iterator[Any]:
    yield from (
        None,
        -1,
        2**70,
        1.5,
        float("nan"),
        True,
        "",
        "nope",
        "a\0b",
        "\udc80",
        b"bytes",
        1j,
        object(),
        len,
        int,
    )
    yield from ([], [1], ["nope"], [None], (), {}, {"a": 1}, set(), Path("nope"), Path("."), (i for i in range(2)))
    yield from (Named(3), Named(b"bytes"), teetotal.Verdict.SAFE, checked)


def thread() -> Iterator[Any]:
    yield teetotal.st("x", 1)


def first(made: Iterator[Any]) -> Any:
    return next(made, None)


class Call:
    """How a function is called well: with these ``given`` and ``named``; and what else it may be given by name."""

    def __init__(self, function: Callable[..., Any], *given: Any, also: str = "", **named: Any) -> None:
        self.function, self.given, self.also, self.named = function, given, also.split(), named

    def worse(self, value: Any) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
        """With the value in each place."""
        for place in range(len(self.given)):
            yield (*self.given[:place], value, *self.given[place + 1 :]), self.named
        for name in (*self.named, *self.also):
            yield self.given, {**self.named, name: value}


def calls() -> dict[str, Call]:
    (program,) = teetotal.read("one.litmus")
    answer = teetotal.check("one.litmus")
    asked = "options seconds semantics rmw"
    return {
        "read": Call(teetotal.read, "one.litmus", also="compiler flags trust"),
        "check": Call(
            teetotal.check, "one.litmus", also=f"{asked} workers cluster models goal explore nondet seed flags"
        ),
        "fence": Call(teetotal.fence, "one.litmus", also=f"{asked} workers cluster models costs style most"),
        "verify": Call(teetotal.verify, "p.pml", models="sc", also=f"{asked} certificate costs engine max_megabytes"),
        "verify with fences": Call(teetotal.verify, "p.pml", models="sc", fence=True, costs="mfence=3"),
        "confirm": Call(teetotal.confirm, "p.pml", "answer.json", also=f"{asked} models"),
        "monitor": Call(teetotal.monitor, EVENTS, also=f"{asked} monitors group window"),
        "check_history": Call(teetotal.check_history, "h.txt", "sc", also=f"{asked} format engine late"),
        "check_witnesses": Call(teetotal.check_witnesses, "witness.json", "h.txt", also=f"{asked} format"),
        "replay": Call(teetotal.replay, "1t:0", "one.litmus", also="goal models"),
        "cflags": Call(teetotal.cflags, None),
        "load": Call(teetotal.load, "module.py", also="trust"),
        "outcomes": Call(teetotal.outcomes, program, "tso", also="semantics max_states budget"),
        "read_histories": Call(teetotal.read_histories, "h.txt", also="format split_transactions seconds"),
        "History": Call(teetotal.History, read_text(HISTORY)[0].columns),
        "program": Call(
            lambda **named: teetotal.program(thread(), **named),  # type: ignore[arg-type]
            x=0,
            also="name exists forall never always filter loop_bound memory",
        ),
        "a thread": Call(lambda given: teetotal.program(given, x=0), None),
        "array": Call(teetotal.array, "x", 3, 0),
        "cas": Call(teetotal.cas, "x", 1, 2, also="order failure"),
        "fetch_add": Call(teetotal.fetch_add, "x", 1, also="order"),
        "ld": Call(teetotal.ld, "x", also="order"),
        "st": Call(teetotal.st, "x", 1, also="order"),
        "rmw": Call(teetotal.rmw, "x", lambda old: old + 1, also="order failure"),
        "xchg": Call(teetotal.xchg, "x", 1, also="order"),
        "lock": Call(teetotal.lock, "x"),
        "unlock": Call(teetotal.unlock, "x"),
        "address": Call(teetotal.address, "x"),
        "thread_fence": Call(teetotal.thread_fence, "seq_cst"),
        **{f"as_format {name}": Call(report.as_format, [answer], name) for name in ("json", "html", "sarif", "junit")},
        "report.read": Call(report.read, "answer.json"),
        "report.text": Call(report.text, answer, also="page"),
        "report.to_json": Call(report.to_json, answer),
        "simulate": Call(lambda *a, **n: first(record.simulate(*a, **n)), also="machine shape count seed"),
        "redis": Call(lambda *a, **n: first(record.redis(*a, **n)), server="nowhere:1", also="shape count seed"),
        "postgres": Call(lambda *a, **n: first(record.postgres(*a, **n)), server="nowhere:1", also="shape count seed"),
        "record.program": Call(
            lambda *a, **n: first(record.program(*a, **n)), "nope.c", also="compiler flags arguments"
        ),
        "generate.history": Call(generate.history, "sc", also="seed reads length threads operations addresses"),
        "litmus": Call(generate.litmus, generate.Cycle.parse("PodWR Fre PodWR Fre")),
        "Cycle.parse": Call(generate.Cycle.parse, "PodWR Fre PodWR Fre"),
        "seeded": Call(lambda *a: first(generate.programs.seeded(*a)), 0, 1),
        "rows": Call(lambda *a: first(reproduce.rows(*a)), "nope"),
    }


NAMES = [
    "read", "check", "fence", "verify", "verify with fences", "confirm", "monitor", "check_history", "check_witnesses",
    "replay", "cflags", "load", "outcomes", "read_histories", "History", "program", "a thread", "array", "cas", "fetch_add",
    "ld", "st", "rmw", "xchg", "lock", "unlock", "address", "thread_fence", "as_format json", "as_format html",
    "as_format sarif", "as_format junit", "report.read", "report.text", "report.to_json", "simulate", "redis", "postgres",
    "record.program", "generate.history", "litmus", "Cycle.parse", "seeded", "rows",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"one.litmus": TEST, "p.pml": PROMELA, "h.txt": HISTORY, "module.py": MODULE}.items():
        Path(name).write_text(text)
    Path("answer.json").write_text(report.to_json(teetotal.check("one.litmus")))
    Path("witness.json").write_text(report.to_json(teetotal.check_history("h.txt", witness=True)))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", NAMES)
def test_odd_arguments_raise_errors_of_teetotal(name: str) -> None:
    call = calls()[name]
    for place in range(len(list(odd()))):
        for given, named in call.worse(list(odd())[place]):
            count = named.get("count", named.get("threads", named.get("operations", 0)))
            if count == 2**70 or ("server" in call.named and named["server"] is None):  # as many; a server of our own
                continue
            try:
                call.function(*given, **named)
            except TeetotalError:
                pass
            except Exception as problem:
                pytest.fail(f"{name}{given}{named}: {type(problem).__name__}: {problem}")


def test_every_function_is_called() -> None:
    """Those that take nothing, or that nothing is odd to, apart."""
    public = {name for name in teetotal.__all__ if inspect.isfunction(getattr(teetotal, name))}
    assert public - set(NAMES) == {"assume", "mfence", "sfence"}


@checked
def takes(number: int, *files: Path | str, words: list[str] | None = None, **others: Any) -> int:
    return number


def test_hints_say_what_is_taken() -> None:
    assert takes(3, "a", Path("b"), words=["x"], anything=object()) == 3
    for given, named, why in (
        (("3",), {}, "number: a whole number is needed, not '3'"),
        ((True,), {}, "number: a whole number is needed, not True"),
        ((3, "a", 5), {}, "files: a file or a text is needed, not 5"),
        ((3,), {"words": "ab"}, "words: a list of which each is a text or None is needed, not 'ab'"),
        ((3,), {"words": ["a", 1]}, r"words: .* not \['a', 1\]"),
        ((), {}, "takes: missing a required argument: 'number'"),
        (("x" * 1000,), {}, "x…$"),
    ):
        with pytest.raises(ArgumentError, match=why):
            takes(*given, **named)
