"""The smallest program that a processor's store buffer breaks: both threads may miss the other's store."""

from teetotal import ld, mfence, program, st


def left():
    yield st("x", 1)
    r = yield ld("y")


def right():
    yield st("y", 1)
    r = yield ld("x")


def left_fenced():
    yield st("x", 1)
    yield mfence
    r = yield ld("y")


def right_fenced():
    yield st("y", 1)
    yield mfence
    r = yield ld("x")


store_buffering = program(left(), right(), x=0, y=0, exists="left.r == 0 and right.r == 0")
fenced = program(left_fenced(), right_fenced(), x=0, y=0, exists="left_fenced.r == 0 and right_fenced.r == 0")
