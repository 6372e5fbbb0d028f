"""Programs as C: ``teetotal.programs.program.Program`` translated, and a short way to run the runtime on sources."""

from __future__ import annotations

import shutil
import subprocess
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import msgspec
import pytest

from teetotal.answers.events import Kind
from teetotal.engines.runtime import driver as runtime
from teetotal.programs.c.build import Source, build
from teetotal.programs.expressions import Addr, Const, Expr, Old, Op, Reg
from teetotal.programs.program import Assert, Assign, Branch, Fence, Load, Lock, Program, Rmw, Store, Unlock

COMPILERS = [
    pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed"))
    for name in ("gcc", "clang")
]


def version(compiler: str) -> int:
    """The first number of it."""
    said = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=True).stdout
    return int(said.partition(".")[0])


BITS = 3
"""For each register and location of an outcome: values are below 8."""


class _Built:
    """In a folder that is there for as long as somebody has it."""

    def __init__(self, text: str, suffix: str, flags: tuple[str, ...], compiler: str | None) -> None:
        folder = Path(mkdtemp())
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        file = folder / f"program{suffix}"
        file.write_text(text)
        self.program = build(Source((str(file),), flags, compiler), folder)


_built = lru_cache(maxsize=100)(_Built)


@contextmanager
def compiled(
    text: str, *, suffix: str = ".c", flags: Sequence[str] = (), compiler: str | None = None
) -> Iterator[Path]:
    """Many tests ask the same program about something else: it is built for the first of them."""
    built = _built(text, suffix, tuple(flags), compiler)
    yield built.program


def answers(program: Path, options: Sequence[str], arguments: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """What the runtime tells, as plain values: what the program said is text that JSON could hold."""
    for message in runtime.answers(program, options, arguments):
        yield msgspec.to_builtins(message)


def explore(program: Path, *options: str, arguments: Sequence[str] = ()) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The last line that the runtime tells, and the others, without what it found before a restart."""
    told: list[dict[str, Any]] = []
    for answer in answers(program, options, arguments):
        if answer["type"] == "restart":
            del told[1:]
        else:
            told.append(answer)
    return told[-1], told[:-1]


def reported(told: Iterable[dict[str, Any]]) -> list[int]:
    """At how many places ``exact-tso`` and ``exact-pso`` report something."""
    by = [answer["monitor"] for answer in told if answer["type"] == "violation"]
    return [by.count("exact-tso"), by.count("exact-pso")]


def translate(programs: Sequence[Program], *, observed: bool = False) -> str:
    """One source for many programs: ``argv[1]`` chooses, ``argv[2]`` is an outcome that must not occur. ``observed``: only
    those registers are looked at in the end that make up an outcome, and threads that do the same are one function."""
    parts = [
        "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n",
        "#define R memory_order_relaxed\n",
    ]
    for number, program in enumerate(programs):
        for name in program.memory:
            kind = "pthread_mutex_t" if name == "m" else "atomic_int"
            begins = "" if name == "m" else f" = {program.memory[name]}"
            parts.append(f"static {kind} p{number}_{name}{begins};\n")
        calls = joins = ""
        routines: dict[str, int] = {}
        for thread, code in enumerate(program.threads):
            told = {final.name for final in program.observed if final.thread == thread} if observed else code.registers
            body = _thread(number, code.code, list(code.registers), told)
            routine = routines.setdefault(body, thread) if observed else thread
            if routine == thread:
                parts.append(f"static void *p{number}_t{thread}(void *unused) {{\n{body}}}\n")
            calls += f"  pthread_create(&t[{thread}], 0, p{number}_t{routine}, 0);\n"
            shift = f"code << {BITS * len(code.registers)}"
            if told:
                joins += f"  pthread_join(t[{thread}], &r); code = ({shift}) | (long)r;\n"
            else:
                joins += f"  pthread_join(t[{thread}], 0); code = {shift};\n"
        final = "".join(f"  code = (code << {BITS}) | p{number}_{name};\n" for name in program.memory if name != "m")
        parts.append(
            f"static long p{number}(void) {{\n  pthread_t t[4]; void *r; long code = 0;\n"
            f"{calls}{joins}{final}  return code;\n}}\n"
        )
    cases = "".join(f"    case {number}: code = p{number}(); break;\n" for number in range(len(programs)))
    parts.append(
        "int main(int argc, char **argv) {\n  long code = 0;\n  switch (atoi(argv[1])) {\n" + cases + "  }\n"
        "  if (argc > 2) assert(code != atol(argv[2]));\n  return 0;\n}\n"
    )
    return "".join(parts)


def outcome_code(program: Program, values: Sequence[int]) -> int:
    """The number that ``main`` compares, of an outcome over all registers and then all locations but the mutex."""
    code = 0
    for value in values:
        assert 0 <= value < 1 << BITS
        code = code << BITS | value
    return code


def _thread(program: int, code: Sequence[Any], registers: list[str], told: Collection[str]) -> str:
    lines = [f"  int {register} = 0;" for register in registers]
    for position, instruction in enumerate(code):
        lines.append(f"l{position}:;")
        lines.append("  " + _statement(program, instruction))
    packed = "0L"
    for register in registers:
        if register in told:
            packed = f"({packed} << {BITS} | {register})"
    lines += [f"l{len(code)}:;", f"  return (void *){packed};"]
    return "\n".join(lines) + "\n"


def _statement(program: int, instruction: Any) -> str:
    match instruction:
        case Fence(kind=kind):
            return f"atomic_thread_fence(memory_order_{'seq_cst' if kind is Kind.MFENCE else 'release'});"
        case Load(register=register, address=Addr(name)):
            return f"{register} = atomic_load_explicit(&p{program}_{name}, R);"
        case Store(address=Addr(name), value=value):
            return f"atomic_store_explicit(&p{program}_{name}, {_expression(value)}, R);"
        case Lock(address=Addr(name)):
            return f"pthread_mutex_lock(&p{program}_{name});"
        case Unlock(address=Addr(name)):
            return f"pthread_mutex_unlock(&p{program}_{name});"
        case Branch(target=target, when=when):
            return f"if ({_expression(when)}) goto l{target};"
        case Assign(register=register, value=value):
            return f"{register} = {_expression(value)};"
        case Assert(condition=condition):
            return f"assert({_expression(condition)});"
        case Rmw(register=register, address=Addr(name), value=Op("+", (Old(), Const(more))), when=None):
            return f"{register} = atomic_fetch_add_explicit(&p{program}_{name}, {more}, R);"
        case Rmw(register=register, address=Addr(name), value=value, when=None):
            return f"{register} = atomic_exchange_explicit(&p{program}_{name}, {_expression(value)}, R);"
        case Rmw(register=register, address=Addr(name), value=value, when=Op("==", (Old(), expected))):
            return (
                f"{register} = {_expression(expected)}; "
                f"atomic_compare_exchange_strong_explicit(&p{program}_{name}, &{register}, {_expression(value)}, R, R);"
            )
    raise AssertionError(instruction)


def _expression(expression: Expr) -> str:
    match expression:
        case Const(value):
            return str(value)
        case Reg(name):
            return name
        case Op("not", (only,)):
            return f"(!{_expression(only)})"
        case Op(operator, (left, right)):
            spelled = {"and": "&&", "or": "||"}.get(operator, operator)
            return f"({_expression(left)} {spelled} {_expression(right)})"
    raise AssertionError(expression)
