"""A step that is not run, since it is known what it does, does what it does when it is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_c_snapshots import HEAD, MONITORS, RUN, C, told_by, without_base

from c_programs import compiled, explore, translate
from random_programs import ATOMIC, LOCKED, MIXED, seeded

PROGRAMS = Path(__file__).parents[2] / "benchmarks" / "programs"
EAGER = "look=4"  # every fourth execution is run; from the fourth on what is learnt is learnt from its beginning
BEHIND = {
    "heap": "int *x, *y;\nvoid *f(void *p) { for (int i = 0; i < 2; i++) { *(p ? x : y) = i + 1;"
    " (void)*(volatile int *)(p ? y : x); } return 0; }\n",
    "widths": "union { atomic_char c[4]; atomic_int i; } u; atomic_long l;\nvoid *f(void *p) {"
    " for (int i = 0; i < 2; i++) { atomic_store(&l, (long)p << 40 | i); if (p) u.c[i]++; else u.i += l > 5; }"
    " return 0; }\n",
    "results": "atomic_int x;\nvoid *f(void *p) { int a = x++; int b = x++; return (void *)(long)(10 * a + b); }\n",
    "swaps": "atomic_int x;\nvoid *f(void *p) { for (int i = 0; i < 2; i++) { int e = i;"
    " if (!atomic_compare_exchange_strong(&x, &e, e + 1)) x += e; } return 0; }\n",
    "swaps-of-three": "atomic_int y, z;\nvoid *f(void *p) { int r = 0, e = 2; switch ((long)p) {"
    " case 0: r = y; e = 0; atomic_compare_exchange_strong(&y, &e, 1); break;"
    " case 1: atomic_compare_exchange_strong(&y, &e, 2); r = y; r = y; break;"
    " case 2: atomic_compare_exchange_strong(&y, &e, 1); z = 1; z = 1; } return (void *)(long)r; }\n",
    "exit": "atomic_int x, y;\nvoid *f(void *p) {"
    " if (p) { x++; y++; x++; } else { y++; if (x) exit(0); y++; } return 0; }\n",
    "both-exit": "atomic_int x, y;\nvoid *f(void *p) { for (int i = 0; i < 2; i++) { y++; if (x++ > 1) exit(0); }"
    " return 0; }\n",
    "freed": "int *x; atomic_int y;\nvoid *f(void *p) {"
    " if (p) { y++; y++; y++; free(x); y++; } else { *x = 1; y++; *x = 2; y++; *x = 3; } return 0; }\n",
    "race": "int d; atomic_int x, y, z;\nvoid *f(void *p) { switch ((long)p) {"
    " case 0: if (z == 2) d = 0; if (x == 2) d = 0; break;"
    " case 1: if (y == 1) d = 1; if (y == 0) d = 1; z++; break;"
    " case 2: y++; z = 2; } return 0; }\n",
}
HEAP_RUN = RUN.replace("int main(void) {", "int main(void) { x = calloc(1, 4); y = calloc(1, 4);")
RESULTS_RUN = RUN.replace("pthread_join(t[i], 0); }", "{ void *r; pthread_join(t[i], &r); assert((long)r != 12); } }")
FREED_RUN = RUN.replace("int main(void) {", "int main(void) { x = calloc(1, 4);")
THREE_RUN = RUN.replace("t[2]", "t[3]").replace("< 2", "< 3")
RUNS = {"heap": HEAP_RUN, "freed": FREED_RUN, "race": THREE_RUN, "swaps-of-three": THREE_RUN, "results": RESULTS_RUN}


def same(program: Path, *options: str, arguments: tuple[str, ...] = ()) -> tuple[int, int]:
    """How often the program was gone back to when every step was run, and when known ones were not."""
    every, all_run = told_by(program, "look=0", *options, arguments=arguments)
    known, some_run = told_by(program, EAGER, *options, arguments=arguments)
    assert without_base(known) == without_base(every)
    return all_run, some_run


@pytest.mark.parametrize("name", [*C, *BEHIND])
def test_programs_tell_the_same(name: str) -> None:
    text = HEAD + (C[name] + RUN if name in C else BEHIND[name] + RUNS.get(name, RUN))
    with compiled(text) as program:
        same(program, *MONITORS, "executions=2000")
        same(program, "snapshots=2", "executions=500")


@pytest.mark.parametrize("name", ["dekker", "peterson"])
def test_what_is_known_need_not_be_run(name: str) -> None:
    with compiled((PROGRAMS / f"{name}.c").read_text(), flags=(f"-I{PROGRAMS}", "-DROUNDS=3")) as program:
        all_run, some_run = same(program, *MONITORS, "executions=1500")
    assert some_run < 0.6 * all_run


FOUND = """
atomic_int x, y;
void *f(void *p) { for (int i = 0; i < 2; i++) { int a = x; y = a + 1; int b = y; x = b; } return 0; }
int main(void) { pthread_t t[2];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, f, (void *)i);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  assert(x != 2); }
"""


def test_what_main_finds_in_the_end_is_looked_at() -> None:
    with compiled(HEAD + FOUND) as program:
        same(program)
        _, told = explore(program, EAGER)
    assert [answer["what"] for answer in told if answer["type"] == "failure"] == ["assertion"]


DONE = {
    "stores before it looks": "y = x; assert(y != 2);",  # what is loaded then is not what the threads have left
    "changes what it looks at": "assert(atomic_fetch_add(&x, 0) != 2);",
    "looks in the heap": "assert(*h != 2);",
    "looks at more than is kept": "for (int i = 0; i < 40; i++) (void)y; assert(x != 2);",
}


@pytest.mark.parametrize("does", DONE)
def test_what_main_does_in_the_end_is_done(does: str) -> None:
    text = FOUND.replace("assert(x != 2);", DONE[does])
    if "*h" in text:
        text = text.replace("atomic_int x, y;", "atomic_int *h, y;\n#define x (*h)")
        text = text.replace("pthread_t t[2];", "pthread_t t[2]; h = calloc(1, sizeof *h);")
    with compiled(HEAD + text) as program:
        same(program)
        _, told = explore(program, EAGER)
    assert [answer["what"] for answer in told if answer["type"] == "failure"] == ["assertion"]


JOINED = """
atomic_int x, told;
void *idle(void *p) { return 0; }
void *adds(void *p) { for (int i = 0; i < 3; i++) x = x + 1; return 0; }
void *joins(void *p) { while (!told); pthread_join((pthread_t)p, 0); return 0; }
int main(void) { pthread_t t[5]; void *(*f[4])(void *) = {idle, idle, adds, adds};
  for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, f[i], (void *)i);
  pthread_create(&t[4], 0, joins, (void *)t[0]);
  pthread_join(t[2], 0); pthread_join(t[3], 0);
  pthread_join(t[x == 2 ? 0 : 1], 0);
  told = 1; pthread_exit(0); }
"""


def test_a_thread_that_others_have_joined_is_not_joined_again() -> None:
    """As many are left to be joined, whichever main has joined, and what the threads returned is the same, too."""
    with compiled(HEAD + JOINED) as program:
        same(program)
        _, told = explore(program, "look=64")
    assert [answer["message"] for answer in told if answer["type"] == "failure"] == ["joins T1, which was joined"]


def test_random_programs_tell_the_same() -> None:
    programs = [program for shape in (ATOMIC, LOCKED, MIXED) for program in seeded(75, 8, shape)]
    with compiled(translate(programs)) as object_file:
        for number in range(len(programs)):
            same(object_file, *MONITORS, "executions=2000", arguments=(str(number),))


LEADS_ON = """
#define LOAD(a) atomic_load_explicit(&a, memory_order_relaxed)
#define STORE(a, v) atomic_store_explicit(&a, v, memory_order_relaxed)
atomic_int x, y;
void *f(void *p) {
  switch ((long)p) {
  case 0: STORE(y, 1); break;
  case 1: if (LOAD(y)) while (LOAD(x) == ROUND); break;
  case 2: STORE(x, 1); STORE(y, 1); STORE(x, LAST); }
  return 0; }
int main(void) { pthread_t t[3];
  for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, f, (void *)i);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0); }
"""


@pytest.mark.parametrize(("waits_with", "violations"), [(1, 1), (0, 0)], ids=["leads on", "waits"])
def test_older_values_lead_where_they_led(waits_with: int, violations: int) -> None:
    """Where the store of 1 is late under PSO, the second thread reads 0. Whether that only takes it round is known by
    then, since it had come there before that store; or it is asked, where nothing is known."""
    with compiled(HEAD + LEADS_ON.replace("ROUND", str(waits_with)).replace("LAST", str(1 - waits_with))) as program:
        for options in (("look=0",), ("look=1",), ()):
            _, told = explore(program, "monitor=exact-pso", *options)
            deciding = [answer["steps"][-1][0] for answer in told if answer["type"] == "violation"]
            assert deciding.count(2) == violations, options
