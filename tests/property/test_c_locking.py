"""``std::lock`` of several mutexes: tries that fail are left out, and no end, no deadlock and no other hang with them.

What is compared with are all states of what the library does in truth (``reference/lock_states.py``)."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from amounts import some
from c_programs import COMPILERS, compiled, explore
from lock_states import SIZE, Found, TooMany, explored

INTERPRETER = (
    r"""#include <atomic>
#include <cassert>
#include <cstring>
#include <mutex>
#include <thread>
using Owner = std::unique_lock<std::mutex>;
std::mutex m[3];
std::atomic<int> x, y;
void together(const char *of, int count) {
  if (count == 2) std::lock(m[of[0] - 'a'], m[of[1] - 'a']);
  if (count == 3) std::lock(m[of[0] - 'a'], m[of[1] - 'a'], m[of[2] - 'a']);
}
void owned(const char *of) {
  Owner u(m[of[0] - 'a'], std::defer_lock), v(m[of[1] - 'a'], std::defer_lock);
  std::lock(u, v);
  u.release();
  v.release();
}
void run(const char *code, int me) {
  int tried = 0;
  for (; *code; ++code) {
    const char *end;
    switch (*code) {
      case 'w': { int seen = x; x = (3 * seen + me) % SIZE; break; }
      case 'y': y = 1; break;
      case 's': while (!x); break;
      case 'd': for (;;) { int r = x, s = y; if (r && s) break; } break;
      case '[': end = strchr(code, ']'); together(code + 1, end - code - 1); code = end; break;
      case '(': end = strchr(code, ')'); owned(code + 1); code = end; break;
      case '?': tried = *++code - 'a'; if (!m[tried].try_lock()) code = strchr(code, '|'); break;
      case '|': m[tried].unlock(); break;
      default: if (*code >= 'a') m[*code - 'a'].lock(); else m[*code - 'A'].unlock();
    }
  }
}
int main(int argc, char **argv) {
  std::thread t(run, argv[1], 1), u(run, argv[2], 2), v(run, argc > 3 ? argv[3] : "", 3);
  t.join(); u.join(); v.join();
  switch (x) {
"""
    + "".join(f"case {one}: assert(x != {one}); break;\n" for one in range(SIZE))
    + "}}\n"
)

NAMED = {
    "both ways": ("[ab]wAB", "[ba]wAB"),
    "three in a ring": ("[ab]wAB", "[bc]wBC", "[ca]wAC"),
    "one after the other": ("[ab]wAB", "bawAB"),  # no deadlock: the first gives a back
    "held for good": ("c[ab]wABC", "bcwBC"),  # a deadlock, with a held for the moment only
    "nobody is last": ("a[bc]wABC", "c[ab]wABC", "b[ca]wABC"),
    "first the same": ("a[cb]wABC", "b[ca]wABC"),  # c is with one of them, and the other waits for him alone
    "never waits": ("[ab]wAB", "bdaAB", "wy"),  # who waits goes on to what is held for the moment only
    "waits for it": ("[ab]wAB", "bsaAB", "w"),
    "through owners": ("(ab)wAB", "(ba)wAB"),
    "three": ("[abc]wABC", "[cba]wABC"),
    "held already": ("a[ba]wAB", "w"),
}


@pytest.mark.parametrize("compiler", COMPILERS)
def test_named_programs_as_by_definition(compiler: str) -> None:
    with compiled(INTERPRETER, suffix=".cpp", flags=(f"-DSIZE={SIZE}",), compiler=compiler) as program:
        for name, threads in NAMED.items():
            for model in ("sc", "tso", "pso"):
                assert _told(program, threads, model) == (explored(threads, 3), True), (name, model)


def test_a_try_of_somebody_else_sees_what_is_held_for_a_moment() -> None:
    """The second holds b all the time, and finds a held and then free: the first has given it back."""
    threads = ("[ab]AB", "b?aw|?aww|B")
    expected = explored(threads, 3)
    assert expected.ends == {0, 2, 8, 26}
    with compiled(INTERPRETER, suffix=".cpp", flags=(f"-DSIZE={SIZE}",)) as program:
        for model in ("sc", "tso", "pso"):
            assert _told(program, threads, model) == (expected, True), model


def test_random_programs_as_by_definition() -> None:
    draw = random.Random(7)
    compared = 0
    with compiled(INTERPRETER, suffix=".cpp", flags=(f"-DSIZE={SIZE}",)) as program:
        for _ in range(some(400)):
            threads = tuple(_thread(draw) for _ in range(draw.choice((2, 2, 3))))
            with suppress(TooMany):
                expected = explored(threads, 3)
                told, complete = _told(program, threads, draw.choice(("sc", "sc", "tso", "pso")))
                if complete:
                    compared += 1
                    assert told == expected, threads
                else:
                    assert told.ends <= expected.ends, threads
                    assert told.hangs <= expected.hangs, threads
    assert compared > some(400) // 2


def _told(program: Path, threads: tuple[str, ...], model: str) -> tuple[Found, bool]:
    end, told = explore(program, f"model={model}", "executions=5000", arguments=threads)
    failures = [answer for answer in told if answer["type"] == "failure"]
    ends = [int(one["message"].removeprefix("x != ")) for one in failures if one["what"] == "assertion"]
    hangs = [one for one in failures if one["what"] in ("deadlock", "livelock")]
    assert len(ends) + len(hangs) == len(failures), failures
    return Found(frozenset(ends), bool(hangs)), end["complete"]


def _thread(draw: random.Random) -> str:
    """Blocks that lock, perhaps in each other, and what they do."""

    def block(held: str, depth: int) -> str:
        free = [one for one in "abc" if one not in held]
        kind = draw.choice("wwsdy[[[(ab?" if depth < 2 else "wwsy")
        wanted = draw.sample(free, draw.choice((2, 2, 3)) if len(free) > 2 else len(free))
        if kind in "[(" and len(wanted) >= 2:
            wanted = wanted[: 2 if kind == "(" else 3]
            inside = "".join(block(held + "".join(wanted), depth + 1) for _ in range(draw.choice((0, 1, 1))))
            gone = draw.sample(wanted, len(wanted))
            return kind + "".join(wanted) + ("]" if kind == "[" else ")") + inside + "".join(gone).upper()
        if kind == "?" and free and draw.random() < 0.4:
            return f"?{free[0]}{draw.choice(('', 'w'))}|"
        if kind in "ab" and free:
            one = draw.choice(free)
            return one + "".join(block(held + one, depth + 1) for _ in range(2)) + one.upper()
        return kind if kind in "wsdy" else "w"

    return "".join(block("", 0) for _ in range(draw.choice((1, 1, 2))))
