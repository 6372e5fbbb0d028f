"""Peterson's mutual exclusion for two threads, without and with its fences."""

from teetotal import array, ld, mfence, program, sfence, st

flag = array("flag", 2)


def thread(me, fenced):
    other = 1 - me
    yield st(flag[me], 1)
    if fenced:
        yield sfence  # PSO could give the turn away before the flag is up
    yield st("turn", other)
    if fenced:
        yield mfence
    while (yield ld(flag[other])) == 1 and (yield ld("turn")) == other:
        pass

    # the critical section: nobody else may be in it
    yield st("owner", me)
    assert (yield ld("owner")) == me, "both threads are in the critical section"

    if fenced:
        yield sfence  # PSO could end the critical section before its stores are visible
    yield st(flag[me], 0)


unfenced = program(thread(0, fenced=False), thread(1, fenced=False), turn=0, owner=-1)
fenced = program(thread(0, fenced=True), thread(1, fenced=True), turn=0, owner=-1)
