"""Threads that take several mutexes at once, by what ``std::lock`` does in truth: every state, tries that fail and all.

A thread is text. ``a`` locks the mutex a and ``A`` unlocks it; ``[ab]`` is ``std::lock`` of a and b, ``(ab)`` the same
through ``std::unique_lock``; ``?a…|`` does what follows and unlocks a, if ``try_lock`` of a succeeds; ``w`` loads x and
stores 3·x plus the thread's number; ``s`` waits until x is not 0; ``d`` loads x, then y, until neither is 0; ``y`` stores 1
to y.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

SIZE = 200
"""What x is counted up to, and then from the beginning."""


class TooMany(Exception):
    """More states than it is sensible to visit."""


class _Thread(NamedTuple):
    at: int = 0
    first: int = 0
    """Of those that it takes at once: the one that it begins with."""
    taken: int = 0
    giving: int = 0
    """How many it still has to give back."""
    seen: int = -1
    """What a load has read."""


class _State(NamedTuple):
    threads: tuple[_Thread, ...]
    holders: tuple[int, ...]
    """0: nobody, else the thread's number, from 1."""
    x: int = 0
    y: int = 0


class Found(NamedTuple):
    ends: frozenset[int]
    """What x is when all threads have ended."""
    hangs: bool


def explored(threads: tuple[str, ...], mutexes: int, most: int = 60_000) -> Found:
    start = _State((_Thread(),) * len(threads), (0,) * mutexes)
    seen, left = {start: list(_steps(threads, start))}, [start]
    while left:
        for after in seen[left.pop()]:
            if after not in seen:
                if len(seen) >= most:
                    raise TooMany
                seen[after] = list(_steps(threads, after))
                left.append(after)
    ends = {state.x for state in seen if _ended(threads, state)}
    return Found(frozenset(ends), any(_hangs(threads, state, seen) for state in seen))


def _ended(threads: tuple[str, ...], state: _State) -> bool:
    return all(one.at == len(code) for one, code in zip(state.threads, threads, strict=True))


def _hangs(threads: tuple[str, ...], state: _State, seen: dict[_State, list[_State]]) -> bool:
    """Whether nobody ever gets any further from here."""
    if _ended(threads, state):
        return False
    alike, left = {state}, [state]
    while left:
        for after in seen[left.pop()]:
            if after.holders != state.holders or any(
                one.at != other.at for one, other in zip(after.threads, state.threads, strict=True)
            ):
                return False
            if after not in alike:
                alike.add(after)
                left.append(after)
    return True


def _steps(threads: tuple[str, ...], state: _State) -> Iterator[_State]:
    for number, code in enumerate(threads):
        me = state.threads[number]
        if me.at < len(code):
            yield from _step(state, number, code, me)


def _step(state: _State, number: int, code: str, me: _Thread) -> Iterator[_State]:
    letter = code[me.at]

    def now(thread: _Thread, *held: tuple[int, int], **values: int) -> _State:
        holders = list(state.holders)
        for mutex, holder in held:
            holders[mutex] = holder
        others = state.threads
        return state._replace(
            threads=(*others[:number], thread, *others[number + 1 :]), holders=tuple(holders), **values
        )

    if letter in "[(":
        close = code.index("])"[letter == "("], me.at)
        mutexes = [ord(one) - ord("a") for one in code[me.at + 1 : close]]
        count = len(mutexes)
        at = mutexes[(me.first + (me.giving - 1 if me.giving else me.taken)) % count]
        if me.giving:
            rest = me.giving - 1
            following = me._replace(giving=rest) if rest else _Thread(me.at, (me.first + me.taken) % count)
            yield now(following, (at, 0))
        elif not state.holders[at]:
            taken = me.taken + 1
            yield now(_Thread(close + 1) if taken == count else me._replace(taken=taken), (at, number + 1))
        elif me.taken:  # a try fails: all go back, and the next time it begins with this one
            yield now(me._replace(giving=me.taken))
    elif letter == "?":
        at = ord(code[me.at + 1]) - ord("a")
        if state.holders[at]:
            yield now(_Thread(code.index("|", me.at) + 1))
        else:
            yield now(_Thread(me.at + 2), (at, number + 1))
    elif letter == "|":
        yield now(_Thread(me.at + 1), (ord(code[code.rindex("?", 0, me.at) + 1]) - ord("a"), 0))
    elif letter == "w":
        if me.seen < 0:
            yield now(me._replace(seen=state.x))
        else:
            yield now(_Thread(me.at + 1), x=(3 * me.seen + number + 1) % SIZE)
    elif letter == "s":
        if state.x:
            yield now(_Thread(me.at + 1))
    elif letter == "d":
        if me.seen < 0:
            yield now(me._replace(seen=state.x))
        else:
            yield now(_Thread(me.at + 1) if me.seen and state.y else _Thread(me.at))
    elif letter == "y":
        yield now(_Thread(me.at + 1), y=1)
    elif letter.isupper():
        yield now(_Thread(me.at + 1), (ord(letter) - ord("A"), 0))
    elif not state.holders[ord(letter) - ord("a")]:
        yield now(_Thread(me.at + 1), (ord(letter) - ord("a"), number + 1))
