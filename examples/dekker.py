"""Dekker's mutual exclusion for two threads, as it stands in the textbooks and as a processor needs it.

Each thread raises its flag, and while the other's flag is up too, the one whose turn it is not steps back. The proof
needs the store of one's own flag to be visible before the other's flag is read, which a store buffer does not give.
"""

from teetotal import array, ld, mfence, program, sfence, st

flag = array("flag", 2)


def thread(me, fenced):
    other = 1 - me
    yield st(flag[me], 1)
    if fenced:
        yield mfence
    while (yield ld(flag[other])) == 1:
        if (yield ld("turn")) != me:
            yield st(flag[me], 0)
            while (yield ld("turn")) != me:
                pass
            yield st(flag[me], 1)
            if fenced:
                yield mfence

    # the critical section: nobody else may be in it
    yield st("owner", me)
    assert (yield ld("owner")) == me, "both threads are in the critical section"

    if fenced:
        yield sfence  # PSO could end the critical section before its stores are visible
    yield st("turn", other)
    if fenced:
        yield sfence  # nor may the flag fall before the turn is given
    yield st(flag[me], 0)


unfenced = program(thread(0, fenced=False), thread(1, fenced=False), turn=0, owner=-1)
fenced = program(thread(0, fenced=True), thread(1, fenced=True), turn=0, owner=-1)
