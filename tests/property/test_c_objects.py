"""Objects that begin and end beside other threads, with store buffers and without: every class of interleavings once, the
same failures as in all of them, and what a machine written down here reaches."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from test_c_strengths import LETTERS

from amounts import some
from c_letters import ACCESSES
from c_programs import COMPILERS, compiled, explore, reported
from explicit_states import replaced
from teetotal.answers.events import ModelName, Semantics
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.programs.c.build import Source

MORE = r"""
    case 'i': pthread_mutex_init(&m, 0); break;
    case '1': pthread_spin_init(&q, 0); break;
    case '2': pthread_spin_destroy(&q); break;
    case '3': sem_init(&s, 0, 1); break;
    case '4': sem_destroy(&s); break;
    case '5': pthread_rwlock_init(&l, 0); break;
    case '6': pthread_rwlock_destroy(&l); break;
    case '7': pthread_cond_init(&c, 0); break;
    case '8': pthread_cond_destroy(&c); break;
    case '9': pthread_barrier_init(&b, 0, 2); break;
    case '0': pthread_barrier_destroy(&b); break;
"""
OBJECTS = LETTERS.replace("    case 'l':", MORE + "    case 'l':")
LETTERS_OF = {
    "mutex": "idT{}?klM",
    "spinlock": "12zZ<>kl",
    "semaphore": "34PVpgk",
    "rwlock": "56rwRW()kl",
    "condition": "78CSBk",
    "barrier": "90bk",
}
FOUND = {
    "a try beside two that begin": ["0", "T", "di", "iT"],
    "a lock waits for its own store, which comes behind the holder's": ["1", "i{", "?T"],
    "it was let go of before its unlock": ["0", "(6)", "5W"],
    "a semaphore ends while somebody would take it": ["0", "kP", "4"],
    "looked at after its end": ["0", "4", "g", "P"],
}
"""Here classes were missing, or the search planned what was not possible."""


def failures(told: list[dict[str, Any]]) -> set[tuple[str, int, str]]:
    """Told once for each place: not by whom an object is held."""
    return {
        (answer["what"], answer["thread"], re.sub(r"T\d+", "T", answer["message"]))
        for answer in told
        if answer["type"] == "failure"
    }


def compare(program: Path, model: str, arguments: list[str]) -> bool:
    """Whether there were few enough interleavings to see them all."""
    options = ("classes=1", f"model={model}")
    reduced, found = explore(program, *options, arguments=arguments)
    brute = ("strategy=interleavings", "spinners=stop", "executions=4000")
    every, all_found = explore(program, *options, *brute, arguments=arguments)
    assert reduced["complete"], arguments
    assert reduced["redundant"] == 0, arguments
    assert reduced["executions"] == reduced["classes"] >= every["classes"], arguments
    assert failures(found) >= failures(all_found), arguments
    if every["complete"]:
        assert (reduced["executions"], failures(found)) == (every["classes"], failures(all_found)), arguments
    return bool(every["complete"])


@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_every_class_of_beginnings_ends_and_uses_once(model: str) -> None:
    sizes = [(2, 2, 1), (3, 2), (3, 3)] if model == "sc" else [(2, 2), (3, 2), (1, 2, 1), (2, 1, 1)]
    with compiled(OBJECTS) as program:
        for name, letters in LETTERS_OF.items():
            chance = random.Random(f"{name} on {model}")
            compared = 0
            for _ in range(5):
                code = ["".join(chance.choices(letters, k=size)) for size in chance.choice(sizes)]
                compared += compare(program, model, [str(chance.randint(0, 1)), *code])
            assert compared >= 1, name


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found(name: str) -> None:
    with compiled(OBJECTS) as program:
        for model in ("sc", "tso", "pso"):
            compare(program, model, FOUND[name])


# -- a machine of its own ----------------------------------------------------------------------------------------------

FREE, GONE = -1, -2


class State(NamedTuple):
    mutex: int
    """Who holds it, or one of the above."""
    x: int
    counters: tuple[int, ...]
    results: tuple[str, ...]
    buffers: tuple[tuple[tuple[str, int], ...], ...]


def commits(state: State, model: str) -> Iterator[State | None]:
    """None: it goes wrong."""
    for thread, buffer in enumerate(state.buffers):
        for at, (where, value) in enumerate(buffer):
            if at if model == "tso" else any(where == other for other, _ in buffer[:at]):
                continue
            after = state._replace(buffers=replaced(state.buffers, thread, buffer[:at] + buffer[at + 1 :]))
            if where == "x":
                yield after._replace(x=value)
            elif state.mutex >= 0 or (value == GONE and state.mutex == GONE):
                yield None
            else:
                yield after._replace(mutex=value)


def steps(state: State, code: list[str]) -> Iterator[State | None]:
    for thread, counter in enumerate(state.counters):
        if counter == len(code[thread]):
            continue
        letter, buffer = code[thread][counter], state.buffers[thread]
        own = [value for where, value in buffer if where == "x"]
        after = state._replace(counters=replaced(state.counters, thread, counter + 1))

        def said(what: str, after: State = after, thread: int = thread) -> State:
            return after._replace(results=replaced(after.results, thread, after.results[thread] + what))

        def stored(where: str, value: int, after: State = after, thread: int = thread) -> State:
            return after._replace(buffers=replaced(after.buffers, thread, (*after.buffers[thread], (where, value))))

        if letter in "id":
            yield stored("m", FREE if letter == "i" else GONE)
        elif letter in "kK":
            yield stored("x", 1)
        elif letter == "l":
            yield said(str((own or [state.x])[-1]))
        elif letter == "t":  # a try looks first, also at its own stores, and needs an empty buffer only to succeed
            seen = ([value for where, value in buffer if where == "m"] or [state.mutex])[-1]
            if seen == GONE:
                yield None
            elif seen != FREE:
                yield said("b")
            elif not buffer:
                yield said("t")._replace(mutex=thread)
        elif not buffer and letter == "{" and state.mutex < 0:
            yield None if state.mutex == GONE else after._replace(mutex=thread)
        elif not buffer and letter == "}":
            yield after._replace(mutex=FREE) if state.mutex == thread else None


def reached(code: list[str], model: str) -> tuple[set[tuple[str, ...]], bool]:
    """What the threads have seen where all have come to their end; and whether something goes wrong on the way."""
    first = State(FREE, 0, (0,) * len(code), ("",) * len(code), ((),) * len(code))
    seen, waiting, wrong = {first}, [first], False
    for state in waiting:
        moves = [*commits(state, "tso" if model == "sc" else model)]
        if model != "sc" or not moves:  # SC: a store is committed before anything else is done
            moves += steps(state, code)
        wrong = wrong or None in moves
        fresh = {move for move in moves if move is not None} - seen
        seen |= fresh
        waiting.extend(fresh)
    lengths = tuple(len(letters) for letters in code)
    return {state.results for state in seen if state.counters == lengths and not any(state.buffers)}, wrong


TRIES = r"""
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t m; static volatile int x; static long results[3];
static void run(unsigned long letters, int number) {
  long seen = 1;
  for (; letters; letters >>= 8) switch (letters & 255) {
    case 'i': pthread_mutex_init(&m, 0); break;
    case 'd': pthread_mutex_destroy(&m); break;
    case 'k': x = 1; break;
    case 'l': seen = seen * 5 + x; break;
    case 't': seen = seen * 5 + (pthread_mutex_trylock(&m) ? 2 : 3); break;
    case '{': pthread_mutex_lock(&m); break;
    case '}': pthread_mutex_unlock(&m); break;
  }
  results[number] = seen;
}
static unsigned long code[3];
static void *thread(void *number) { run(code[(long)number], (int)(long)number); return 0; }
int main(int n, char **given) {
  pthread_t t[3]; int count = n - 2;
  for (int i = 0; i < count; i++) memcpy(&code[i], given[i + 2], strlen(given[i + 2]));
  for (long i = 0; i < count; i++) pthread_create(&t[i], 0, thread, (void *)i);
  for (int i = 0; i < count; i++) pthread_join(t[i], 0);
  long all = 0; for (int i = 0; i < count; i++) all = all * 1000 + results[i];
  assert(all != atol(given[1]));
}
"""


def outcome(results: tuple[str, ...]) -> int:
    whole = 0
    for said in results:
        seen = 1
        for letter in said:
            seen = seen * 5 + "01bt".index(letter)
        whole = whole * 1000 + seen
    return whole


@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_what_a_machine_of_its_own_reaches(model: str) -> None:
    chance = random.Random(f"machine of {model}")
    asked: set[tuple[bool, bool]] = set()
    with compiled(TRIES) as program:
        for _ in range(14):
            code = [
                "".join(chance.choices("iidtttlkk{}", k=size)) for size in chance.choice([(3, 2), (3, 3), (2, 2, 1)])
            ]
            outcomes, wrong = reached(code, model)
            others = reached(code, "pso")[0] - outcomes
            for results in [*sorted(outcomes)[:2], *sorted(others)[:2]]:
                end, told = explore(program, f"model={model}", arguments=[str(outcome(results)), *code])
                kinds = {answer["what"] for answer in told if answer["type"] == "failure"}
                assert end["complete"], code
                assert ("assertion" in kinds) == (results in outcomes), (code, results)
                assert ("misuse" in kinds) == wrong, code
                asked.add((results in outcomes, wrong))
    assert {(True, False), (True, True)} <= asked


BEGUN = ACCESSES.replace(
    "    case 'x':",
    """    case 'j': pthread_mutex_init(&m, 0); break;
    case 'J': pthread_rwlock_init(&l, 0); break;
    case 'r': pthread_rwlock_rdlock(&l); pthread_rwlock_unlock(&l); break;
    case 'w': pthread_rwlock_wrlock(&l); pthread_rwlock_unlock(&l); break;
    case 'x':""",
).replace("static sem_t s;", "static sem_t s; static pthread_rwlock_t l;")


def test_robust_where_store_buffers_add_no_class() -> None:
    """A lock may be all that overtakes what initialises its object. Where nothing fails in turns, an execution is one
    for each trace, with store buffers too."""
    chance = random.Random("locks that overtake")
    robust = {"tso": {True: 0, False: 0}, "pso": {True: 0, False: 0}}
    with compiled(BEGUN) as program:
        for number in range(some(600)):
            begins, uses = ("j", ("mM", "mXM")) if number % 2 else ("J", ("r", "w"))
            first = [begins, "F", *chance.choices("xXyYbB", k=chance.randint(0, 2))]
            chance.shuffle(first)
            later = [
                [chance.choice("fq"), *chance.choices((*uses, "x", "X", "Y"), k=2)] for _ in range(number % 3 // 2 + 1)
            ]
            code = ["".join(words) for words in (first, *later)]
            options = ("symmetry=off", chance.choice(("screened=0", "screened=1")))
            plain, told = explore(program, "monitor=exact-tso", "monitor=exact-pso", *options, arguments=code)
            assert plain["complete"], code
            if failures(told):
                continue
            for model, reports in zip(("tso", "pso"), reported(told), strict=True):
                end, _ = explore(program, f"model={model}", arguments=code)
                assert (end["executions"] == plain["executions"]) == (reports == 0), (code, model)
                robust[model][reports == 0] += 1
    assert min(robust["pso"].values()) > 10


# -- through the front door ----------------------------------------------------------------------------------------------

HEAD = "#include <pthread.h>\n#include <stdlib.h>\n#include <threads.h>\n"
MEMORY = {
    "free beside a lock": ("free(p);", "pthread_mutex_lock(&p->m); pthread_mutex_unlock(&p->m);", "use after free"),
    "free beside a semaphore": ("free(p);", "sem_post(&p->s);", "use after free"),
    "C11's": ("mtx_destroy(&p->c);", "mtx_lock(&p->c); mtx_unlock(&p->c);", "misuse"),
}


@pytest.mark.parametrize("name", MEMORY)
@pytest.mark.parametrize("swapped", [False, True])
def test_what_ends_beside_a_use_is_found_in_every_order(name: str, swapped: bool, tmp_path: Path) -> None:
    """That the memory of an object ends was no event for the object, and C11's calls were none at all: called safe."""
    one, other, what = MEMORY[name]
    if swapped:
        one, other = other, one
    file = tmp_path / "program.c"
    file.write_text(
        HEAD + "#include <semaphore.h>\nstruct all { pthread_mutex_t m; sem_t s; mtx_t c; } *p;\n"
        f"static void *f(void *q) {{ {one} return 0; }}\n"
        "int main(void) { p = calloc(1, sizeof *p); pthread_t t; pthread_create(&t, 0, f, 0); "
        f"{other} pthread_join(t, 0); }}\n"
    )
    for goal, model in (("robust", "sc"), ("safe", "tso"), ("safe", "pso")):
        result = check(Source((str(file),)), CheckOptions(models=(model,), goal=goal))
        assert what in {violation.kind for violation in result.violations}, (goal, model)


LIST = (
    HEAD
    + r"""
#include <limits.h>
#include <stdatomic.h>
struct node { int key; _Atomic(struct node *) next; atomic_int marked; pthread_mutex_t lock; };
static struct node *head, *gone;
static struct node *make(int key, struct node *next) {
  struct node *n = malloc(sizeof *n);
  n->key = key; atomic_init(&n->next, next); atomic_init(&n->marked, 0); pthread_mutex_init(&n->lock, 0);
  return n;
}
static void change(int key, int adds) {
  for (int done = 0; !done;) {
    struct node *p = head, *c = p->next;
    while (c->key < key) { p = c; c = c->next; }
    pthread_mutex_lock(&p->lock); pthread_mutex_lock(&c->lock);
    if (!p->marked && !c->marked && p->next == c) {
      done = 1;
      if (adds && c->key != key) atomic_store_explicit(&p->next, make(key, c), memory_order_ORDER);
      if (!adds && c->key == key) { c->marked = 1; p->next = c->next; gone = c; }
    }
    pthread_mutex_unlock(&c->lock); pthread_mutex_unlock(&p->lock);
  }
}
static void *adds(void *p) { change(1, 1); return 0; }
static void *takes(void *p) { change(1, 0); return 0; }
int main(void) {
  head = make(INT_MIN, make(INT_MAX, 0));
  pthread_t a, b; pthread_create(&a, 0, adds, 0); pthread_create(&b, 0, takes, 0);
  pthread_join(a, 0); pthread_join(b, 0);
  if (gone) { pthread_mutex_destroy(&gone->lock); free(gone); }
}
"""
)


def test_a_lazy_list_with_a_mutex_in_each_node_is_decided(tmp_path: Path) -> None:
    """Where the node is told of without an order, PSO lets others find what is not written yet."""
    for order, model, verdict in (
        ("release", "tso", Verdict.SAFE),
        ("release", "pso", Verdict.SAFE),
        ("relaxed", "tso", Verdict.SAFE),
        ("relaxed", "pso", Verdict.INCONCLUSIVE),
    ):
        file = tmp_path / f"{order}.c"
        file.write_text(LIST.replace("ORDER", order))
        result = check(Source((str(file),)), CheckOptions(models=(model,), goal="safe"))
        assert result.verdict is verdict, (order, model)
        assert any("memory that nobody has written" in note for note in result.notes) == (verdict is not Verdict.SAFE)


OWN = (
    HEAD
    + r"""
#include <assert.h>
struct s { volatile int a, b, c, d; };
static void *f(void *q) {
  struct s *s = malloc(sizeof *s);
  s->a = 1; s->b = s->a + 1; s->c = s->b + 1; s->d = s->c + s->a; assert(s->d == 4); free(s);
  return 0;
}
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); f(0); pthread_join(t, 0); }
"""
)


@pytest.mark.parametrize("model", ["tso", "pso"])
def test_what_a_thread_sees_of_its_own_stores_is_no_choice(model: str) -> None:
    """In its buffer or in memory: there were 3,250 executions on TSO and 11,665 on PSO."""
    with compiled(OWN) as program:
        end, _ = explore(program, f"model={model}")
    assert (end["executions"], end["complete"]) == (1, True)


HALVES = (
    HEAD
    + r"""
#include <assert.h>
union { struct { volatile int lo, hi; }; volatile long whole; } u; volatile long seen;
static void *writes(void *q) { u.lo = 1; FENCE; u.hi = 1; return 0; }
static void *reads(void *q) { int hi = u.hi, lo = u.lo; assert(!hi || lo); seen = u.whole; return 0; }
int main(void) {
  pthread_t t, s; pthread_create(&t, 0, writes, 0); pthread_create(&s, 0, reads, 0);
  pthread_join(t, 0); pthread_join(s, 0);
}
"""
)


@pytest.mark.parametrize(
    ("model", "fence", "verdict"),
    [
        ("tso", "", Verdict.SAFE),
        ("pso", "", Verdict.INCONCLUSIVE),
        ("pso", "__atomic_thread_fence(__ATOMIC_RELEASE)", Verdict.SAFE),
    ],
)
def test_parts_that_could_overtake_each_other_bar_the_proof(
    model: ModelName, fence: str, verdict: Verdict, tmp_path: Path
) -> None:
    """Halves of what is read as a whole have one buffer: on PSO the second could be seen first, and it was called safe."""
    file = tmp_path / "program.c"
    file.write_text(HALVES.replace("FENCE", fence))
    assert check(Source((str(file),)), CheckOptions(models=(model,), goal="safe")).verdict is verdict


LOCKED = {
    "mutex": ("pthread_mutex_t", "pthread_mutex_init(&l, 0)", "pthread_mutex_lock(&l); pthread_mutex_unlock(&l)"),
    "to write": (
        "pthread_rwlock_t",
        "pthread_rwlock_init(&l, 0)",
        "pthread_rwlock_wrlock(&l); pthread_rwlock_unlock(&l)",
    ),
    "to read": (
        "pthread_rwlock_t",
        "pthread_rwlock_init(&l, 0)",
        "pthread_rwlock_rdlock(&l); pthread_rwlock_unlock(&l)",
    ),
}


@pytest.mark.parametrize("name", LOCKED)
@pytest.mark.parametrize("goal", ["robust", "safe"])
@pytest.mark.parametrize("waiting", ["skip", "count"])
def test_who_sees_the_flag_before_the_lock_is_initialised(
    name: str, goal: Literal["robust", "safe"], waiting: Literal["skip", "count"], tmp_path: Path
) -> None:
    """It was called robust, and so safe: no lock was said to overtake anything."""
    kind, begins, uses = LOCKED[name]
    file = tmp_path / "program.c"
    text = (
        HEAD + f"static {kind} l; static volatile int ready;\n"
        f"static void *f(void *p) {{ {begins}; FENCE ready = 1; return p; }}\n"
        f"int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); if (ready) {{ {uses}; }} pthread_join(t, 0); }}\n"
    )
    for fence, verdict in (("", Verdict.VIOLATION), ("__atomic_thread_fence(__ATOMIC_RELEASE);", Verdict.SAFE)):
        file.write_text(text.replace("FENCE", fence))
        answer = check(Source((str(file),)), CheckOptions(goal=goal, waiting=waiting))
        assert answer.verdict is verdict
        if verdict is Verdict.VIOLATION:
            assert "that T0 holds" in str(answer)


AGAIN = """
#include <stdatomic.h>
static _Atomic(pthread_mutex_t *) shared; static pthread_mutex_t own; static volatile int ready;
static void *f(void *p) { BEGINS; return p; }
int main(void) {
  pthread_t t; pthread_create(&t, 0, f, 0);
  pthread_mutex_t *m = ready ? &own : atomic_load_explicit(&shared, memory_order_relaxed);
  if (m) { pthread_mutex_lock(m); pthread_mutex_unlock(m); }
  pthread_join(t, 0);
}
"""


@pytest.mark.parametrize("mutex", ["fence", "rmw"])
@pytest.mark.parametrize(
    "begins",
    [
        "pthread_mutex_t *m = malloc(sizeof *m); pthread_mutex_init(m, 0);"
        " atomic_store_explicit(&shared, m, memory_order_relaxed)",
        "pthread_mutex_init(&own, 0); pthread_mutex_lock(&own); pthread_mutex_unlock(&own); pthread_mutex_destroy(&own);"
        " pthread_mutex_init(&own, 0); ready = 1",
    ],
    ids=["heap", "destroyed"],
)
def test_what_is_locked_before_it_is_a_mutex_is_replayed(
    begins: str, mutex: Literal["fence", "rmw"], tmp_path: Path
) -> None:
    """What lies there by then is no number that the machine knows of a mutex: an internal error."""
    file = tmp_path / "program.c"
    file.write_text(HEAD + AGAIN.replace("BEGINS", begins))
    answer = check(Source((str(file),)), CheckOptions(semantics=Semantics(rmw="address", mutex=mutex)))
    assert {violation.model for violation in answer.violations} == {"pso"}
    assert {violation.kind for violation in answer.violations} >= {"robustness"}


ASSIGNED = """
#include <assert.h>
static OBJECT l; static volatile int ready;
static void *f(void *p) { l = (OBJECT)INITIAL; FENCE ready = 1; return p; }
int main(void) {
  pthread_t t; pthread_create(&t, 0, f, 0);
  if (ready) { USES; }
  pthread_join(t, 0);
}
"""
USES = {
    "mutex": ("pthread_mutex_t", "PTHREAD_MUTEX_INITIALIZER", "pthread_mutex_lock(&l); pthread_mutex_unlock(&l)"),
    "tried": (
        "pthread_mutex_t",
        "PTHREAD_MUTEX_INITIALIZER",
        "if (!pthread_mutex_trylock(&l)) { assert(pthread_mutex_trylock(&l)); pthread_mutex_unlock(&l); }",
    ),
    "to read": (
        "pthread_rwlock_t",
        "PTHREAD_RWLOCK_INITIALIZER",
        "pthread_rwlock_rdlock(&l); pthread_rwlock_unlock(&l)",
    ),
}
BUILT = """
#include <atomic>
#include <mutex>
#include <thread>
struct Counter { std::mutex m; int count = 0; };
static std::atomic<Counter *> shared;
int main() {
  std::thread t([] { shared.store(new Counter, std::memory_order_ORDER); });
  if (Counter *counter = shared.load(std::memory_order_acquire)) {
    std::lock_guard<std::mutex> guard(counter->m);
    counter->count++;
  }
  t.join();
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("goal", ["robust", "safe"])
@pytest.mark.parametrize("name", USES)
def test_an_assignment_initialises_an_object(
    name: str, goal: Literal["robust", "safe"], compiler: str, tmp_path: Path
) -> None:
    """Its stores conflicted with nothing that is done to the object: who locked it before they came was called safe."""
    kind, initial, uses = USES[name]
    text = HEAD + ASSIGNED.replace("OBJECT", kind).replace("INITIAL", initial).replace("USES", uses)
    file = tmp_path / "program.c"
    for fence, verdict in (("", Verdict.VIOLATION), ("__atomic_thread_fence(__ATOMIC_RELEASE);", Verdict.SAFE)):
        file.write_text(text.replace("FENCE", fence))
        answer = check(Source((str(file),), (), compiler), CheckOptions(goal=goal))
        assert answer.verdict is verdict
        if verdict is Verdict.VIOLATION:
            assert "that T0 holds" in str(answer)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_constructor_initialises_the_mutexes_of_its_object(compiler: str, tmp_path: Path) -> None:
    file = tmp_path / "program.cc"
    for order, verdict in (("relaxed", Verdict.VIOLATION), ("release", Verdict.SAFE)):
        file.write_text(BUILT.replace("ORDER", order))
        answer = check(Source((str(file),), (), compiler), CheckOptions(models=("tso", "pso", "c11")))
        assert answer.verdict is verdict
        assert answer.models["c11"].race_free is (verdict is Verdict.SAFE)
    assert answer.complete
