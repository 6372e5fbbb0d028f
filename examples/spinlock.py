"""A counter behind a spinlock: by exchange, by compare-and-swap, and by a load and a store, which is no lock at all."""

from teetotal import cas, ld, program, sfence, st, xchg


def by_exchange():
    while (yield xchg("lock", 1)) == 1:
        while (yield ld("lock")) == 1:  # wait on a load: it disturbs nobody
            pass


def by_cas():
    while (yield cas("lock", 0, 1)) != 0:
        pass


def by_store():
    while (yield ld("lock")) == 1:
        pass
    yield st("lock", 1)


def worker(acquire):
    yield from acquire()
    count = yield ld("counter")
    yield st("counter", count + 1)
    yield sfence  # PSO could free the lock before the counter's new value is visible
    yield st("lock", 0)


exchange = program(worker(by_exchange), worker(by_exchange), lock=0, counter=0, always="counter == 2")
compare_and_swap = program(worker(by_cas), worker(by_cas), lock=0, counter=0, always="counter == 2")
no_lock = program(worker(by_store), worker(by_store), lock=0, counter=0, always="counter == 2")
