"""Random clients on this machine's own processors. Each client is compiled, straight on for as long as that is sensible,
and run for many rounds; what its reads saw in one round is a history.

The accesses are volatile, so that no compiler moves, joins or drops them; an rmw is an atomic exchange, a fence a full one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Literal

import numpy as np

from teetotal.answers.arguments import Natural, checked
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Kind
from teetotal.answers.options import Count
from teetotal.record.clients import Client, Recorded, Shape
from teetotal.record.harness import Test, running

Lines = Literal["separate", "shared"]
STRIDE: dict[Lines, int] = {"separate": 64, "shared": 8}
BODY = 500
"""Accesses of a thread that are written out; longer clients do these again and again."""
FREE = 2000
"""Operations, more or less, that the threads do before they meet again: under load, meeting takes long."""
MAX_THREADS = 256


def available() -> int:
    """How many threads run at once here; more than a few make histories that are hard to follow."""
    return min(len(os.sched_getaffinity(0)), 4)


@checked
def hardware(
    shape: Shape | None = None,
    *,
    clients: Count = 1,
    rounds: Count = 100,
    seed: Natural = 0,
    lines: Lines = "separate",
    compiler: str | None = None,
) -> Iterator[Recorded]:
    """``rounds`` histories of each of so many clients; addresses share cache lines, or each has its own."""
    shape = shape or Shape(threads=available())
    if shape.threads > MAX_THREADS:
        raise TeetotalError(f"{shape.threads:,} threads; at most {MAX_THREADS} are run")
    for number in range(clients):
        client = Client(shape, seed + number, body=BODY)
        words = sum(client.reads)
        with running(as_test(client, lines), rounds, compiler) as output:
            for done in range(rounds):
                told = output.read(8 * max(words, 1))
                if len(told) < 8 * max(words, 1):
                    raise TeetotalError("the program that runs the client ended early")
                results = np.frombuffer(told, np.int64, words).tolist()
                yield Recorded(f"hardware-{client.seed}-{done}", client, results)


def as_test(client: Client, lines: Lines) -> Test:
    shape = client.shape
    code = ["static void set_up(char *memory) { (void)memory; }"]
    first = 0
    for thread in range(shape.threads):
        code.append(_function(client, thread, first, STRIDE[lines]))
        first += client.reads[thread]
    code.append("static void tell(char *memory, int64_t *log) { (void)memory; fwrite(log, 8, LOG_WORDS, stdout); }")
    code.append("static void finish(void) {}")
    return Test(
        threads=shape.threads,
        memory_bytes=shape.addresses * STRIDE[lines],
        log_words=first,
        code="\n".join(code),
        rounds_between_barriers=max(1, FREE // max(shape.operations, 1)),
    )


def _function(client: Client, thread: int, first: int, stride: int) -> str:
    """``base`` is what the first access of this turn through the body would write, ``log`` where its first result goes."""
    body = client.body[thread]
    turns, rest = divmod(client.lengths[thread], len(body)) if body else (0, 0)
    reads = sum(kind in (Kind.LD, Kind.RMW) for kind, _ in body)
    step = client.value(thread, len(body)) - client.value(thread, 0)
    return "\n".join(
        [
            f"static void run_{thread}(char *memory, int64_t *log) {{",
            "  (void)memory;",
            f"  log += {first};",
            f"  int64_t base = {client.value(thread, 0)};",
            f"  for (long turn = 0; turn < {turns}; ++turn) {{",
            *_accesses(client, thread, len(body), stride),
            f"    log += {reads};",
            f"    base += {step};",
            "  }",
            *_accesses(client, thread, rest, stride),
            "}",
        ]
    )


def _accesses(client: Client, thread: int, count: int, stride: int) -> Iterator[str]:
    reads = 0
    for place, (kind, address) in enumerate(client.body[thread][:count]):
        cell = f"(volatile int64_t *)(memory + {address * stride})"
        value = f"base + {client.value(thread, place) - client.value(thread, 0)}"
        match kind:
            case Kind.LD:
                yield f"    log[{reads}] = *{cell};"
            case Kind.ST:
                yield f"    *{cell} = {value};"
            case Kind.RMW:
                yield f"    log[{reads}] = __atomic_exchange_n({cell}, {value}, __ATOMIC_SEQ_CST);"
            case _:
                yield "    __atomic_thread_fence(__ATOMIC_SEQ_CST);"
        reads += kind in (Kind.LD, Kind.RMW)
