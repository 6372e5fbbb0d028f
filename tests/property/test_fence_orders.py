"""Stronger orders and read-modify-writes instead of fences: against brute force over the texts of C litmus tests, and
patches of C and C++ that compile everywhere."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import msgspec
import pytest

from amounts import some
from fencing_tools import NEEDS_COMPILER, PROGRAMS, TWO_THREADS, added, compiles_without_new_warnings, fenced
from teetotal import models
from teetotal.answers.costs import Costs, parse
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import ModelName, Semantics
from teetotal.answers.options import FenceOptions
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.fences.fencing import Repair, fence, job, source
from teetotal.fences.insertion import Search
from teetotal.programs import litmus

Statement = tuple[str, int]
"""A location, and what is stored there; 0 for a load."""
Choice = tuple[str, int, str]
"""``after`` or ``at``, a line, and a kind."""
FENCES = {"mfence": "seq_cst", "sfence": "release"}


def written(threads: Sequence[Sequence[Statement]], chosen: Sequence[Choice] = ()) -> str:
    """The litmus test with these changes, one statement on a line: written apart from the package's own way to do it."""
    lines = ["C random", "{}"]
    count = 2
    for number, statements in enumerate(threads):
        lines.append(f"P{number} (atomic_int* x, atomic_int* y) {{")
        count += 1
        for location, value in statements:
            count += 1
            orders = {kind for side, line, kind in chosen if side == "at" and line == count}
            order = "seq_cst" if orders & {"seq_cst", "rmw"} else "release" if orders else "relaxed"
            verb = "exchange" if "rmw" in orders else "store"
            if value:
                lines.append(f"  atomic_{verb}_explicit({location}, {value}, memory_order_{order});")
            else:
                lines.append(f"  int r{count} = atomic_load_explicit({location}, memory_order_relaxed);")
            for side, line, kind in chosen:
                if side == "after" and line == count:
                    lines[-1] += f" atomic_thread_fence(memory_order_{FENCES[kind]});"
        lines.append("}")
        count += 1
    return "\n".join([*lines, "exists (x=0)", ""])


def choices(threads: Sequence[Sequence[Statement]]) -> Iterator[Choice]:
    line = 2
    for statements in threads:
        line += 1
        for position, (_, value) in enumerate(statements):
            line += 1
            if position + 1 < len(statements):
                yield from (("after", line, kind) for kind in FENCES)
            if value:
                yield from (("at", line, kind) for kind in ("release", "seq_cst", "rmw"))
        line += 1


def robust(text: str, models_: Sequence[ModelName], semantics: Semantics) -> bool:
    program = litmus.read(text, "random.litmus")
    return all(models.robust(program, model, semantics) for model in models_)


def price(chosen: Sequence[Choice], costs: Costs) -> Fraction:
    return sum((getattr(costs, kind) for *_, kind in chosen), Fraction(0))


def search(threads: Sequence[Sequence[Statement]], options: FenceOptions) -> Search:
    return Search(job(source("random.litmus", written(threads), options), options, Budget()).problem)


def as_choices(search: Search, sites: frozenset[int]) -> frozenset[Choice]:
    found = []
    for site in (search.sites[number] for number in sites):
        assert site.location is not None
        found.append(("at" if site.at else "after" if site.after else "before", site.location.line, str(site.kind)))
    return frozenset(found)


def random_threads(random_: random.Random, lengths: Sequence[int]) -> list[list[Statement]]:
    values = iter(range(1, 20))
    return [
        [(random_.choice("xy"), next(values) if random_.random() < 0.6 else 0) for _ in range(length)]
        for length in lengths
    ]


MODEL_SETS: list[tuple[ModelName, ...]] = [("tso",), ("pso",), ("tso", "pso")]
SEMANTICS = [Semantics(), Semantics(rmw="address")]


def test_cheapest_sets_are_those_of_brute_force() -> None:
    """With costs at random, so that every kind is the right one at times."""
    random_ = random.Random(1)
    kinds: set[str] = set()
    for _ in range(60):
        threads = random_threads(random_, random_.choice([(2, 2), (2, 3), (3, 3)]))
        models_, semantics = random_.choice(MODEL_SETS), random_.choice(SEMANTICS)
        names = ("mfence", "sfence", "release", "seq_cst", "rmw")
        costs = Costs(**{name: Fraction(random_.randint(1, 9)) for name in names})
        mine = search(threads, FenceOptions(models=models_, semantics=semantics, costs=costs, strengthen=True))
        best = next(mine.cheapest_first())
        chosen = as_choices(mine, best)
        kinds |= {kind for *_, kind in chosen}
        assert robust(written(threads, sorted(chosen)), models_, semantics)
        assert price(sorted(chosen), costs) == mine.cost(best)
        sets = [c for size in range(min(len(best), 2) + 1) for c in combinations(choices(threads), size)]
        for cheaper in sets:
            if price(cheaper, costs) < mine.cost(best):
                assert not robust(written(threads, cheaper), models_, semantics), (threads, cheaper)
    assert kinds == {"mfence", "sfence", "release", "seq_cst", "rmw"}


def test_all_irredundant_sets_are_those_of_brute_force() -> None:
    costs = Costs(Fraction(5), Fraction(2), Fraction(1), Fraction(4), Fraction(4))
    shapes = {
        "store buffering": [[("x", 1), ("y", 0)], [("y", 1), ("x", 0)]],
        "message passing": [[("x", 1), ("y", 1)], [("y", 0), ("x", 0)]],
        "2+2W": [[("x", 1), ("y", 2)], [("y", 1), ("x", 2)]],
        "S": [[("x", 2), ("y", 1)], [("y", 0), ("x", 1)]],
        "R": [[("x", 1), ("y", 1)], [("y", 2), ("x", 0)]],
    }
    for (name, threads), semantics in product(shapes.items(), SEMANTICS):
        mine = search(threads, FenceOptions(models=("pso",), semantics=semantics, costs=costs, strengthen=True))
        sets = {as_choices(mine, found) for found in mine.cheapest_first()}
        expected: list[frozenset[Choice]] = []
        for size in range(4):
            for chosen in map(frozenset, combinations(choices(threads), size)):
                known = any(smaller <= chosen for smaller in expected)
                if not known and robust(written(threads, sorted(chosen)), ("pso",), semantics):
                    expected.append(chosen)
        assert sets == set(expected), (name, semantics)


def test_minimal_sets_prefer_an_order_to_the_fence_beside_it() -> None:
    threads = [[("x", 1), ("y", 0)], [("y", 1), ("x", 0)]]
    mine = search(threads, FenceOptions(strengthen=True))
    assert as_choices(mine, mine.minimal()) == {("at", 4, "seq_cst"), ("at", 8, "seq_cst")}
    minimal = [as_choices(mine, found) for found in mine.cheapest_first() if mine.is_minimal(found)]
    assert minimal == [{("at", 4, "seq_cst"), ("at", 8, "seq_cst")}]
    dear = Costs(seq_cst=Fraction(11), rmw=Fraction(11))
    mine = search(threads, FenceOptions(strengthen=True, costs=dear))
    assert as_choices(mine, mine.minimal()) == {("after", 4, "mfence"), ("after", 8, "mfence")}


def test_costs_are_read_by_name() -> None:
    assert parse("release=1/2, seq_cst=3,rmw=4") == Costs(release=Fraction(1, 2), seq_cst=Fraction(3), rmw=Fraction(4))
    with pytest.raises(TeetotalError, match="there are costs for mfence, sfence, release, seq_cst, rmw, loop"):
        parse("acquire=1")
    with pytest.raises(TeetotalError, match="more than 0"):
        parse("mfence=0")


KERNEL = """C MP
{}
P0 (int* x, int* y) {
  WRITE_ONCE(*x, 1);
  WRITE_ONCE(*y, 1);
  int r = READ_ONCE(*z);
}
P1 (int* x, int* y) {
  int r0 = READ_ONCE(*y);
  int r1 = READ_ONCE(*x);
}
exists (1:r0=1 /\\ 1:r1=0)
"""


def strengthened(directory: Path, name: str, text: str, **options: object) -> Repair:
    return fenced(directory, name, text, strengthen=True, **options)


def new_lines(answer: Repair) -> list[str]:
    return [line.strip() for line in added(answer)]


def test_the_kernel_s_words(tmp_path: Path) -> None:
    text = KERNEL.replace("(*z)", "(*x)")
    answer = strengthened(tmp_path, "mp.litmus", text)
    assert answer.answer.verdict is Verdict.SAFE
    assert new_lines(answer) == ["smp_store_release(y, 1);"]
    assert [(f.kind, f.line, f.patched_line, f.at) for f in answer.answer.fences] == [
        ("release", 5, 5, "WRITE_ONCE(*y, 1)")
    ]


def test_where_no_store_has_an_order_the_option_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TeetotalError, match="--strengthen is for C and C\\+\\+"):
        strengthened(tmp_path, "sb.py", "from teetotal import program\n")


C = (
    """#include <pthread.h>
#include <stdatomic.h>
#define ONE 1

static atomic_int x, y;
static int r[2];

static void *left(void *argument) {
    STORE_X;
    r[0] = atomic_load_explicit(&y, memory_order_relaxed);
    return argument;
}

static void *right(void *argument) {
    STORE_Y;
    r[1] = atomic_load_explicit(&x, memory_order_relaxed);
    return argument;
}

"""
    + TWO_THREADS
)


def c_text(x: str, y: str) -> str:
    return C.replace("STORE_X", x).replace("STORE_Y", y)


RELAXED = "atomic_store_explicit(&x, ONE, memory_order_relaxed)"


@NEEDS_COMPILER
@pytest.mark.parametrize(
    ("store", "seq_cst", "rmw"),
    [
        (
            "atomic_store_explicit(&y, ONE, memory_order_relaxed)",
            "atomic_store_explicit(&y, ONE, memory_order_seq_cst)",
            "atomic_exchange_explicit(&y, ONE, memory_order_seq_cst)",
        ),
        (
            "__atomic_store_n((int *)&y, r[1] + 1, __ATOMIC_RELEASE)",
            "__atomic_store_n((int *)&y, r[1] + 1, __ATOMIC_SEQ_CST)",
            "__atomic_exchange_n((int *)&y, r[1] + 1, __ATOMIC_SEQ_CST)",
        ),
        (
            "for (atomic_store_explicit(&y, 1, memory_order_relaxed); argument;) argument = 0",
            "for (atomic_store_explicit(&y, 1, memory_order_seq_cst); argument;) argument = 0",
            "for (atomic_exchange_explicit(&y, 1, memory_order_seq_cst); argument;) argument = 0",
        ),
    ],
)
def test_c_stores_become_stronger(tmp_path: Path, store: str, seq_cst: str, rmw: str) -> None:
    text = c_text(RELAXED, store)
    for cost, word, wanted in (("", "seq_cst", seq_cst), ("rmw=1", "exchange", rmw)):
        answer = strengthened(tmp_path, "sb.c", text, costs=parse(cost), minimum=bool(cost))
        assert answer.answer.verdict is Verdict.SAFE
        assert {f.kind for f in answer.answer.fences} == {"rmw" if cost else "seq_cst"}
        assert new_lines(answer)[1] == f"{wanted};"
        assert word in new_lines(answer)[0]
        assert [f.patched_line for f in answer.answer.fences] == [f.line for f in answer.answer.fences] == [9, 15]
        compiles_without_new_warnings(tmp_path, text, answer.text, ".c")


MACROS = """#define ONE 1
#define LOAD(place) atomic_load_explicit(&(place), memory_order_relaxed)
#define STORE(place, value) atomic_store_explicit(&(place), (value), memory_order_relaxed)
#define STORE_ALSO(place, value) (STORE(place, value))
#define STORE_MORE(place, value) do { STORE(place, value); r[1] = 3; } while (0)
#define NEXT(place) (LOAD(place) + 1)
#define TAKE(place) (place)++
"""


@NEEDS_COMPILER
@pytest.mark.parametrize(
    ("store", "stronger"),
    [
        ("STORE(y, 1)", "atomic_store_explicit(&(y), (1), memory_order_seq_cst);"),
        ("STORE_ALSO(y, 1)", "(atomic_store_explicit(&(y), (1), memory_order_seq_cst));"),
        ("STORE(y, NEXT(y))", "atomic_store_explicit(&(y), (NEXT(y)), memory_order_seq_cst);"),
        ("STORE(y, TAKE(r[1]))", None),
        ("STORE_MORE(y, 1)", None),
    ],
)
def test_stores_behind_macros_are_written_out(tmp_path: Path, store: str, stronger: str | None) -> None:
    text = c_text("STORE(x, 1)", store).replace("#define ONE 1\n", MACROS)
    answer = strengthened(tmp_path, "sb.c", text)
    assert answer.answer.verdict is Verdict.SAFE
    assert [f.kind for f in answer.answer.fences] == ["seq_cst", "seq_cst" if stronger else "mfence"]
    assert new_lines(answer)[1] == stronger or (stronger is None and "atomic_thread_fence" in new_lines(answer)[1])
    compiles_without_new_warnings(tmp_path, text, answer.text, ".c")


@NEEDS_COMPILER
@pytest.mark.parametrize(
    "store",
    [
        "y = 1",  # seq_cst already, so it needs nothing
        "atomic_store(&y, 1)",
        "atomic_store_explicit(&y, 1, memory_order_seq_cst)",
        "__atomic_store_n((int *)&y, 1, __ATOMIC_SEQ_CST)",
    ],
)
def test_what_is_seq_cst_already_needs_nothing(tmp_path: Path, store: str) -> None:
    answer = strengthened(tmp_path, "sb.c", c_text(RELAXED, store), minimum=True)
    assert [f.line for f in answer.answer.fences] == [9]
    assert answer.answer.verdict is Verdict.SAFE


@NEEDS_COMPILER
@pytest.mark.parametrize(
    "store",
    [
        "atomic_store_explicit(&y, (r[1] = 1), memory_order_relaxed)",  # would put the fence before both stores
        "atomic_store_explicit(&y, TWO, memory_order_relaxed)",  # a macro that stores
        "int order = memory_order_relaxed; atomic_store_explicit(&y, 1, order)",
        "*(volatile int *)&y = 1",
    ],
)
def test_where_the_order_cannot_change_there_are_fences(tmp_path: Path, store: str) -> None:
    text = c_text(RELAXED, store).replace("#define ONE 1", "#define ONE 1\n#define TWO THREE\n#define THREE (r[1] = 2)")
    answer = strengthened(tmp_path, "sb.c", text)
    assert answer.answer.verdict is Verdict.SAFE
    assert [(f.kind, f.line) for f in answer.answer.fences] == [("seq_cst", 11), ("mfence", 17)]


CPP = """#include <atomic>
#include <pthread.h>

struct Box {
    std::atomic<int> x{0}, y{0};
    int r[2];
};

static Box box, *pointer = &box;

int main() {
    const auto left = [](void *argument) {
        box.x.store(1, std::memory_order_relaxed);
        box.r[0] = box.y.load(std::memory_order_relaxed);
        return argument;
    };
    const auto right = [](void *argument) {
        pointer->y.store(box.r[1] + 1, std::memory_order::relaxed);
        box.r[1] = pointer->x.load(std::memory_order_relaxed);
        return argument;
    };
    pthread_t threads[2];
    pthread_create(&threads[0], nullptr, left, nullptr);
    pthread_create(&threads[1], nullptr, right, nullptr);
    pthread_join(threads[0], nullptr);
    pthread_join(threads[1], nullptr);
}
"""


@NEEDS_COMPILER
def test_cpp_members(tmp_path: Path) -> None:
    answer = strengthened(tmp_path, "sb.cpp", CPP.replace("memory_order::", "memory_order_"))
    assert new_lines(answer) == [
        "box.x.store(1, std::memory_order_seq_cst);",
        "pointer->y.store(box.r[1] + 1, std::memory_order_seq_cst);",
    ]
    answer = strengthened(tmp_path, "sb.cpp", CPP, costs=parse("rmw=2"), flags=("-std=c++20",))
    assert answer.answer.verdict is Verdict.SAFE
    assert new_lines(answer) == [
        "box.x.exchange(1, std::memory_order_seq_cst);",
        "pointer->y.exchange(box.r[1] + 1, std::memory_order::seq_cst);",
    ]
    compiles_without_new_warnings(tmp_path, CPP, answer.text, ".cpp", "-std=c++20")


MESSAGE = """#include <pthread.h>
#include <stdatomic.h>

static atomic_int data, ready;

static void *left(void *argument) {
    atomic_store_explicit(&data, 1, memory_order_relaxed);
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, left, 0);
    int seen = atomic_load_explicit(&ready, memory_order_relaxed);
    int value = atomic_load_explicit(&data, memory_order_relaxed);
    pthread_join(thread, 0);
    return seen && !value;
}
"""


@NEEDS_COMPILER
def test_the_cheaper_kind_is_chosen_where_it_suffices(tmp_path: Path) -> None:
    path = tmp_path / "mp.c"
    path.write_text(MESSAGE)
    answer = fence(str(path))
    assert [(f.kind, f.line, f.cost) for f in answer.answer.fences] == [("sfence", 7, 3)]
    dear = fence(str(path), FenceOptions(costs=parse("sfence=11")))
    assert [(f.kind, f.line) for f in dear.answer.fences] == [("mfence", 7)]
    stronger = fence(str(path), FenceOptions(strengthen=True))
    assert [(f.kind, f.line, f.cost) for f in stronger.answer.fences] == [("release", 8, 2)]
    everything = fence(str(path), FenceOptions(strengthen=True, every=True))
    assert [[(f.kind, f.line) for f in one] for one in everything.answer.sets] == [[("release", 8)]]
    assert msgspec.json.decode(msgspec.json.encode(stronger.answer))["fences"][0]["kind"] == "release"


@NEEDS_COMPILER
@pytest.mark.parametrize("name", ["peterson", "seqlock"])
def test_benchmarks_with_stronger_stores(tmp_path: Path, name: str) -> None:
    path = PROGRAMS / f"{name}.c"
    fences = fence(str(path), FenceOptions(minimum=True)).answer
    stronger = fence(str(path), FenceOptions(minimum=True, strengthen=True))
    assert stronger.answer.verdict is Verdict.SAFE
    assert stronger.answer.cost < fences.cost
    assert {placed.kind for placed in stronger.answer.fences} & {"release", "seq_cst"}
    compiles_without_new_warnings(tmp_path, path.read_text(), stronger.text, ".c")


def in_c(threads: Sequence[Sequence[Statement]]) -> str:
    lines = ["#include <pthread.h>", "#include <stdatomic.h>", "static atomic_int x, y;"]
    for number, statements in enumerate(threads):
        lines.append(f"static void *thread{number}(void *argument) {{")
        for position, (location, value) in enumerate(statements):
            place = f"&{location}, {value}" if value else f"&{location}"
            verb = "atomic_store_explicit" if value else f"int r{position} = atomic_load_explicit"
            lines.append(f"    {verb}({place}, memory_order_relaxed);")
        lines += ["    return argument;", "}"]
    lines += ["int main(void) {", f"    pthread_t threads[{len(threads)}];"]
    lines += [f"    pthread_create(&threads[{n}], 0, thread{n}, 0);" for n in range(len(threads))]
    lines += [f"    pthread_join(threads[{n}], 0);" for n in range(len(threads))]
    return "\n".join([*lines, "    return 0;", "}", ""])


@NEEDS_COMPILER
def test_cheapest_sets_of_c_programs_are_those_of_brute_force(tmp_path: Path) -> None:
    """Brute force on the same programs as litmus tests, by the specification; the C programs are run."""
    random_ = random.Random(5)
    compared = 0
    while compared < some(12, least=6):
        threads = random_threads(random_, random_.choice([(2, 2), (2, 3)]))
        if robust(written(threads), ("pso",), Semantics()):
            continue
        compared += 1
        strengthen = compared % 2 == 0
        names = ("mfence", "sfence", "release", "seq_cst", "rmw")
        costs = Costs(**{name: Fraction(random_.randint(1, 9)) for name in names})
        allowed = [choice for choice in choices(threads) if strengthen or choice[0] == "after"]
        sets = [chosen for size in range(4) for chosen in combinations(allowed, size)]
        expected = next(
            price(chosen, costs)
            for chosen in sorted(sets, key=lambda chosen: price(chosen, costs))
            if robust(written(threads, chosen), ("pso",), Semantics())
        )
        path = tmp_path / "program.c"
        path.write_text(in_c(threads))
        answer = fence(str(path), FenceOptions(models=("pso",), costs=costs, strengthen=strengthen, minimum=True))
        assert answer.answer.verdict is Verdict.SAFE
        assert answer.answer.cost == float(expected), (threads, costs)
