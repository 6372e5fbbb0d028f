"""What it means for a history to be SC, TSO or PSO, as plainly as possible: some run of the machine gives every result.
And wSC and CCM, by the definitions of Zennou et al. (NETYS 2020), sections 2 and 3, as sets of pairs.

Slow, and only for small histories: the tests compare every engine with it. The machines are those of
``teetotal.models``; values may repeat for them, but not for wSC and CCM.
"""

from __future__ import annotations

from collections.abc import Iterator

from teetotal.answers.events import EventId, Kind, ModelName, Semantics
from teetotal.histories.history import History, Operation
from teetotal.models import PSO, SC, TSO, Memory, Write

MACHINES: dict[ModelName, type[Memory]] = {"sc": SC, "tso": TSO, "pso": PSO}


def consistent(history: History, model: ModelName, semantics: Semantics | None = None) -> bool:
    """Whether some run of the model's machine has this history."""
    programs = [[op for op in history if op.thread == thread] for thread in history.threads]
    initial = {address: history.initial.get(address, 0) for address in history.addresses}
    start = MACHINES[model](initial, len(programs), semantics or Semantics())
    seen = set()
    stack: list[tuple[tuple[int, ...], Memory]] = [((0,) * len(programs), start)]
    while stack:
        positions, memory = stack.pop()
        if (key := (positions, memory.state())) in seen:
            continue
        seen.add(key)
        if all(p == len(program) for p, program in zip(positions, programs, strict=True)) and not memory.commits():
            if all(memory.m[address].value == value for address, value in history.final.items()):
                return True
            continue
        stack.extend(_steps(positions, memory, programs))
    return False


def _steps(
    positions: tuple[int, ...], memory: Memory, programs: list[list[Operation]]
) -> Iterator[tuple[tuple[int, ...], Memory]]:
    for step in memory.commits():
        after = memory.copy()
        after.commit(step)
        yield positions, after
    for thread, program in enumerate(programs):
        if positions[thread] < len(program):
            after = memory.copy()
            if _issue(after, thread, positions[thread], program[positions[thread]]):
                yield (*positions[:thread], positions[thread] + 1, *positions[thread + 1 :]), after


def _issue(memory: Memory, thread: int, index: int, op: Operation) -> bool:
    """Lets the machine do the operation; whether it gives the result that was observed."""
    event = EventId(thread, index)
    match op.kind:
        case Kind.MFENCE:
            memory.mfence(thread)
        case Kind.SFENCE:
            memory.sfence(thread)
        case Kind.ST:
            assert op.address is not None
            assert op.written is not None
            memory.store(thread, Write(op.address, op.written, event))
        case Kind.LD:
            assert op.address is not None
            return op.read in (None, memory.load(thread, op.address).value)
        case _:
            assert op.address is not None
            old, _ = memory.atomic(thread, op.address, lambda _: op.written, event)
            return op.read in (None, old.value)
    return True


# ---- wSC and CCM, by their definitions

Relation = set[tuple[int, int]]
"""Between operations; the initial write of the address numbered a is -1 - a."""


class Relations:
    """po, wr and the projections of the paper's section 2, over a history with unique values."""

    def __init__(self, history: History) -> None:
        self.operations = list(history)
        self.n = len(self.operations)
        self.address = {i: op.address for i, op in enumerate(self.operations)}
        initial = {address: -1 - i for i, address in enumerate(history.addresses)}
        self.address |= {write: address for address, write in initial.items()}
        self.writes = {i for i, op in enumerate(self.operations) if op.written is not None} | set(initial.values())
        self.po = {(w, i) for w in initial.values() for i in range(self.n)}
        self.po |= {
            (i, j) for j in range(self.n) for i in range(j) if self.operations[i].thread == self.operations[j].thread
        }
        wrote = {(self.operations[w].address, self.operations[w].written): w for w in self.writes if w >= 0}
        wrote |= {(address, history.initial.get(address, 0)): write for address, write in initial.items()}
        self.source = {
            i: wrote[op.address, op.read] for i, op in enumerate(self.operations) if op.reads and op.read is not None
        }
        self.wr = {(s, r) for r, s in self.source.items()}

    def ww(self, relation: Relation) -> Relation:
        same = self.address
        return {(a, b) for a, b in relation if a in self.writes and b in self.writes and same[a] == same[b]}

    def conflicts(self, relation: Relation) -> Relation:
        """cf[R] = R_WR ∘ wr⁻¹: a write before a read of another write."""
        return {
            (w, self.source[r])
            for w, r in relation
            if w in self.writes and r in self.source and self.address[w] == self.address[r] and self.source[r] != w
        }

    def overwritten(self, store_order: Relation) -> Relation:
        """rw[R] = wr⁻¹ ∘ R_WW, without an rmw overwriting what it read itself."""
        after: dict[int, list[int]] = {}
        for a, b in self.ww(store_order):
            after.setdefault(a, []).append(b)
        return {(r, w) for r, s in self.source.items() for w in after.get(s, ()) if r != w}


def closure(relation: Relation) -> Relation:
    """The transitive closure."""
    result = set(relation)
    while True:
        after: dict[int, set[int]] = {}
        for a, b in result:
            after.setdefault(a, set()).add(b)
        more = {(a, c) for a, b in result for c in after.get(b, ())} - result
        if not more:
            return result
        result |= more


def irreflexive(relation: Relation) -> bool:
    return all(a != b for a, b in relation)


def wsc_store_order(history: History) -> Relation | None:
    """``st`` of section 3 without the initial writes, or None if hb is cyclic."""
    r = Relations(history)
    hb = closure(r.po | r.wr)
    while True:
        st = closure(r.conflicts(hb) | r.ww(hb))
        more = closure(hb | st | r.overwritten(st))
        if more == hb:
            return {(a, b) for a, b in st if a >= 0 and b >= 0} if irreflexive(hb) else None
        hb = more


def ccm_store_order(history: History) -> Relation | None:
    """``pww`` of section 2 without the initial writes, or None if the history is not CCM."""
    r = Relations(history)
    co = closure(r.po | r.wr)
    lhb: Relation = set()
    for o in range(r.n):
        past = {a for a, b in co if b == o}
        local = {(a, b) for a, b in co if a in past and (b in past or b == o)}
        reads = {i for i in r.source if i == o or (i, o) in r.po}
        while True:
            forced = {
                (w, r.source[i])
                for w, i in local
                if i in reads and w in r.writes and r.address[w] == r.address[i] and w != r.source[i]
            }
            more = closure(local | forced)
            if more == local:
                break
            local = more
        lhb |= local
    lhb = closure(lhb)
    pww = closure(r.ww(lhb) | r.conflicts(lhb))
    if not irreflexive(closure(r.po | r.wr | pww | r.overwritten(pww))):
        return None
    return {(a, b) for a, b in pww if a >= 0 and b >= 0}
