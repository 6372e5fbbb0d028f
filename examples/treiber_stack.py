"""Treiber's lock-free stack: a node is pushed and popped by one compare-and-swap on the top.

Nodes are numbered from 1, and 0 is the empty stack. A popped node is not pushed again, so its number cannot deceive the
compare-and-swap. The value of a node is written before the node is published: TSO keeps it so. PSO does as long as an
atomic operation empties all of the thread's buffers, as it does on real processors.
"""

from teetotal import array, cas, ld, program, st

EMPTY = 0
below = array("below", 3)
value = array("value", 3)


def push(node, what):
    yield st(value[node], what)
    while True:
        top = yield ld("top")
        yield st(below[node], top)
        if (yield cas("top", top, node)) == top:
            return


def pop():
    while True:
        top = yield ld("top")
        if top == EMPTY:
            return EMPTY
        rest = yield ld(below[top])
        if (yield cas("top", top, rest)) == top:
            return (yield ld(value[top]))


def producer(node):
    yield from push(node, 10 * node)


def consumer():
    got = yield from pop()
    assert got in (EMPTY, 10, 20), "a node without its value"


stack = program(producer(1), producer(2), consumer(), top=EMPTY)
