"""Random small Promela programs: every statement has at most one shared access, so that SPIN takes the same steps."""

from __future__ import annotations

from pathlib import Path
from random import Random

PROGRAMS = Path(__file__).parents[1] / "benchmarks" / "promela"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.pml"))


def random_program(seed: int, *, loops: bool = True, atomics: bool = True) -> str:
    """Two or three processes over a few shared variables, with a property about labels and locals."""
    return _Generator(Random(seed), loops, atomics).program()


def repeated_program(seed: int) -> str:
    """Two to four processes of one text, which ``_pid`` or the property may tell apart, and perhaps another one."""
    return _Generator(Random(seed), loops=seed % 4 == 0, atomics=seed % 3 != 0).repeated()


def owning_program(seed: int) -> str:
    """Three processes of one text that own slots of arrays and pass their names on, and perhaps another one. Some compare
    names by size, or do something to the slot of one process only, so that no renaming is right."""
    return _Owners(Random(seed), loops=False, atomics=False).owning(asymmetric=seed % 3 == 0)


def scanning_program(seed: int) -> str:
    """Three processes of one text that own slots and look at all of them in their order, most as locks do. Some depend on
    that order, begin elsewhere, come round again, or use the number that they have come to for something else."""
    return _scanning(Random(seed), seed % 3 == 0)


class _Generator:
    def __init__(self, random: Random, loops: bool, atomics: bool) -> None:
        self.random, self.loops, self.atomics = random, loops, atomics
        self.shared = ["x", "y", "z"][: random.choice([2, 2, 3])]
        self.locals = ["a", "b"]

    def program(self) -> str:
        r = self.random
        processes = r.choice([2, 2, 2, 3])
        lines = ['#include "teetotal.h"', f"byte {', '.join(self.shared)};", "bit m;"]
        if self.atomics:
            lines.append("ghost byte g;")
        for p in range(processes):
            lines += [f"active proctype P{p}() {{", "  byte a, b;", *self.body(p), "}"]
        stands = " && ".join(f"P{p}@here" for p in r.sample(range(processes), r.choice([1, 2])))
        lines.append(f"forbidden(meeting, {stands})")
        return "\n".join(lines) + "\n"

    def repeated(self) -> str:
        r = self.random
        copies = r.choice([2, 3] if self.loops or self.atomics else [2, 3, 4])
        numbers = range(copies)
        lines = ['#include "teetotal.h"', f"byte {', '.join(self.shared)};", "bit m;", "ghost byte g;"]
        body = self.body(0)
        if r.random() < 0.2:
            body.insert(0, r.choice(["  x = _pid;", "  a = _pid;", "  if :: _pid == 1 -> mfence :: else -> skip fi;"]))
        lines += [f"active [{copies}] proctype P() {{", "  byte a, b;", *body, "}"]
        if copies < 3 and r.random() < 0.5:
            lines += ["active proctype Q() {", "  byte a, b;", *self.body(1), "}"]
        pairs = [(a, b) for a in numbers for b in numbers if a < b]
        if r.random() < 0.3:
            pairs = r.sample(pairs, r.randint(1, len(pairs)))
        lines.append(f"forbidden(meeting, {' || '.join(f'(P[{a}]@here && P[{b}]@here)' for a, b in pairs)})")
        return "\n".join(lines) + "\n"

    def body(self, p: int) -> list[str]:
        length = self.random.randint(2, 5 if self.loops else 4)
        inner = [statement for _ in range(length) for statement in self.statement(1)]
        goal = self.random.choice([f"a == {self.random.randint(0, 2)}", f"b != {self.random.randint(0, 2)}", "a != b"])
        if self.random.random() < 0.5:  # the heart of most mutual exclusion: announce oneself, then look at the others
            mine, other = self.shared[p % 2], self.shared[1 - p % 2]
            fence = self.random.choice(["", "", "mfence;", "sfence;"])
            inner += [f"{mine} = 1; {fence}", f"a = {other};"]
            goal = "a == 0"
        # Where the goal does not hold, the process never reaches the label.
        ending = [f"({goal});", "here: skip;", f"{self.shared[0]} = {self.random.randint(0, 2)}"]
        if self.loops and self.random.random() < 0.6:
            leave = self.random.choice([":: break", f":: {self.random.choice(self.shared)} == 1 -> break"])
            inner = ["do", ":: " + "\n".join(inner), leave, "od;"]
        return [f"  {line}" for line in "\n".join(inner + ending).splitlines()]

    def statement(self, depth: int) -> list[str]:
        r = self.random
        x, a, v = r.choice(self.shared), r.choice(self.locals), r.randint(0, 2)
        kinds = ["store", "store", "store", "load", "load", "load", "copy", "wait", "mfence", "sfence"]
        if depth:
            kinds += ["if", "choice"]
        if self.atomics:
            kinds += ["cas", "xchg", "fetch_add", "lock", "atomic", "ghost"]
        match r.choice(kinds):
            case "store":
                return [f"{x} = {v};"]
            case "load":
                return [f"{a} = {x};"]
            case "copy":
                return [f"{x} = {a};"]
            case "wait":
                return [f"{x} {r.choice(['==', '!='])} {v};"]
            case "mfence":
                return ["mfence;"]
            case "sfence":
                return ["sfence;"]
            case "if":
                yes, no = self.statement(0), self.statement(0)
                return [f"if :: {x} == {v} -> {' '.join(yes)} :: else -> {' '.join(no)} fi;"]
            case "choice":
                one, two = self.statement(0), self.statement(0)
                return [f"if :: {' '.join(one)} :: {' '.join(two)} fi;"]
            case "cas":
                return [f"cas({a}, {x}, {v}, {r.randint(0, 2)});"]
            case "xchg":
                return [f"xchg({a}, {x}, {v});"]
            case "fetch_add":
                return [f"fetch_add({a}, {x}, 1);", f"if :: {a} > 1 -> xchg(a, {x}, 0) :: else -> skip fi;"]
            case "lock":
                return ["lock(m);", f"{x} = {v};", "unlock(m);"]
            case "atomic":
                other = r.choice(self.shared)
                return [f"atomic {{ {a} = {x}; {other} = {v} }};"]
            case _:
                return ["g = 1 - g;", f"{a} = g;"]


class _Owners(_Generator):
    def owning(self, asymmetric: bool) -> str:
        r = self.random
        self.asymmetric = asymmetric
        me = r.choice(["_pid", "(_pid + 1)", "(3 - _pid)"])
        lines = ['#include "teetotal.h"', f"#define me {me}", "byte x, t, f[4], n[4];"]
        body = [f"  {line}" for _ in range(r.randint(2, 4)) for line in self.statement(1)]
        goal = r.choice(["f[me] == 0", "t == me", "t != me", "a == me", "a != b", "x == 0", "n[me] != 0"])
        body += [
            f"  {self.own()};",
            f"  a = {r.choice(['t', 'n[me]', 'f[me]', 'x'])};",
            f"  ({goal});",
            "  here: skip;",
        ]
        lines += ["active [3] proctype P() {", "  byte a, b;", *body, f"  {self.own()}", "}"]
        if r.random() < 0.3:
            lines += ["active proctype Q() {", "  byte a, b;", f"  a = t; {r.choice(['f[a]', 'n[1]', 'x'])} = 1", "}"]
        pairs = [(0, 1), (0, 2), (1, 2)]
        if r.random() < 0.2:
            pairs = r.sample(pairs, 2)
        lines.append(f"forbidden(meeting, {' || '.join(f'(P[{a}]@here && P[{b}]@here)' for a, b in pairs)})")
        return "\n".join(lines) + "\n"

    def own(self) -> str:
        return self.random.choice(["f[me] = 1", "f[me] = 0", "t = me", "n[me] = a", "x = 1", "n[a] = me", "f[b] = 1"])

    def statement(self, depth: int) -> list[str]:
        r = self.random
        a = r.choice(self.locals)
        kinds = [self.own(), self.own(), f"{a} = t", f"{a} = n[me]", f"{a} = f[me]", f"{a} = x", f"{a} = n[{a}]"]
        kinds += [
            f"xchg({a}, t, me)",
            "cas(b, t, me, 0)",
            "cas(b, x, 0, 1)",
            "mfence",
            "sfence",
            "t != me",
            "f[me] == 0",
        ]
        if self.asymmetric:
            kinds += ["f[1] = 1", f"{a} = f[2]", "t = 2", f"{a} > me", "n[3 - me] = 1", "x = me + 1", f"{a} = t + 1"]
        if depth and r.random() < 0.4:
            tested = r.choice(
                [f"{a} == me", f"{a} == 0", f"{a} != b", *(["me < 2", f"{a} < b"] if self.asymmetric else [])]
            )
            return [f"if :: {tested} -> {' '.join(self.statement(0))} :: else -> {' '.join(self.statement(0))} fi;"]
        return [f"{r.choice(kinds)};"]


def looping_program(seed: int) -> str:
    """Two or three processes of few lines, most of them loops that store: buffers have no bound, and what one process
    sees of another's stores is asserted about."""
    r = Random(seed)
    processes = r.choice([2, 2, 2, 3])
    lines = ['#include "teetotal.h"', "byte x, y;"]
    for p in range(processes):
        lines += [f"active proctype P{p}() {{", "  byte a, b;", *_looping_body(r, observes=p == processes - 1), "}"]
    return "\n".join(lines) + "\n"


def _looping_body(r: Random, observes: bool) -> list[str]:
    def statement() -> str:
        x, a, v = r.choice("xy"), r.choice("ab"), r.randint(0, 2)
        kinds = [*4 * ["store"], *2 * ["sfence"], "mfence", *2 * ["load"], "wait", "xchg", "cas", "if"]
        match r.choice(kinds):
            case "store":
                return f"{x} = {r.randint(1, 2)}"
            case "load":
                return f"{a} = {x}"
            case "wait":
                return f"({x} {r.choice(['==', '!='])} {v})"
            case "xchg":
                return f"xchg({a}, {x}, {v})"
            case "cas":
                return f"cas({a}, {x}, {r.randint(0, 1)}, {v})"
            case "if":
                return f"if :: {x} = {v} :: {r.choice(['x = 1', 'y = 2', 'sfence', 'skip'])} fi"
            case fence:
                return fence

    def several(most: int) -> str:
        return "; ".join(statement() for _ in range(r.randint(1, most)))

    ending = r.choice([[], ["   :: break"], [f"   :: {r.choice('xy')} == {r.randint(0, 2)} -> break"]])
    arms = [f"   :: {several(3)}" for _ in range(r.choice([1, 1, 2]))]
    loop = ["  do", *arms, *ending, "  od"] if r.random() < 0.8 else [f"  {several(3)}"]
    before = [f"  {several(2)};"] if r.random() < 0.4 else []
    if not observes:
        return [*before, *loop]
    check = f"a = {r.choice('xy')}; b = {r.choice('xy')}; assert(!(a == {r.randint(1, 2)} && b == {r.randint(0, 2)}))"
    if ending or loop[0] != "  do":
        return [*before, *loop[:-1], f"{loop[-1]};", f"  {check}"]
    return [*before, *loop[:-1], f"   :: {check}", "  od"]


def _scanning(r: Random, depends: bool) -> str:
    base = r.choice([0, 0, 1])
    me, first, end = ("_pid", 0, 3) if base == 0 else ("(_pid + 1)", 1, 4)
    others = r.choice(["j == me -> skip", "j == me -> skip", "0 -> skip"])
    look = [
        "f[j] == 0",
        "f[j] == 0",
        "f[j] != 2",
        "if :: f[j] == 0 -> skip :: else -> t != me fi",
        "a = f[j]; if :: a == 0 -> skip :: else -> break fi",
        f"if :: f[j] == 0 -> skip :: t != me -> break :: else -> j = {first} fi",
        "if :: f[j] == 0 -> skip :: else -> f[me] = 0; f[me] = 1; mfence fi",
    ]
    if depends:
        look += ["if :: j > me -> skip :: else -> f[j] == 0 fi", "a = t; (a != j)", "t = j", "x = j", "f[j] = 1"]
        look += ["if :: x == j -> x = j + 1 :: else -> skip fi", "a = j; (f[j] == 0)"]
    counter = "byte" if r.random() < 0.8 else r.choice(["bit", "short", "int"])
    announce = r.choice(["f[me] = 1", "f[me] = 1; sfence; t = me", "t = me; f[me] = 1", "f[me] = 2; f[me] = 1"])
    begin = r.choice([f"j = {first}"] * 4 + ["skip", f"j = {first + 1}", f"j = {first}; j++"] * depends or ["j = 1"])
    leave = r.choice([f"j == {end}", f"j == {end}", f"j >= {end}", f"j == {end - 1}"])
    goal = r.choice(["skip", "skip", "t == me", "a == 0", "j != 1" if depends else "skip"])
    return "\n".join(
        [
            '#include "teetotal.h"',
            f"#define me {me}",
            f"byte x, t, f[{end}];",
            "active [3] proctype P() {",
            "  byte a;",
            f"  {counter} j;",
            f"  {announce};",
            f"  {r.choice(['mfence', 'mfence', 'skip', 'sfence', 'a = t'])};",
            f"  {begin};",
            "  do",
            f"  :: {leave} -> break",
            f"  :: else -> if :: {others} :: else -> {r.choice(look)} fi; {r.choice(['j++', 'j++', 'j = j + 1'])}",
            "  od;",
            f"  ({goal});" if goal != "skip" else "  skip;",
            "  here: skip;",
            f"  {r.choice(['f[me] = 0', 'f[me] = 0', 'skip', 't = me', 'x = 1'])}",
            "}",
            "forbidden(meeting, (P[0]@here && P[1]@here) || (P[0]@here && P[2]@here) || (P[1]@here && P[2]@here))",
            "",
        ]
    )
