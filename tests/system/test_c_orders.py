"""C and C++ programs in C11: the orders that the compiler's hooks carry, and what synchronises; races."""

from __future__ import annotations

import json
import random
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

import teetotal
from amounts import some
from c11_programs import c11, random_program
from c_programs import COMPILERS, compiled, explore
from teetotal.answers.events import MemoryOrder
from teetotal.answers.verdict import Verdict
from teetotal.cli.check import check
from teetotal.engines.executions.robustness import robustness
from teetotal.programs.expressions import Addr, Const, Expr, Old, Op, Reg
from teetotal.programs.hazards import hazards
from teetotal.programs.program import Branch, Fence, Instruction, Load, Program, Rmw, Store

HEAD = """#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#define FUTEX(call, n) syscall(SYS_futex, &a, FUTEX_##call, n, 0, 0, 0)
#define LOAD(v, order) atomic_load_explicit(&v, memory_order_##order)
#define STORE(v, n, order) atomic_store_explicit(&v, n, memory_order_##order)
#define FENCE(order) atomic_thread_fence(memory_order_##order)
atomic_int a, b; int x, y; volatile int v; int *block; atomic_intptr_t pointer;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER;
pthread_spinlock_t spin; pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
sem_t none; pthread_barrier_t barrier; pthread_once_t once = PTHREAD_ONCE_INIT;
static void first(void) { x = 1; }
"""
MAIN = """
static void *start(void *code) { ((void (*)(void))code)(); return 0; }
int main(int n, char **given) {
  sem_init(&none, 0, 0); pthread_barrier_init(&barrier, 0, 2); pthread_spin_init(&spin, 0);
  block = malloc(4); x = 0;
  void (**code)(void) = cases[atoi(given[1])];
  pthread_t t[4]; int count = 0;
  for (; code[count]; count++) pthread_create(&t[count], 0, start, code[count]);
  for (int i = 0; i < count; i++) pthread_join(t[i], 0);
  return x + y;
}
"""
CASES: dict[str, tuple[list[str], str]] = {
    "relaxed message": (["STORE(a, 1, relaxed); STORE(b, 1, relaxed);", "if (LOAD(b, relaxed)) LOAD(a, relaxed);"], "weak"),
    "released message": (["STORE(a, 1, relaxed); STORE(b, 1, release);",
                          "if (LOAD(b, acquire)) LOAD(a, relaxed);"], "robust"),
    "consumed message": (["STORE(a, 1, relaxed); STORE(b, 1, release);",
                          "if (LOAD(b, consume)) LOAD(a, relaxed);"], "robust"),
    "fences": (["STORE(a, 1, relaxed); FENCE(release); STORE(b, 1, relaxed);",
                "if (LOAD(b, relaxed)) { FENCE(acquire); LOAD(a, relaxed); }"], "robust"),
    "a signal fence is none": (["STORE(a, 1, relaxed); atomic_signal_fence(memory_order_release); STORE(b, 1, relaxed);",
                                "if (LOAD(b, acquire)) LOAD(a, relaxed);"], "weak"),
    "store buffering": (["STORE(a, 1, seq_cst); LOAD(b, seq_cst);", "STORE(b, 1, seq_cst); LOAD(a, seq_cst);"], "robust"),
    "store buffering, acquire": (["STORE(a, 1, release); LOAD(b, acquire);", "STORE(b, 1, release); LOAD(a, acquire);"],
                                 "weak"),
    "plain message": (["x = 1; STORE(b, 1, relaxed);", "if (LOAD(b, relaxed)) y = x;"], "race"),
    "plain message, released": (["x = 1; STORE(b, 1, release);", "if (LOAD(b, acquire)) y = x;"], "robust"),
    "volatile": (["v = 1;", "y = v;"], "race"),
    "a round that waits": (["y = 1; __atomic_store_n(&y, 2, __ATOMIC_RELEASE);",
                            "while (__atomic_load_n(&y, __ATOMIC_ACQUIRE) != 2) ;"], "race"),
    "it waits for ever": (["y = 1;", "while (__atomic_load_n(&y, __ATOMIC_ACQUIRE) != 2) ;"], "race"),
    "it reads what is handed over": (["y = 1; __atomic_store_n(&y, 2, __ATOMIC_RELEASE); STORE(a, 1, relaxed);",
                                      "while (!LOAD(a, relaxed)) ; while (__atomic_load_n(&y, __ATOMIC_ACQUIRE) != 2) ;"],
                                     "robust"),
    "futex": (["x = 1; STORE(a, 1, release); FUTEX(WAKE, 1);", "while (!LOAD(a, acquire)) FUTEX(WAIT, 0); y = x;"],
              "robust"),
    "futex, relaxed": (["x = 1; STORE(a, 1, relaxed); FUTEX(WAKE, 1);",
                        "while (!LOAD(a, relaxed)) FUTEX(WAIT, 0); y = x;"], "race"),
    "mutex": (["pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m);"] * 2, "robust"),
    "mutex of one side": (["pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m);", "x++;"], "race"),
    "try-lock that fails": (["pthread_mutex_lock(&m); x = 1; pthread_mutex_unlock(&m);",
                             "if (pthread_mutex_trylock(&m)) y = x; else pthread_mutex_unlock(&m);"], "race"),
    "spin lock": (["pthread_spin_lock(&spin); x++; pthread_spin_unlock(&spin);"] * 2, "robust"),
    "readers and a writer": (["pthread_rwlock_rdlock(&rw); y = x; pthread_rwlock_unlock(&rw);",
                              "pthread_rwlock_wrlock(&rw); x = 1; pthread_rwlock_unlock(&rw);"], "robust"),
    "two readers that write": (["pthread_rwlock_rdlock(&rw); x = 1; pthread_rwlock_unlock(&rw);"] * 2, "race"),
    "semaphore": (["x = 1; sem_post(&none);", "sem_wait(&none); y = x;"], "robust"),
    "semaphore, the wrong way": (["sem_post(&none); y = x;", "x = 1; sem_wait(&none);"], "race"),
    "barrier": (["x = 1; pthread_barrier_wait(&barrier);", "pthread_barrier_wait(&barrier); y = x;"], "robust"),
    "once": (["pthread_once(&once, first); y = x;", "pthread_once(&once, first); int r = x; (void)r;"], "robust"),
    "condition": (["pthread_mutex_lock(&m); x = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);",
                   "pthread_mutex_lock(&m); while (!x) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); y = x;"],
                  "robust"),
    "condition alone": (["x = 1; pthread_mutex_lock(&m); pthread_cond_signal(&c); pthread_mutex_unlock(&m);",
                         "y = x; pthread_mutex_lock(&m); pthread_mutex_unlock(&m);"], "race"),
    "joined": (["x = 1;", "y = 1;"], "robust"),
    "swap": (["x = 1; int zero = 0; atomic_compare_exchange_strong_explicit(&a, &zero, 1, memory_order_release, "
              "memory_order_relaxed);",
              "int one = 1; if (atomic_compare_exchange_strong_explicit(&a, &one, 2, memory_order_acquire, "
              "memory_order_relaxed)) y = x;"], "robust"),
    "swap that fails relaxed": (["x = 1; STORE(a, 1, release);",
                                 "int zero = 0; if (!atomic_compare_exchange_strong_explicit(&a, &zero, 2, "
                                 "memory_order_acquire, memory_order_relaxed)) y = x;"], "race"),
    "freed by another": (["*block = 1; STORE(a, 1, relaxed);", "if (LOAD(a, relaxed)) free(block);"], "race"),
    "freed after a message": (["*block = 1; STORE(a, 1, release);", "if (LOAD(a, acquire)) free(block);"], "robust"),
    "memory that is used again": (["int *mine = malloc(8); *mine = 1; free(mine);"] * 2, "robust"),
}  # fmt: skip


def source(threads: Sequence[Sequence[str]]) -> str:
    parts = [HEAD]
    for number, bodies in enumerate(threads):
        parts += [f"static void t{number}_{t}(void) {{ {body} }}\n" for t, body in enumerate(bodies)]
    rows = ("{" + ", ".join(f"t{n}_{t}" for t in range(len(bodies))) + ", 0}" for n, bodies in enumerate(threads))
    return "".join([*parts, "static void (*cases[][5])(void) = {", ",\n".join(rows), "};", MAIN])


def verdict(program: Path, number: int, *options: str) -> str:
    return judged(program, number, *options)[0]


def judged(program: Path, number: int, *options: str) -> tuple[str, bool]:
    """And whether some execution shows a hazard."""
    end, told = explore(program, "monitor=exact-c11", *options, arguments=(str(number),))
    assert end["complete"], end
    found = [answer for answer in told if answer["type"] == "violation"]
    word = "race" if any(answer["race"] for answer in found) else "weak" if found else "robust"
    return word, bool(end["hazards"])


@pytest.fixture(scope="module")
def cases() -> Iterator[Path]:
    with compiled(source([threads for threads, _ in CASES.values()]), flags=("-pthread", "-w")) as program:
        yield program


@pytest.mark.parametrize("name", CASES)
def test_what_orders_and_synchronisation_mean(cases: Path, name: str) -> None:
    assert verdict(cases, list(CASES).index(name)) == CASES[name][1]


# -- random programs: as C they are what they are when interpreted -----------------------------------------------------


def as_c(program: Program) -> list[str]:
    names = {"x": "a", "y": "b", "z": "pointer"}

    def value(expression: Expr) -> str:
        match expression:
            case Const(number):
                return str(number)
            case Reg(name):
                return name
            case Old():
                return "old"
            case Op(operator, (left, right)):
                return f"({value(left)} {operator} {value(right)})"
        raise AssertionError(expression)

    def order(word: MemoryOrder) -> str:
        return f"memory_order_{word}"

    def statement(i: Instruction) -> str:
        match i:
            case Fence():
                return f"atomic_thread_fence({order(i.order)});"
            case Load(address=Addr(at)):
                return f"{i.register} = atomic_load_explicit(&{names[at]}, {order(i.order)});"
            case Store(address=Addr(at)):
                return f"atomic_store_explicit(&{names[at]}, {value(i.value)}, {order(i.order)});"
            case Rmw(address=Addr(at), when=Op(_, (_, expected))):
                kind = "long" if at == "z" else "int"
                orders = f"{order(i.order)}, {order(i.failure)}"
                call = f"atomic_compare_exchange_strong_explicit(&{names[at]}, &expected, {value(i.value)}, {orders});"
                return f"{{ {kind} expected = {value(expected)}; {call} {i.register} = expected; }}"
            case Rmw(address=Addr(at), value=Op()):
                return f"{i.register} = atomic_fetch_add_explicit(&{names[at]}, 1, {order(i.order)});"
            case Rmw(address=Addr(at)):
                return f"{i.register} = atomic_exchange_explicit(&{names[at]}, {value(i.value)}, {order(i.order)});"
            case Branch(when=when):
                return f"if ({value(when)}) return;"
        raise AssertionError(i)

    bodies = []
    for thread in program.threads:
        registers = "".join(f"int {name} = 0; " for name in thread.registers)
        bodies.append(registers + " ".join(map(statement, thread.code)))
    return bodies


def drawn(count: int) -> Iterator[Program]:
    rng = random.Random(11)
    while count:
        program = random_program(rng)
        code = [i for thread in program.threads for i in thread.code]
        loops = any(isinstance(i, Branch) and i.target < len(t.code) for t in program.threads for i in t.code)
        if not loops and not any(getattr(i, "order", "") == "na" for i in code):
            count -= 1
            yield program


def buffering(count: int) -> Iterator[Program]:
    """Rings of loads, each with a store after it that the next one may see."""
    rng = random.Random(12)
    for _ in range(count):
        names = rng.choice([["x", "y"], ["x", "y", "z"]])
        threads = []
        for number, name in enumerate(names):
            between = rng.choice(["", "", "", "fence.rel; ", "fence.acq; "])
            stored = f"{names[number - 1]}=1.{rng.choice(['rlx', 'rlx', 'rel'])}"
            threads.append(f"r={name}.{rng.choice(['rlx', 'rlx', 'acq', 'sc'])}; {between}{stored}")
        yield c11(" ‖ ".join(threads))


def test_random_programs_are_the_same_as_c() -> None:
    others, rings = list(drawn(some(100))), list(buffering(some(40)))
    programs = [*others, *rings]
    found = set()
    with compiled(source([as_c(program) for program in programs]), flags=("-pthread", "-w")) as binary:
        for number, program in enumerate(programs):
            interpreted = "weak" if robustness(program, ["c11"]).violations["c11"] else "robust"
            told, hazardous = judged(binary, number)
            assert told == interpreted, as_c(program)
            assert not hazardous or hazards(independent(program)), as_c(program)
            assert hazardous or number < len(others) or not hazards(program), as_c(program)
            found.add((interpreted, hazardous))
    assert {("robust", False), ("robust", True), ("weak", False)} <= found


def independent(program: Program) -> Program:
    """Without what its stores take from its loads: in C nothing is known of that."""
    threads = []
    for thread in program.threads:
        code = [replace(i, value=Const(1)) if isinstance(i, Store) else i for i in thread.code]
        threads.append(replace(thread, code=tuple(code)))
    return replace(program, threads=tuple(threads))


# -- from the command line ---------------------------------------------------------------------------------------------

MESSAGE = """#include <pthread.h>
#include <stdatomic.h>
int data; atomic_int ready;
void *producer(void *u) { data = 42; atomic_store_explicit(&ready, 1, ORDER); return 0; }
int main(void) {
  pthread_t t; pthread_create(&t, 0, producer, 0);
  int r = atomic_load_explicit(&ready, memory_order_acquire) ? data : 0;
  pthread_join(t, 0);
  return r;
}
"""


def asked(tmp_path: Path, order: str, *options: str) -> tuple[int, dict[str, object]]:
    file = tmp_path / "message.c"
    file.write_text(MESSAGE.replace("ORDER", f"memory_order_{order}"))
    result = CliRunner().invoke(check, [str(file), *options, "--json"], standalone_mode=False)
    return result.return_value, json.loads(result.output)


def test_a_race_is_a_violation_with_both_places(tmp_path: Path) -> None:
    for options in (("--model", "c11"), ("--races",)):
        status, answer = asked(tmp_path, "relaxed", *options)
        assert status == 1
        (race,) = answer["races"]  # type: ignore[misc]
        assert race["address"] == "data"
        assert [place.rpartition(":")[2] for place in race["locations"]] == ["4", "7"]
        assert answer["models"]["c11"]["race_free"] is False  # type: ignore[index]


def test_without_a_race_it_is_robust(tmp_path: Path) -> None:
    status, answer = asked(tmp_path, "release", "--model", "tso,pso,c11")
    assert status == 0
    found = answer["models"]["c11"]  # type: ignore[index]
    assert (found["robust"], found["race_free"], found["safe"], found["portable"]) == (True, True, True, True)


@pytest.mark.parametrize("kind", ["c", "litmus"])
def test_race_free_alone_claims_nothing_more(kind: str, tmp_path: Path) -> None:
    """Relaxed message passing has no race, and is neither robust nor safe in C11: neither was asked."""
    file = tmp_path / f"mp.{kind}"
    file.write_text(
        {
            "c": "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\natomic_int x, y;\n"
            "#define LD(x) atomic_load_explicit(&x, memory_order_relaxed)\n"
            "#define ST(x) atomic_store_explicit(&x, 1, memory_order_relaxed)\n"
            "void *f(void *p) { ST(x); ST(y); return 0; }\n"
            "int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); if (LD(y)) assert(LD(x)); pthread_join(t, 0); }\n",
            "litmus": "C mp\n{}\n"
            "P0(atomic_int* x, atomic_int* y) { atomic_store_explicit(x, 1, memory_order_relaxed);"
            " atomic_store_explicit(y, 1, memory_order_relaxed); }\n"
            "P1(atomic_int* x, atomic_int* y) { int r0 = atomic_load_explicit(y, memory_order_relaxed);"
            " int r1 = atomic_load_explicit(x, memory_order_relaxed); }\nexists (1:r0=1 /\\ 1:r1=0)\n",
        }[kind]
    )
    answer = teetotal.check(str(file), models="c11", races=True)
    found = answer.models["c11"]
    assert (answer.verdict, found.race_free, found.robust, found.safe) == (Verdict.SAFE, True, None, None)
    assert "robust" not in str(answer).splitlines()[0]
    assert teetotal.check(str(file), models="c11").models["c11"].robust is False


@pytest.mark.parametrize("compiler", COMPILERS)
def test_static_variables_of_functions_are_no_races(compiler: str, tmp_path: Path) -> None:
    """The compiler's look whether one is there was taken for a load of the program's, and the library's for a plain one."""
    path = tmp_path / "static.cpp"
    path.write_text(
        "#include <atomic>\n#include <pthread.h>\nstruct S { int v; S() : v(7) {} };\nstd::atomic<int> made;\n"
        "S &get() { static S s; return s; }\n"
        "void *f(void *p) { get(); made.store(1, std::memory_order_relaxed); if (CHANGED) get().v++; return p; }\n"
        "int main() { pthread_t t; pthread_create(&t, 0, f, 0); int v = get().v;\n"
        "  if (made.load(std::memory_order_relaxed)) v = get().v; pthread_join(t, 0); return v == 0; }\n"
    )
    for changed, race_free in ((0, True), (1, False)):
        flags = (f"-DCHANGED={changed}",)
        c11 = teetotal.check(str(path), models="c11", compiler=compiler, flags=flags).models["c11"]
        assert (c11.robust, c11.race_free) == (race_free, race_free)


def test_release_sequences_of_before_cpp20(tmp_path: Path) -> None:
    """Which used to be asked of the specification and not of the monitor."""
    path = tmp_path / "own.c"
    path.write_text(
        "#include <pthread.h>\n#include <stdatomic.h>\natomic_int x, y;\n"
        "static void *a(void *p) { atomic_store_explicit(&x, 2, memory_order_relaxed);\n"
        "  atomic_store_explicit(&y, 2, memory_order_release);\n"
        "  atomic_store_explicit(&y, 2, memory_order_relaxed); return p; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, a, 0);\n"
        "  atomic_exchange_explicit(&y, 2, memory_order_acquire);\n"
        "  atomic_exchange_explicit(&x, 2, memory_order_relaxed); pthread_join(t, 0); }\n"
    )
    for release_sequence, expected in (("c11", Verdict.SAFE), ("c20", Verdict.VIOLATION)):
        assert teetotal.check(str(path), models=("c11",), release_sequence=release_sequence).verdict is expected


LOAD_BUFFERING: dict[str, tuple[list[str], bool]] = {
    "relaxed": (["LOAD(a, relaxed); STORE(b, 1, relaxed);", "LOAD(b, relaxed); STORE(a, 1, relaxed);"], True),
    "one acquires": (["LOAD(a, acquire); STORE(b, 1, relaxed);", "LOAD(b, relaxed); STORE(a, 1, relaxed);"], True),
    "both acquire": (["LOAD(a, acquire); STORE(b, 1, relaxed);", "LOAD(b, acquire); STORE(a, 1, relaxed);"], False),
    "both release": (["LOAD(a, relaxed); STORE(b, 1, release);", "LOAD(b, relaxed); STORE(a, 1, release);"], False),
    "fences": (["LOAD(a, relaxed); FENCE(release); STORE(b, 1, relaxed);",
                "LOAD(b, relaxed); FENCE(acquire); STORE(a, 1, relaxed);"], False),
    "by an rmw": (["atomic_exchange_explicit(&a, 2, memory_order_relaxed); STORE(b, 1, relaxed);",
                   "if (LOAD(b, acquire)) atomic_fetch_add_explicit(&a, 1, memory_order_acquire);"], True),
    "through a third": (["LOAD(a, relaxed); STORE(b, 1, relaxed);",
                         "if (LOAD(b, acquire)) STORE(pointer, 1, release);",
                         "if (LOAD(pointer, acquire)) STORE(a, 1, release);"], True),
    "a release in between": (["LOAD(a, relaxed); STORE(pointer, 2, relaxed); STORE(b, 1, release);",
                              "if (LOAD(b, acquire)) STORE(a, 1, relaxed);"], False),
    "one location": (["LOAD(a, relaxed); STORE(a, 1, relaxed);", "LOAD(a, relaxed); STORE(a, 2, relaxed);"], False),
    "a mutex": (["LOAD(a, relaxed); pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m);",
                 "pthread_mutex_lock(&m); if (x) STORE(a, 1, relaxed); pthread_mutex_unlock(&m);"], False),
    "nobody reads": (["LOAD(a, relaxed); STORE(b, 1, relaxed);", "STORE(a, 1, relaxed);"], False),
}  # fmt: skip


def test_load_buffering(tmp_path: Path) -> None:
    """What is robust in C11 is portable where no thread can see what comes of its own store before it."""
    path = tmp_path / "lb.c"
    names = list(LOAD_BUFFERING)
    functions, table = "", ""
    for number, name in enumerate(names):
        bodies, _ = LOAD_BUFFERING[name]
        functions += "".join(f"static void f{number}_{i}(void) {{ {body} }}\n" for i, body in enumerate(bodies))
        table += "{" + ", ".join(f"f{number}_{i}" for i in range(len(bodies))) + "}, "
    path.write_text(f"{HEAD}{functions}static void (*cases[][5])(void) = {{ {table} }};{MAIN}")
    for number, name in enumerate(names):
        answer = teetotal.check(str(path), models=("c11",), arguments=(str(number),))
        c11 = answer.models["c11"]
        hazard = LOAD_BUFFERING[name][1]
        assert (c11.robust, c11.race_free, c11.portable, bool(answer.hazards)) == (True, True, not hazard, hazard), name


RELAXED = """#include <pthread.h>
#include <stdatomic.h>
static atomic_int a, b;
static void *f(void *none) { atomic_store(&a, 1); atomic_store_explicit(&b, 1, memory_order_release); return none; }
int main(void) {
  pthread_t t; pthread_create(&t, 0, f, 0);
  int seen = atomic_load_explicit(&b, memory_order_relaxed) && atomic_load_explicit(&a, memory_order_relaxed);
  pthread_join(t, 0); return seen - seen;
}
"""
PLAIN = """#include <pthread.h>
static volatile int a, b;
static void *f(void *none) { a = 1; (void)b; return none; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); b = 1; (void)a; pthread_join(t, 0); }
"""
LOCKED = """#include <pthread.h>
static int a; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *f(void *none) { pthread_mutex_lock(&m); a++; pthread_mutex_unlock(&m); return none; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); f(0); pthread_join(t, 0); }
"""


ASSEMBLY = RELAXED.replace(
    "static void *f(void *none) {", 'static void *f(void *none) { __asm__ volatile("lock incl %0" : "+m"(a));'
).replace("memory_order_relaxed", "memory_order_seq_cst")


@pytest.mark.parametrize(
    ("text", "options", "status", "models", "says"),
    [
        (RELAXED, [], 1, ["sc", "tso", "pso", "c11"], "; with --model tso,pso, without C11: 0"),
        (RELAXED, ["--model", "tso,pso"], 0, ["sc", "tso", "pso"], ""),
        (RELAXED, ["--goal", "both"], 1, ["sc", "tso", "pso", "c11"], ""),
        (PLAIN, [], 1, ["sc", "tso", "pso"], "C11 gives plain and volatile variables"),
        (LOCKED, [], 0, ["sc", "tso", "pso"], ""),
        (ASSEMBLY, [], 0, ["sc", "tso", "pso"], "C11 gives inline assembly no meaning"),
    ],
    ids=["atomics", "named", "both", "volatile", "mutex", "assembly"],
)
def test_c11_without_being_asked(
    tmp_path: Path, text: str, options: list[str], status: int, models: list[str], says: str
) -> None:
    path = tmp_path / "program.c"
    path.write_text(text)
    told = CliRunner().invoke(check, [*options, str(path)], standalone_mode=False)
    assert told.return_value == status
    assert says in " ".join(told.output.split())
    assert says or "C11 gives" not in told.output
    asked = json.loads(CliRunner().invoke(check, [*options, "--json", str(path)], standalone_mode=False).output)
    assert list(asked["models"]) == models
    assert asked["models"].get("c11", {}).get("by_default", False) == ("c11" in models)


def test_what_c11_allows_can_be_seen_again(run: Callable[..., tuple[int, str, str]]) -> None:
    Path("message.c").write_text(
        MESSAGE.replace("int data", "atomic_int data")
        .replace("data = 42", "atomic_store_explicit(&data, 42, memory_order_relaxed)")
        .replace("? data", "? atomic_load_explicit(&data, memory_order_relaxed)")
        .replace("ORDER", "memory_order_relaxed")
    )
    status, out, _ = run("check", "--model", "c11", "message.c")
    assert status == 1
    (again,) = (line for line in out.splitlines() if line.startswith("  Again: "))
    status, out, _ = run(*shlex.split(again.removeprefix("  Again: teetotal ")))
    assert status == 1
    assert "T0 ld data → 0, the value before T1's st data = 42" in out
    assert "No sequentially consistent execution does that" in out


def test_a_hazard_of_several_instructions_of_a_line_is_told_once(tmp_path: Path) -> None:
    text = """
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y;
#define LD(v) atomic_load_explicit(&v, memory_order_relaxed)
#define ST(v, n) atomic_store_explicit(&v, n, memory_order_relaxed)
static void *f(void *u) { (void)LD(x); ST(y, 1); ST(y, 2); return u; }
static void *g(void *u) { int r = LD(y); if (r) { ST(x, r); ST(x, r + 1); } return u; }
int main(void) { pthread_t t, v; pthread_create(&t, 0, f, 0); pthread_create(&v, 0, g, 0);
  pthread_join(t, 0); pthread_join(v, 0); }
"""
    path = tmp_path / "line.c"
    path.write_text(text)
    assert len(teetotal.check(str(path), models=("c11",)).hazards) == 1
