"""Memory ends cell by cell, and others may come between two of these events. What fails is what fails where memory ends at
once: by brute force over small programs whose threads use two fields and two semaphores, and end them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from amounts import some
from c_programs import compiled, explore
from teetotal.engines.runtime.events import Names
from teetotal.programs.c.symbols import Symbols

LETTERS = r"""
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#define LOAD(a) atomic_load_explicit(&a, memory_order_relaxed)
#define STORE(a, v) atomic_store_explicit(&a, v, memory_order_relaxed)
struct fields { atomic_int a, b; sem_t s, u; } *p;
static __thread struct fields local;
static atomic_int f, g;
static int count;
static unsigned long code[8];
static pthread_t t[8];
static void run(unsigned long letters) {
  for (; letters; letters >>= 8) switch (letters & 255) {
    case 'a': (void)LOAD(p->a); break;
    case 'b': (void)LOAD(p->b); break;
    case 'A': STORE(p->a, 1); break;
    case 'B': STORE(p->b, 1); break;
    case 'F': STORE(f, 1); break;
    case 'G': STORE(g, 1); break;
    case 'f': if (LOAD(f)) return; break;
    case 'g': if (!LOAD(g)) return; break;
    case 'x': if (!LOAD(p->a)) return; break;
    case 'y': if (LOAD(p->b)) return; break;
    case 'v': sem_post(&p->s); break;
    case 'w': sem_trywait(&p->s); break;
    case 'V': sem_post(&p->u); break;
    case 'W': sem_trywait(&p->u); break;
    case 'd': free(p); break;
  }
}
static void *thread(void *letters) { run((unsigned long)letters); return 0; }
static void lend(struct fields *fields) {
  p = fields;
  sem_init(&p->s, 0, 0); sem_init(&p->u, 0, 0);
  for (int i = 1; i < count; i++) pthread_create(&t[i], 0, thread, (void *)code[i]);
  run(code[0]);
}
static void frame(void) { struct fields own; atomic_init(&own.a, 0); atomic_init(&own.b, 0); lend(&own); }
static void *lender(void *is_local) { if (is_local) lend(&local); else frame(); return 0; }
int main(int c, char **given) {
  count = c - 2;
  for (int i = 0; i < count; i++) memcpy(&code[i], given[i + 2], strlen(given[i + 2]));
  switch (given[1][0]) {
    case 'h': lend(calloc(1, sizeof *p)); break;
    case 'f': frame(); break;
    default: pthread_create(&t[0], 0, lender, (void *)(long)(given[1][0] == 'l')); pthread_join(t[0], 0);
  }
  for (int i = 1; i < count; i++) pthread_join(t[i], 0);
}
"""
"""The first argument is where the fields lie: on the heap, in a frame of main's, of a thread's, or local to a thread; the
others are what threads do, the first one being the owner, with whose letters what is not on the heap ends."""


MEMORY = "ABFG"
"""What is stored to, by the letter that stores."""
USES = "abABxyvwVWd"
STOPS: dict[str, Callable[[tuple[int, ...]], bool]] = {
    "f": lambda seen: seen[2] != 0,
    "g": lambda seen: seen[3] == 0,
    "x": lambda seen: seen[0] == 0,
    "y": lambda seen: seen[1] != 0,
}


class State(NamedTuple):
    nexts: tuple[int, ...]
    """Of each thread: which letter comes next."""
    buffers: tuple[str, ...]
    memory: tuple[int, ...] = (0, 0, 0, 0)
    ended_by: int = -1

    def of(self, thread: int, goes_to: int, buffer: str) -> State:
        nexts, buffers = list(self.nexts), list(self.buffers)
        nexts[thread], buffers[thread] = goes_to, buffer
        return self._replace(nexts=tuple(nexts), buffers=tuple(buffers))

    def stored(self, letter: str) -> State:
        return self._replace(
            memory=tuple(value or int(name == letter) for name, value in zip(MEMORY, self.memory, strict=True))
        )


def steps(state: State, thread: int, letters: str, model: str, ends: bool) -> Iterator[State | str]:
    """What a thread or its buffer may do next; a letter: that fails. ``ends``: stopped or not, its last letter is done."""
    at, buffer = state.nexts[thread], state.buffers[thread]
    for place, store in enumerate(buffer if model == "pso" else buffer[:1]):
        if store in buffer[:place]:
            continue
        rest = buffer[:place] + buffer[place + 1 :]
        if store in USES and state.ended_by not in (-1, thread):  # its own end comes after its own store
            yield store
            yield state.of(thread, len(letters), rest)
        else:
            yield state.of(thread, at, rest).stored(store)
    if at == len(letters) or (letters[at] in "vwVW" and buffer):
        return
    letter, later = letters[at], state.of(thread, at + 1, buffer)
    seen = tuple(value or int(name in buffer) for name, value in zip(MEMORY, state.memory, strict=True))
    if letter in USES and state.ended_by != -1:
        yield letter
        yield state.of(thread, len(letters), buffer)
    elif letter in MEMORY:
        yield later.stored(letter) if model == "sc" else state.of(thread, at + 1, buffer + letter)
    elif letter == "d":
        yield later._replace(ended_by=thread)
    elif letter in STOPS and STOPS[letter](seen):
        yield state.of(thread, len(letters) - ends, buffer)
    else:
        yield later


def wrong_uses(threads: Sequence[str], model: str = "sc", lent: bool = False) -> set[str]:
    """The letters at which some execution fails, where 'd' ends everything at once. ``lent``: the fields end with the first
    thread's letters, the last of which is a 'd'."""
    first = State(tuple(0 for _ in threads), tuple("" for _ in threads))
    known, left, wrong = {first}, [first], set[str]()
    while left:
        state = left.pop()
        for thread, letters in enumerate(threads):
            for step in steps(state, thread, letters, model, lent and thread == 0):
                if isinstance(step, str):
                    wrong.add(step)
                elif step not in known:
                    known.add(step)
                    left.append(step)
    return wrong


@pytest.fixture(scope="module")
def program() -> Iterator[Path]:
    with compiled(LETTERS) as program:
        yield program


LETTER_OF = {
    number: line.strip()[6] for number, line in enumerate(LETTERS.splitlines(), 1) if line.strip().startswith("case '")
}


def told(program: Path, memory: str, threads: Sequence[str], *options: str) -> set[str]:
    end, answers = explore(program, *options, arguments=(memory, *threads))
    assert end["complete"] or memory != "h"
    symbols = Symbols(program, (str(program.parent / "program.c"),))
    names = Names(symbols, answers[0]["base"])
    places = [names.place(answer["place"]) for answer in answers if answer["type"] == "failure"]
    symbols.close()
    return {LETTER_OF[place.line] for place in places if place is not None}


def draw(chance: random.Random, letters: str, counts: Sequence[int]) -> list[str]:
    count = chance.choice(counts)
    return ["".join(chance.choices(letters, k=chance.randint(1, (4, 4, 4, 3, 2)[count]))) for _ in range(count)]


def test_what_is_freed(program: Path) -> None:
    found = 0
    for seed in range(some(1000)):
        chance = random.Random(f"freed {seed}")
        threads = draw(chance, "aAbBfFgGxyvwVW", (2, 3, 3, 4))
        owner = chance.randrange(len(threads))
        at, rest = chance.randint(0, len(threads[owner])), threads[owner]
        threads[owner] = rest[:at] + "d" + (rest[at:] if chance.random() < 0.3 else "")
        for options in ((), ("look=0",)):
            wrong = told(program, "h", threads, "model=sc", *options)
            assert wrong == wrong_uses(threads), (threads, options)
        found += bool(wrong)
    assert found > some(1000) / 3


@pytest.mark.parametrize("model", ["tso", "pso"])
def test_what_is_freed_before_stores_reach_it(program: Path, model: str) -> None:
    found = 0
    for seed in range(some(500)):
        chance = random.Random(f"freed {model} {seed}")
        threads = draw(chance, "aAbBfFgGxyvwVW", (2, 2, 3))
        threads[chance.randrange(len(threads))] += "d"
        wrong = told(program, "h", threads, f"model={model}")
        assert wrong == wrong_uses(threads, model), threads
        found += bool(wrong)
    assert found > some(500) / 3


def test_what_is_lent_and_ends(program: Path) -> None:
    """Once a thread stands before the end of a frame nothing keeps it from that: who comes now has failed, and what it
    would have done in time is not looked for. So some of the wrong uses are told, and any where there are some."""
    found = 0
    for seed in range(some(800)):
        chance = random.Random(f"lent {seed}")
        threads = draw(chance, "aAbBfFgGxyvwVW", (2, 3, 3, 4))
        lies = chance.choice("ftl")
        wrong = told(program, lies, threads, "model=sc")
        expected = wrong_uses([threads[0] + "d", *threads[1:]], lent=True)
        assert wrong <= expected, (lies, threads)
        assert bool(wrong) == bool(expected), (lies, threads)
        found += bool(wrong)
    assert found > some(800) / 3


@pytest.mark.parametrize(
    "threads", [("Bb", "vd"), ("xggd", "vwd"), ("BGf", "Bwd"), ("yA", "Ad"), ("xF", "fayd"), ("ywAdF", "d")], ids=str
)
@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_a_use_between_the_ends_of_two_cells(program: Path, threads: tuple[str, ...], model: str) -> None:
    """The other cells of the memory were still to end: the use was taken for one in time."""
    wrong = told(program, "h", threads, f"model={model}")
    assert wrong == wrong_uses(threads, model)
    assert wrong


@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_what_was_planned_for_whoever_has_failed_meanwhile_is_left_out(program: Path, model: str) -> None:
    """The third thread reads a field before or after the owner does. After, the owner stands before the end of its frame,
    and the thread has failed; before, it goes on, and what it stores is looked for behind the end, too. That was an
    internal error."""
    threads = ("wBa", "Gf", "vgAG", "AxBB")
    end, answers = explore(program, f"model={model}", "executions=300", arguments=("f", *threads))
    assert {answer["what"] for answer in answers if answer["type"] == "failure"} == {"use after return"}
    if model == "sc":
        assert not end["complete"]
        assert any("left out" in oddity for oddity in end["oddities"])


@pytest.mark.parametrize("threads", [("v", "Vd"), ("w", "WVad"), ("Wv", "Vbd")], ids=str)
def test_objects_side_by_side(program: Path, threads: tuple[str, ...]) -> None:
    """They end one after the other, too, behind all data."""
    assert told(program, "h", threads, "model=sc") == wrong_uses(threads) != set()


def test_whoever_frees_second_fails_at_the_first_cell(program: Path) -> None:
    """Whether the other one is done or not: so what is planned behind that cell's end is the same."""
    assert told(program, "h", ("bad", "bad")) == wrong_uses(("bad", "bad"))
