"""A message and a flag that says it is there. TSO keeps the two stores in order; PSO does so only with an sfence."""

from teetotal import ld, program, sfence, st


def sender(fenced):
    yield st("message", 42)
    if fenced:
        yield sfence
    yield st("ready", 1)


def receiver():
    if (yield ld("ready")) == 1:
        assert (yield ld("message")) == 42, "the message is not there yet"


unfenced = program(sender(fenced=False), receiver(), message=0, ready=0)
fenced = program(sender(fenced=True), receiver(), message=0, ready=0)
