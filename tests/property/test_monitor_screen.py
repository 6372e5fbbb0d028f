"""In a search the exact monitors are shown only what could give a report (``core/monitors/screen.hpp``). What is found is
what they find if they are shown everything: the same violations, in the same order, by the same schedules."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from test_c_known_steps import PROGRAMS
from test_c_snapshots import HEAD, MONITORS, RUN, C, told_by, without_base

from amounts import some
from c_letters import ACCESSES
from c_programs import compiled, explore
from looping_programs import looping_program
from program_strategies import describe
from random_programs import ALL_SEMANTICS, SHAPES, seeded
from teetotal import _core
from teetotal.answers.events import Kind, Semantics
from teetotal.engines.encoding import encode, encode_semantics
from teetotal.programs.program import Program
from waiting_programs import dekker, mcs_lock, peterson, spin_lock, ttas

NAMES = (
    ["exact-tso", "exact-pso"],
    ["exact-pso", "exact-tso"],
    ["exact-tso"],
    ["exact-pso"],
    ["burnim-pso", "exact-tso", "exact-c11"],
)


def findings(
    tested: Program, names: list[str], semantics: Semantics, skips: bool, screened: bool
) -> tuple[int, list[Any]] | str | None:
    """None: it takes too long here."""
    try:
        result, found, *_ = _core.monitored_search(
            encode(tested), encode_semantics(semantics), skips, "all", 0, 0, 0, names, 2.0, 200, None,
            screened=screened,
        )  # fmt: skip
    except _core.MixedMutex as error:  # a mutex that is data as well
        return str(error)
    return (result.executions, found) if result.complete else None


def agree(tested: Program, names: list[str], semantics: Semantics = Semantics(), skips: bool = True) -> int:
    """How many violations there are."""
    shown, screened = (findings(tested, names, semantics, skips, screened) for screened in (False, True))
    if shown is None or screened is None:
        return 0
    assert screened == shown, (describe(tested), names, semantics, skips)
    return 0 if isinstance(shown, str) else len(shown[1])


def test_programs_that_wait() -> None:
    violations = 0
    for seed in range(some(20000)):
        chance = random.Random(f"waits {seed}")
        drawn = looping_program(chance, mutexes=chance.random() < 0.4)
        tested = msgspec.structs.replace(drawn, loop_bound=6)
        violations += agree(tested, chance.choice(NAMES), chance.choice(ALL_SEMANTICS))
    assert violations > 300


def test_programs_without_loops() -> None:
    violations = 0
    for seed in range(some(20000)):
        chance = random.Random(f"straight {seed}")
        tested = next(seeded(seed, 1, chance.choice(list(SHAPES.values()))))
        violations += agree(tested, chance.choice(NAMES), chance.choice(ALL_SEMANTICS), chance.random() < 0.5)
    assert violations > 300


@pytest.mark.parametrize(
    "tested",
    [dekker(2), peterson(2), mcs_lock(3), spin_lock(ttas, 3)],
    ids=["dekker", "peterson", "mcs", "ttas"],
)
def test_algorithms(tested: Program) -> None:
    for semantics in ALL_SEMANTICS:
        for names in NAMES:
            agree(tested, names, semantics)


# -- C
# ----------------------------------------------------------------------------------------------------------------------


def same(program: Path, *options: str, arguments: tuple[str, ...] = ()) -> tuple[int, int]:
    """How many executions there are, and how many of them were shown."""
    everything, _ = told_by(program, *MONITORS, *options, "screened=0", arguments=arguments)
    screened, _ = told_by(program, *MONITORS, *options, arguments=arguments)
    assert without_base(screened) == without_base(everything), (options, arguments)
    end, _ = explore(program, *MONITORS, *options, arguments=arguments)
    return end["executions"], end["shown"]


@pytest.mark.parametrize("name", sorted(C))
def test_c_programs(name: str) -> None:
    with compiled(HEAD + C[name] + RUN) as program:
        same(program, "executions=2000")
        same(program, "executions=2000", "rmw=address", "mutex=rmw", "failed-cas=write")


@pytest.mark.parametrize(
    ("name", "flags", "most"),
    [("dekker", (), 50), ("dekker", ("-DFENCED",), 0), ("peterson", (), 50)],
    ids=["dekker", "fenced", "peterson"],
)
def test_most_executions_need_not_be_shown(name: str, flags: tuple[str, ...], most: int) -> None:
    """Once what they could give was told; or as long as nothing comes after a store that is not kept before it."""
    with compiled((PROGRAMS / f"{name}.c").read_text(), flags=(f"-I{PROGRAMS}", "-DROUNDS=3", *flags)) as program:
        executions, shown = same(program)
    assert executions > 1000
    assert shown <= most


LETTERS = (
    "xXyYzZ",
    "xXyYfFgGq",
    "xXyYzZtmMa",
    "xXyYzZpVPt",
    "xXYyhHac",
    "xXyYzZfFqaCcb",
    "xXyYenfFpV",
    "xXyYzZaaC",
    "xXyYzZABb",
)
OPTIONS = ((), ("waiting=count", "loop-bound=4"), ("rmw=address", "mutex=rmw"), ("loop-bound=2",), ("symmetry=off",))


def test_random_c_programs() -> None:
    with compiled(ACCESSES) as program:
        for seed in range(some(1500)):
            chance = random.Random(f"letters {seed}")
            count, letters = chance.choice((2, 3, 3, 4)), chance.choice(LETTERS)
            code = ["".join(chance.choices(letters, k=chance.randint(1, 7 - count))) for _ in range(count)]
            if chance.random() < 0.4:  # some do the same
                code = [code[0] if chance.random() < 0.7 else own for own in code]
            same(program, "executions=1000", *chance.choice(OPTIONS), arguments=tuple(code))


def test_a_fence_that_c11_alone_knows_holds_nothing_back() -> None:
    """Nothing but the load behind an acquire fence overtakes anything."""
    with compiled(ACCESSES) as program:
        for code in (("XAy", "Ybx"), ("XABy", "Ybx"), ("XAY", "ybx")):
            same(program, arguments=code)
            _, told = explore(program, *MONITORS, arguments=code)
            assert any(answer["type"] == "violation" for answer in told), code


MUTEX = 8
"""What the runtime calls it."""

TRIED = """
#define LOAD(a) atomic_load_explicit(&a, memory_order_relaxed)
#define STORE(a, v) atomic_store_explicit(&a, v, memory_order_relaxed)
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
atomic_int f, g, k, z;
void *thread(void *p) {
  switch ((long)p) {
  case 0: pthread_mutex_lock(&m); pthread_mutex_unlock(&m); STORE(k, 1); pthread_mutex_lock(&m);
    (void)LOAD(z); while (!LOAD(g)); pthread_mutex_unlock(&m); break;
  case 1: while (!LOAD(f)); STORE(k, 2); STORE(g, 1); if (!pthread_mutex_trylock(&m)) pthread_mutex_unlock(&m); break;
  case 2: STORE(z, 1); STORE(f, 1); }
  return 0; }
int main(void) { pthread_t t[3];
  for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, thread, (void *)i);
  for (long i = 0; i < 3; i++) pthread_join(t[i], 0); }
"""


def test_what_took_a_lock_before_and_fails_now_is_news() -> None:
    """In the execution before the thread stood there with the same past, and what it did decides nothing: it took the
    mutex, behind all that it had stored. Now it fails, which is a load: under PSO it may do so for having been locked the
    first time."""
    with compiled(HEAD + TRIED) as program:
        same(program)
        _, told = explore(program, *MONITORS)
    deciding = [answer["steps"][-1] for answer in told if answer["type"] == "violation"]
    assert any((thread, kind) == (2, Kind.LD) and tag == MUTEX for thread, kind, tag, *_ in deciding)
