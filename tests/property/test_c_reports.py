"""What is not asked of the monitors, since it would say nothing new, is nothing that anybody would miss."""

from __future__ import annotations

import pytest
from test_c_known_steps import PROGRAMS
from test_c_snapshots import HEAD, MONITORS

from c_programs import compiled, explore, reported


@pytest.mark.parametrize(
    ("name", "executions", "reporting", "places"), [("dekker", 182, [173, 180], 10), ("peterson", 96, [96, 96], 6)]
)
def test_each_execution_with_a_report_is_counted(name: str, executions: int, reporting: list[int], places: int) -> None:
    """Whatever was reported before; and each report at new places is told."""
    with compiled((PROGRAMS / f"{name}.c").read_text(), flags=(f"-I{PROGRAMS}", "-DROUNDS=2")) as program:
        end, told = explore(program, *MONITORS, "reporting=1")
        _, uncounted = explore(program, *MONITORS)
    assert told == uncounted
    violations = [answer for answer in told if answer["type"] == "violation"]
    assert (end["executions"], end["reporting"], len(violations)) == (executions, reporting, places)


WAITING = """
#define LOAD(a) atomic_load_explicit(&a, memory_order_relaxed)
#define STORE(a, v) atomic_store_explicit(&a, v, memory_order_relaxed)
atomic_int x, z;
void *f(void *p) {
  if (p) { STORE(x, 1); (void)LOAD(z); return 0; }
  STORE(z, 1); STORE(z, 2); while (LOAD(x)); return 0; }
int main(void) { pthread_t t[2];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, f, (void *)i);
  pthread_join(t[0], 0); pthread_join(t[1], 0); }
"""


def test_what_waits_at_the_end_is_asked_with_its_whole_past() -> None:
    """Store buffering, in which the first thread's load only waits under SC if it comes last: after its second store,
    which overtakes nothing itself, it may overtake the other's. And the other's load may overtake that store."""
    with compiled(HEAD + WAITING) as program:
        _, told = explore(program, "monitor=exact-tso")
    deciding = [answer["steps"][-1][0] for answer in told if answer["type"] == "violation"]
    assert sorted(deciding) == [1, 2]


OLDER = """
#define LOAD(a) atomic_load_explicit(&a, memory_order_relaxed)
#define STORE(a, v) atomic_store_explicit(&a, v, memory_order_relaxed)
atomic_int c, u, x = 1, z;
void *f(void *p) {
  switch ((long)p) {
  case 0: if (LOAD(c)) STORE(x, 2); STORE(x, 3); STORE(z, 1); LAST; break;
  case 1: (void)LOAD(u); if (LOAD(z)) while (LOAD(x) != 1); break;
  case 2: STORE(c, 1); break;
  case 3: STORE(u, 1); }
  return 0; }
int main(void) { pthread_t t[4];
  for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, f, (void *)i);
  for (long i = 0; i < 4; i++) pthread_join(t[i], 0); }
"""


@pytest.mark.parametrize("options", [("look=0",), ()], ids=["all run", "known steps"])
@pytest.mark.parametrize("last", ["STORE(x, 1)", ""], ids=["goes on", "hangs"])
def test_an_older_value_is_asked_for_behind_one_that_was_told(last: str, options: tuple[str, ...]) -> None:
    """Without x = 2 the second thread, overtaking x = 3, reads 1 and goes on, which PSO allows. With it, it reads 2 and
    waits; overtaking x = 2 as well, it goes on: another store that can be late, also after the first was told, and met
    again; and also where the thread waits for ever under SC."""
    with compiled(HEAD + OLDER.replace("LAST", last)) as program:
        _, told = explore(program, *MONITORS, *options)
    places = {answer["at"] for answer in told if answer["type"] == "violation" and answer["steps"][-1][0] == 2}
    assert len({delayed for delayed, _, _ in places}) == 2


EITHER = """
#define LOAD(a) atomic_load_explicit(&a, memory_order_relaxed)
#define STORE(a, v) atomic_store_explicit(&a, v, memory_order_relaxed)
atomic_int u, x, y, z;
void *f(void *p) {
  switch ((long)p) {
  case 0: STORE(x, 1); (void)LOAD(z); STORE(y, 1); break;
  case 1: STORE(z, 1); (void)LOAD(u); (void)LOAD(y); (void)LOAD(x); break;
  case 2: STORE(u, 1); }
  return 0; }
int main(void) { pthread_t t[3];
  for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, f, (void *)i);
  for (long i = 0; i < 3; i++) pthread_join(t[i], 0); }
"""


def test_places_are_told_for_each_model() -> None:
    """The last load may overtake x = 1 under PSO where it comes behind y = 1, which is met first, with u = 0 and with
    u = 1; and where the first thread has loaded z before, as in store buffering, under TSO too."""
    with compiled(HEAD + EITHER) as program:
        _, told = explore(program, *MONITORS)
    last = {
        (answer["monitor"], answer["at"])
        for answer in told
        if answer["type"] == "violation" and answer["steps"][-1][0] == 2
    }
    tso, pso = ({at for by, at in last if by == name} for name in ("exact-tso", "exact-pso"))
    assert len(tso) == 1
    assert tso <= pso


WAITS_BEHIND_A_FENCE = """
#define FULL atomic_thread_fence(memory_order_seq_cst)
#define LOAD(a) atomic_load_explicit(&a, memory_order_relaxed)
#define STORE(a, v) atomic_store_explicit(&a, v, memory_order_relaxed)
atomic_int x, y;
void *f(void *p) {
  if (p) { STORE(x, 1); FULL; (void)LOAD(y); return 0; }
  STORE(y, 1); FULL; while (LOAD(x)); return 0; }
int main(void) { pthread_t t[2];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, f, (void *)i);
  pthread_join(t[0], 0); pthread_join(t[1], 0); }
"""


def test_the_last_fence_of_a_thread_that_waits_is_seen() -> None:
    """Nothing comes behind it but what the thread waits for, and that it keeps from overtaking."""
    with compiled(HEAD + WAITS_BEHIND_A_FENCE) as program:
        _, told = explore(program, *MONITORS)
    assert reported(told) == [0, 0]
