"""Ends of threads and joins that nothing comes after are no steps of a search: what is told is the same."""

from __future__ import annotations

import pytest
from test_c_known_steps import EAGER, same
from test_c_snapshots import HEAD, MONITORS

from c_programs import compiled, explore

RACING = "for (int i = 0; i < 3; i++) { int a = x; x = a + 1; }"
FUNCTION = "atomic_int x, y;\nvoid *f(void *p) { " + RACING + " LAST return 0; }\n"
MAIN = """int main(void) { pthread_t t[2];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, f, (void *)i);
  JOINS }
"""
BOTH = "pthread_join(t[0], 0); pthread_join(t[1], 0);"
HANGS = "if (p && x == 2) while (!y);"
CASES = {
    "both end": ("", BOTH),
    "one waits for ever": (HANGS, BOTH),
    "the process ends before one that waits": (HANGS, "pthread_join(t[0], 0);"),
    "main stores between the joins": ("", "pthread_join(t[1], 0); x = 7; pthread_join(t[0], 0);"),
    "main stores after the joins": ("", "pthread_join(t[1], 0); pthread_join(t[0], 0); y = x; assert(y != 2);"),
    "nobody is joined": ("", "pthread_exit(0);"),
    "main waits for a store": ("y++;", "while (y < 2); " + BOTH),
    "the same is joined twice": ("", "pthread_join(t[0], 0); pthread_join(t[0], 0);"),
}
JOINER = """
atomic_int x, y; pthread_t t[2];
void *f(void *p) { for (int i = 0; i < 3; i++) { int a = x; x = a + 1; } return 0; }
void *g(void *p) { for (int i = 0; i < 2; i++) { int a = x; x = a + 1; } pthread_join(t[0], 0); y = x; return 0; }
int main(void) { pthread_create(&t[0], 0, f, 0); pthread_create(&t[1], 0, g, 0); pthread_join(t[1], 0); }
"""


@pytest.mark.parametrize("name", CASES)
def test_the_same_is_told(name: str) -> None:
    last, joins = CASES[name]
    with compiled(HEAD + FUNCTION.replace("LAST", last) + MAIN.replace("JOINS", joins)) as program:
        same(program, *MONITORS)
        same(program, "tell-all=1")


def test_a_thread_that_joins() -> None:
    with compiled(HEAD + JOINER) as program:
        same(program, *MONITORS)


def test_nobody_waits_for_ever_once_the_process_has_ended() -> None:
    with compiled(HEAD + FUNCTION.replace("LAST", HANGS) + MAIN.replace("JOINS", BOTH)) as program:
        _, told = explore(program, EAGER)
    assert [answer["what"] for answer in told if answer["type"] == "failure"] == ["livelock"]
    with compiled(HEAD + FUNCTION.replace("LAST", HANGS) + MAIN.replace("JOINS", "pthread_join(t[0], 0);")) as program:
        _, told = explore(program, EAGER)
    assert not [answer for answer in told if answer["type"] == "failure"]


SELDOM = """
volatile int x, y, z, never; atomic_int c;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *f(void *p) {
  if (p) { x = 1; (void)y; int sum = 0; for (int i = 0; i < 4; i++) sum += atomic_fetch_add(&c, 1); if (sum == SUM) STUCK; }
  else { y = 1; (void)x; for (int i = 0; i < 4; i++) atomic_fetch_add(&c, 1); z = 1; (void)x; }
  return 0; }
int main(void) { pthread_t t[2];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, f, (void *)i);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0); }
"""


@pytest.mark.parametrize("total", [6, 9, 20])
@pytest.mark.parametrize(
    ("what", "stuck"),
    [("livelock", "while (never != 7)"), ("deadlock", "pthread_mutex_lock(&m), pthread_mutex_lock(&m)")],
    ids=["livelock", "deadlock"],
)
def test_who_is_stuck_seldom_is_told_though_main_could_join_another(what: str, stuck: str, total: int) -> None:
    """By then it is known what ends and joins do, and main's join of the thread that has ended is left out: behind it
    main waits for who is stuck."""
    with compiled(HEAD + SELDOM.replace("SUM", str(total)).replace("STUCK", stuck)) as program:
        for options in ((), ("look=0",), ("look=2",), ("snapshots=0",)):
            end, told = explore(program, *options)
            assert end["complete"]
            assert [answer["what"] for answer in told if answer["type"] == "failure"] == [what], options


READER = """
atomic_int sequence, data;
void *writer(void *p) {
  for (int i = 1; i < 3; i++) { sequence = 2 * i - 1; data = i; sequence = 2 * i; }
  return 0; }
void *reader(void *p) {
  pthread_t t; int seen, value, before = 0;
  pthread_create(&t, 0, writer, 0);
  for (;;) {
    seen = atomic_load(&sequence); value = atomic_load(&data);
    if (seen % 2 == 0 && seen == atomic_load(&sequence)) break;
    before = value;
  }
  pthread_join(t, 0);
  return before + value == 7 ? p : 0; }
int main(void) { READS }
"""


@pytest.mark.parametrize(
    "reads",
    ["reader(0);", "pthread_t u; pthread_create(&u, 0, reader, 0); pthread_join(u, 0);"],
    ids=["main", "another"],
)
def test_who_goes_round_once_more_and_then_joins_is_not_stuck(reads: str) -> None:
    """Where a reader stands at the end is a way round to where it was, and behind its loop it joins the writer, whose end
    is left out by then."""
    with compiled(HEAD + READER.replace("READS", reads)) as program:
        for options in ((), (EAGER,), ("look=0",)):
            end, told = explore(program, *options)
            assert end["complete"]
            assert not [answer for answer in told if answer["type"] == "failure"], options
