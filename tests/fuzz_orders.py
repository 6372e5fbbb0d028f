"""``fence --model c11`` and ``--weaken`` by text, for as many random programs as one likes: ``python tests/fuzz_orders.py
[--programs N] [--c N] [--seed S]``.

A program is written as a C litmus test, or as C; ``fence`` changes the text; what it wrote is read again. By the
definition, over all graphs (``reference/c11_many.py``), it must be robust and race-free, with no change that could be
weaker; and with ``--minimum`` no cheaper set of orders and fences may do. Where ``fence`` says that nothing helps,
everything at once must not.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from c11_many import verdicts
from c11_programs import c11, fence, random_program
from going_on import State, add_state
from small_programs import with_orders
from teetotal.answers.events import MemoryOrder
from teetotal.answers.options import FenceOptions
from teetotal.answers.targets import OrderCosts
from teetotal.answers.verdict import Verdict
from teetotal.fences.fencing import fence as fenced
from teetotal.fences.orders import VALID, What, stronger
from teetotal.programs.expressions import Addr, Const
from teetotal.programs.program import Branch, Fence, Instruction, Load, Program, Rmw, Store, Thread

MOST = 400
"""Cheaper sets that are tried for a program; where there are more, it is left out of that, and counted."""
WHAT: dict[type, What] = {Load: "load", Store: "store", Rmw: "rmw", Fence: "fence"}
GAP = Fence(kind=fence("seq_cst").kind, order="relaxed")


class Place(NamedTuple):
    """An access or a fence, or a gap before one, with the order that it has."""

    thread: int
    pc: int
    what: What
    order: MemoryOrder
    base: MemoryOrder
    most: MemoryOrder

    def weaker(self) -> list[MemoryOrder]:
        return [o for o in VALID[self.what] if stronger(self.order, o) and (o == self.base or stronger(o, self.base))]

    def all(self) -> list[MemoryOrder]:
        return [
            o
            for o in VALID[self.what]
            if (o == self.base or stronger(o, self.base)) and (o == self.most or stronger(self.most, o))
        ]


class Spaced:
    """A program with a place in every gap: ``fence`` puts fences there, and its fences are found there."""

    def __init__(self, before: Program, after: Program, weaken: bool) -> None:
        self.places: list[Place] = []
        threads = []
        for number, (old, new) in enumerate(zip(before.threads, after.threads, strict=True)):
            code: list[Instruction] = []
            rest = [(pc, i) for pc, i in enumerate(new.code) if not _is_part(i)]
            moved = {len(new.code): 0}
            for pc, instruction in enumerate(i for i in old.code if not _is_part(i)):
                put: Instruction = GAP
                if rest and isinstance(rest[0][1], Fence) and not isinstance(instruction, Fence):
                    put = rest.pop(0)[1]
                if pc and not weaken and hasattr(instruction, "order"):
                    self._add(number, len(code), "gap", put.order, "relaxed", "seq_cst")  # type: ignore[union-attr]
                    code.append(put)
                else:
                    assert put is GAP
                changed: Instruction = GAP
                if not (weaken and isinstance(instruction, Fence) and not (rest and isinstance(rest[0][1], Fence))):
                    at, changed = rest.pop(0)
                    moved[at] = len(code)
                assert _plain(changed) == _plain(instruction)
                if (order := getattr(instruction, "order", "na")) != "na":
                    base, most = ("relaxed", order) if weaken else (order, "seq_cst")
                    self._add(number, len(code), WHAT[type(instruction)], changed.order, base, most)  # type: ignore
                code.append(changed)
            assert not rest
            moved[len(new.code)] = len(code)
            for pc, instruction in enumerate(code):
                if isinstance(instruction, Branch):
                    target = next(moved[at] for at in range(instruction.target, len(new.code) + 1) if at in moved)
                    code[pc] = msgspec.structs.replace(instruction, target=target)
            threads.append(Thread(new.name, tuple(code), new.registers))
        self.program = msgspec.structs.replace(before, threads=tuple(threads), condition=None, observed=())

    def _add(self, thread: int, pc: int, what: What, order: MemoryOrder, base: MemoryOrder, most: MemoryOrder) -> None:
        self.places.append(Place(thread, pc, what, order, base, most))

    def with_orders(self, orders: Sequence[MemoryOrder]) -> Program:
        """A fence of order relaxed is none."""
        threads = [list(thread.code) for thread in self.program.threads]
        for place, order in zip(self.places, orders, strict=True):
            here = threads[place.thread][place.pc]
            if place.what in ("gap", "fence"):
                threads[place.thread][place.pc] = fence("na" if order == "relaxed" else order)
            else:
                threads[place.thread][place.pc] = msgspec.structs.replace(here, order=order)  # type: ignore[arg-type]
        code = zip(self.program.threads, threads, strict=True)
        return msgspec.structs.replace(
            self.program, threads=tuple(msgspec.structs.replace(thread, code=tuple(own)) for thread, own in code)
        )

    @property
    def orders(self) -> list[MemoryOrder]:
        return [place.order for place in self.places]

    def weaker(self) -> Iterator[list[MemoryOrder]]:
        """One place weaker, in each way."""
        for number, place in enumerate(self.places):
            for order in place.weaker():
                yield [*self.orders[:number], order, *self.orders[number + 1 :]]

    def cost(self, orders: Sequence[MemoryOrder]) -> int:
        costs = OrderCosts()
        kinds = {"gap": "fence"}
        return int(
            sum(costs.of(kinds.get(p.what, p.what), o, False) for p, o in zip(self.places, orders, strict=True))  # type: ignore[arg-type]
        )

    def cheaper(self) -> Iterator[list[MemoryOrder]]:
        """Every set of orders that costs less, but for those that are weaker than another."""
        bound = self.cost(self.orders)

        def is_largest(orders: Sequence[MemoryOrder], left: int) -> bool:
            more = (
                self.cost_of(place, stronger_one) - self.cost_of(place, order)
                for place, order in zip(self.places, orders, strict=True)
                for stronger_one in place.all()
                if stronger(stronger_one, order)
            )
            return all(cost >= left for cost in more)

        least = [self.cost_of(place, place.base) for place in self.places]

        def below(number: int, so_far: list[MemoryOrder], left: int) -> Iterator[list[MemoryOrder]]:
            if number == len(self.places):
                if is_largest(so_far, left):
                    yield so_far
                return
            for order in self.places[number].all():
                rest = left - self.cost_of(self.places[number], order) + least[number]
                if rest > 0:
                    yield from below(number + 1, [*so_far, order], rest)

        yield from below(0, [], bound - sum(least))

    @staticmethod
    def cost_of(place: Place, order: MemoryOrder) -> int:
        return int(OrderCosts().of("fence" if place.what == "gap" else place.what, order, False))  # type: ignore[arg-type]


def _is_part(instruction: Instruction) -> bool:
    """Of an access, on TSO and PSO: nothing to C11."""
    return isinstance(instruction, Fence) and instruction.order == "na"


def _plain(instruction: Instruction) -> object:
    """Without its order, its place, and what it jumps to."""
    if isinstance(instruction, Fence):
        return Fence
    without: dict[str, object] = {"order": "na", "failure": "na", "location": None, "target": 0}
    return msgspec.structs.replace(instruction, **{n: v for n, v in without.items() if hasattr(instruction, n)})


def robust(programs: Sequence[Program]) -> list[bool]:
    return [found.verdict == "robust" for found in verdicts(programs)] if programs else []


class Wrong(AssertionError):
    pass


def judge(before: Program, after: Program, *, weaken: bool, minimum: bool) -> Counter[str]:
    """What ``fence`` made of a program, by definition."""
    spaced = Spaced(before, after, weaken)
    if not robust([spaced.with_orders(spaced.orders)])[0]:
        raise Wrong("what was written is not robust")
    weaker = list(spaced.weaker())
    for orders, works in zip(weaker, robust([spaced.with_orders(one) for one in weaker]), strict=True):
        if works:
            raise Wrong(f"{orders} will do")
    if not minimum:
        return Counter(minimal=1)
    cheaper = list(islice(spaced.cheaper(), MOST + 1))
    if len(cheaper) > MOST:
        return Counter(minimal=1, too_many=1)
    for orders, works in zip(cheaper, robust([spaced.with_orders(one) for one in cheaper]), strict=True):
        if works:
            raise Wrong(f"{orders} is cheaper, and will do")
    return Counter(minimal=1, least_cost=1, cheaper_sets=len(cheaper))


# -- as a litmus test, and as C ------------------------------------------------------------------------------------------


def small(rng: random.Random) -> Program:
    """Without loops and branches; compare-and-swaps have two orders of one operation, which other tests are about. Of some
    the last location is not atomic."""
    while True:
        program = random_program(rng, full=rng.random() < 0.7)
        code = [i for thread in program.threads for i in thread.code]
        swaps = any(isinstance(i, Rmw) and i.when is not None for i in code)
        plain = any(getattr(i, "order", "") == "na" for i in code)
        if swaps or plain or any(isinstance(i, Branch) for i in code) or len(code) > 7 or len(program.threads) > 3:
            continue
        data = list(program.memory)[-1] if rng.random() < 0.4 else ""
        if any(isinstance(i, Rmw) and i.address == Addr(data) for i in code):
            continue
        program = ordered(program, "na", data)
        if not robust([ordered(program, "relaxed")])[0] and robust([ordered(program, "seq_cst")])[0]:
            return program if rng.random() < 0.5 else ordered(program, "relaxed")


def ordered(program: Program, order: MemoryOrder, only: str = "") -> Program:
    """With this order for every atomic access, or those of one location."""
    return with_orders(
        program,
        {
            (number, pc): order
            for number, thread in enumerate(program.threads)
            for pc, i in enumerate(thread.code)
            if isinstance(i, Load | Store | Rmw) and i.order != "na" and (order != "na" or i.address == Addr(only))
        },
    )


def written(program: Program, c: bool) -> str:
    """As C, or as a litmus test: a statement a line."""
    plain = {
        i.address.name
        for thread in program.threads
        for i in thread.code
        if isinstance(i, Load | Store) and i.order == "na" and isinstance(i.address, Addr)
    }
    at = "&" if c else ""

    def statement(i: Instruction) -> str:
        order = f"memory_order_{getattr(i, 'order', '')}"
        match i:
            case Fence():
                return f"atomic_thread_fence({order});"
            case Load(address=Addr(name)) if name in plain:
                return f"{i.register} = {'' if c else '*'}{name};"
            case Load(address=Addr(name)):
                return f"{i.register} = atomic_load_explicit({at}{name}, {order});"
            case Store(address=Addr(name)):
                value = i.value.value if isinstance(i.value, Const) else i.value.name  # type: ignore[union-attr]
                if name in plain:
                    return f"{'' if c else '*'}{name} = {value};"
                return f"atomic_store_explicit({at}{name}, {value}, {order});"
            case Rmw(address=Addr(name), value=Const(value)):
                return f"{i.register} = atomic_exchange_explicit({at}{name}, {value}, {order});"
            case Rmw(address=Addr(name)):
                return f"{i.register} = atomic_fetch_add_explicit({at}{name}, 1, {order});"
        raise AssertionError(i)

    types = {name: "int" if name in plain else "atomic_int" for name in program.memory}
    lines = ["C orders", "{}"]
    if c:
        lines = ["#include <pthread.h>", "#include <stdatomic.h>"]
        lines += [f"static {what} {name};" for name, what in types.items()]
    for number, thread in enumerate(program.threads):
        shared = ", ".join(f"{what}* {name}" for name, what in types.items())
        lines.append(f"static void *P{number}(void *none) {{" if c else f"P{number}({shared}) {{")
        lines += [f"    int {name} = 0;" for name in thread.registers]
        lines += [f"    {statement(i)}" for i in thread.code]
        lines += ["    return none;", "}"] if c else ["}"]
    if not c:
        return "\n".join([*lines, "exists (true)", ""])
    count = len(program.threads)
    lines += ["int main(void) {", f"    pthread_t t[{count}];"]
    lines += [f"    pthread_create(&t[{n}], 0, P{n}, 0);" for n in range(count)]
    lines += [f"    pthread_join(t[{n}], 0);" for n in range(count)]
    return "\n".join([*lines, "}", ""])


_READ = {
    r"atomic_thread_fence\(memory_order_(?P<o>\w+)\);": "fence.{o}",
    r"\w+ = atomic_load_explicit\(&?(?P<x>\w), memory_order_(?P<o>\w+)\);": "r={x}.{o}",
    r"atomic_store_explicit\(&?(?P<x>\w), r?(?P<v>\d), memory_order_(?P<o>\w+)\);": "{x}={v}.{o}",
    r"\w+ = atomic_exchange_explicit\(&?(?P<x>\w), (?P<v>\d), memory_order_(?P<o>\w+)\);": "xchg({x},{v}).{o}",
    r"\w+ = atomic_fetch_add_explicit\(&?(?P<x>\w), 1, memory_order_(?P<o>\w+)\);": "fadd({x}).{o}",
    r"r\d = \*?(?P<x>[xyz]);": "r={x}.na",
    r"\*?(?P<x>[xyz]) = r?(?P<v>\d);": "{x}={v}.na",
}
_SHORT = {"relaxed": "rlx", "acquire": "acq", "release": "rel", "acq_rel": "ar", "seq_cst": "sc", "": ""}


def read(text: str) -> Program:
    """What is written so."""
    threads = []
    for body in re.findall(r"^(?:static void \*)?P\d.*?\n\}", text, re.DOTALL | re.MULTILINE):
        statements = []
        for line in map(str.strip, body.splitlines()[1:-1]):
            found = [(form, m) for pattern, form in _READ.items() if (m := re.fullmatch(pattern, line))]
            if not found:
                assert re.fullmatch(r"int r\d = 0;|return none;", line), line
                continue
            form, match = found[0]
            parts = {"o": "", **match.groupdict()}
            form = form.replace("={v}", "=${v}") if re.search(r"[ ,]r\d[,;]", line) else form
            statements.append(form.format(**{**parts, "o": _SHORT[parts["o"]]}))
        threads.append("; ".join(statements))
    return c11(" ‖ ".join(threads))


def compare(program: Program, folder: Path, *, c: bool, weaken: bool, minimum: bool) -> Counter[str]:
    """Writes it, lets ``fence`` change it, and reads it again."""
    text = written(ordered(program, "seq_cst") if weaken else program, c)
    path = folder / f"orders.{'c' if c else 'litmus'}"
    path.write_text(text)
    repair = fenced(str(path), FenceOptions(models=("c11",), weaken=weaken, minimum=minimum))
    before = read(text)
    if repair.answer.verdict is not Verdict.SAFE:
        spaced = Spaced(before, before, weaken)
        if robust([spaced.with_orders([place.most for place in spaced.places])])[0]:
            raise Wrong(f"there are orders that will do: {repair.answer.notes}")
        return Counter(hopeless=1)
    return judge(before, read(repair.text), weaken=weaken, minimum=minimum)


def run(count: int, c: bool, seed: int, state: State | None = None) -> Counter[str]:
    """In what a state knows, each kind of program has its own name."""
    known = dict(state.known) if state is not None else {}
    name = "c" if c else "litmus"
    total = Counter[str](known.get(name))
    rng = random.Random(f"{seed} {c}")
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            program = small(rng)
            if number < known.get(name, {}).get("programs", 0):
                continue
            weaken, minimum = bool(number & 1), bool(number & 2)
            try:
                total += compare(program, Path(folder), c=c, weaken=weaken, minimum=minimum)
            except AssertionError as wrong:
                how = f"{'--weaken' if weaken else ''} {'--minimum' if minimum else ''}"
                raise Wrong(
                    f"{wrong}: {how} {(Path(folder) / ('orders.c' if c else 'orders.litmus')).read_text()}"
                ) from wrong
            total["programs"] += 1
            if state is not None:
                state.done(**{**known, name: total})
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=300, help="as litmus tests")
    parser.add_argument("--c", type=int, default=30, help="as C")
    parser.add_argument("--seed", type=int, default=1)
    add_state(parser)
    arguments = parser.parse_args()
    with State(arguments) as state:
        for c, count in ((False, arguments.programs), (True, arguments.c)):
            found = run(count, c, state.seed, state)
            print("C:" if c else "litmus:", ", ".join(f"{what} {n:,}" for what, n in sorted(found.items())), flush=True)
        state.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
