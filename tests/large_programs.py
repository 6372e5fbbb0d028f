"""Programs with more states than memory, and what it takes to run short of it."""

from __future__ import annotations

DEKKER = """from teetotal import array, ld, mfence, program, st

flag = array("flag", 2)


def thread(me, fenced):
    other = 1 - me
    for _ in range(4):
        yield st(flag[me], 1)
        if fenced:
            yield mfence
        while (yield ld(flag[other])) == 1:
            if (yield ld("turn")) != me:
                yield st(flag[me], 0)
                if fenced:
                    yield mfence
                while (yield ld("turn")) != me:
                    pass
                yield st(flag[me], 1)
                if fenced:
                    yield mfence
        yield st("owner", me)
        if fenced:
            yield mfence
        assert (yield ld("owner")) == me
        yield st("turn", other)
        if fenced:
            yield mfence
        yield st(flag[me], 0)
        if fenced:
            yield mfence


dekker = program(thread(0, False), thread(1, False), turn=0, owner=0)
"""
"""1,603 states under SC, 312,217 under TSO, 16,010,610 under PSO."""

LONG_BUFFERS = """from teetotal import ld, program, st


def writer():
    for number in range(100):
        yield st("x", number)
        yield ld("x")


def reader():
    r = yield ld("x")
    yield st("y", r)
    assert (yield ld("y")) == r


long_buffers = program(writer(), reader(), x=0, y=0)
"""
"""Robust: a thread that reads what it wrote, and one that only reads. A few thousand states under SC, and under TSO as many
for each length of the buffer."""

LIMITED = '''
import resource
from pathlib import Path

class short_of_memory:
    """From here on this process may take so many megabytes more."""
    def __init__(self, megabytes):
        self.megabytes = megabytes
    def __enter__(self):
        self.before = resource.getrlimit(resource.RLIMIT_AS)
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + int(self.megabytes * 2**20), self.before[1]))
    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_AS, self.before)
'''
"""For a process of its own: this one has memory to use again."""
