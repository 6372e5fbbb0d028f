"""A litmus test, run for many rounds on this machine's own processors: which outcomes it shows, and how often.

Each thread of the program becomes a C function: a register is a local variable, an access a volatile one, an rmw one
locked instruction, whether it writes or not. A thread that waits for others gives up after ``PATIENCE`` jumps back, as
does one that would follow a pointer to nowhere; such rounds, and those where an assumption does not hold, are counted
apart. What SC and the model forbid is told by every state of the program under them.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from itertools import count

from teetotal.answers.arguments import checked
from teetotal.answers.errors import ProgramError
from teetotal.answers.events import Kind, ModelName
from teetotal.answers.options import Count
from teetotal.answers.record import Seen, StressAnswer
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.engines.states.outcomes import outcomes
from teetotal.programs.expressions import Addr, Const, Expr, Final, Old, Op, Reg, leaves
from teetotal.programs.observation import filtered, observation
from teetotal.programs.program import (
    Assert,
    Assign,
    Assume,
    Branch,
    Fence,
    Instruction,
    Load,
    Lock,
    Program,
    Rmw,
    Store,
    Unlock,
)
from teetotal.record.harness import Test, running
from teetotal.record.processors import MAX_THREADS, STRIDE, Lines

PATIENCE = 1 << 22
ROUNDS_BETWEEN_BARRIERS = 64
_STATES = 1 << 16
_HELPERS = r"""
static inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
static inline int64_t floor_mod(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a - (uint64_t)floor_div(a, b) * (uint64_t)b);
}
static void wait_for_others(long jumps) { if (jumps % 1024 == 0) sched_yield(); }
#if defined(__x86_64__) || defined(__i386__)
#define MFENCE() __asm__ volatile("mfence" ::: "memory")
#define SFENCE() __asm__ volatile("sfence" ::: "memory")
#else
#define MFENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define SFENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#endif
"""
_TABLE = r"""
static struct { long count; int64_t values[OBSERVED + 1]; } table[STATES];
static long unfinished, too_many;

static void count_outcome(const int64_t *values) {
  uint64_t hash = 14695981039346656037u;
  for (int i = 0; i < OBSERVED; ++i) hash = (hash ^ (uint64_t)values[i]) * 1099511628211u;
  for (uint64_t probe = hash >> 20; ; ++probe) {
    unsigned place = probe % STATES;
    if (table[place].count && memcmp(table[place].values, values, 8 * OBSERVED)) {
      if (probe - (hash >> 20) < STATES) continue;
      ++too_many;
      return;
    }
    memcpy(table[place].values, values, 8 * OBSERVED);
    ++table[place].count;
    return;
  }
}

static void finish(void) {
  printf("%ld %ld\n", unfinished, too_many);
  for (int place = 0; place < STATES; ++place) {
    if (!table[place].count) continue;
    printf("%ld", table[place].count);
    for (int i = 0; i < OBSERVED; ++i) printf(" %lld", (long long)table[place].values[i]);
    printf("\n");
  }
}
"""


@checked
def stress(
    program: Program,
    *,
    rounds: Count = 1_000_000,
    model: ModelName | None = None,
    lines: Lines = "separate",
    compiler: str | None = None,
    seconds: float | None = None,
    name: str | None = None,
) -> StressAnswer:
    """Which outcomes this machine shows. ``model``: what it should be, TSO on x86 unless told otherwise."""
    budget = Budget(seconds)
    if model is None:
        if platform.machine() not in ("x86_64", "i686", "AMD64"):
            raise ProgramError(f"which model a {platform.machine()} is, is not known here: name one")
        model = "tso"
    with running(as_test(program, lines), rounds, compiler, seconds) as output:
        unfinished, too_many = map(int, output.readline().split())
        counts = {tuple(values): number for number, *values in (map(int, line.split()) for line in output)}
    shown = filtered(program, counts)
    allowed = {m: outcomes(program, m, budget=Budget()) for m in dict.fromkeys(("sc", model))}
    histogram = [
        Seen(
            outcome={str(what): value for what, value in zip(program.observed, values, strict=True)},
            count=counts[values],
            sc=values in allowed["sc"].values or (None if not allowed["sc"].complete else False),
            model=values in allowed[model].values or (None if not allowed[model].complete else False),
            positive=bool(observation(program, [values])[1]),
        )
        for values in sorted(shown, key=lambda values: (counts[values], values))
    ]
    forbidden = any(seen.model is False for seen in histogram)
    ran = sum(counts.values()) + unfinished + too_many
    positive = sum(seen.count for seen in histogram if seen.positive)
    negative = sum(seen.count for seen in histogram) - positive
    notes = []
    if unfinished:
        notes.append(f"{unfinished:,} rounds did not come to their end: a thread waited in vain, or stopped")
    if too_many:
        notes.append(f"{too_many:,} rounds ended in yet other states: more than {_STATES:,} are not told apart")
    if ran < rounds:
        notes.append(f"{ran:,} of {rounds:,} rounds were run: the time was over")
    return StressAnswer(
        input=name or program.name,
        command="record hardware",
        verdict=Verdict.VIOLATION if forbidden else Verdict.INCONCLUSIVE,
        complete=ran >= rounds and not too_many,
        seconds=budget.passed,
        notes=notes,
        name=program.name,
        model=model,
        rounds=ran,
        unfinished=unfinished,
        histogram=histogram,
        observation="Never" if positive == 0 else "Always" if negative == 0 else "Sometimes",
        positive=positive,
        negative=negative,
    )


def as_test(program: Program, lines: Lines) -> Test:
    if program.thread_count > MAX_THREADS:
        raise ProgramError(f"{program.thread_count:,} threads; at most {MAX_THREADS} are run")
    stride = STRIDE[lines]
    cells = {name: f"*(volatile int64_t *)(memory + {place * stride})" for place, name in enumerate(program.memory)}
    slots = {what: slot for slot, what in enumerate(program.observed)}
    code = [f"#define OBSERVED {len(slots)}", f"#define STATES {_STATES}", _HELPERS]
    code += ["static void set_up(char *memory) {", "  (void)memory;"]
    code += [f"  {cells[name]} = {_number(value)};" for name, value in program.memory.items() if value]
    code += ["}"]
    for thread in range(program.thread_count):
        code += _Function(program, thread, stride, slots).lines()
    code += [_TABLE, "static void tell(char *memory, int64_t *log) {", "  (void)memory;"]
    code += [f"  log[{slot}] = {cells[what.name]};" for what, slot in slots.items() if what.thread is None]
    stopped = " || ".join(f"log[{len(slots) + thread}]" for thread in range(program.thread_count))
    code += [f"  if ({stopped or 0}) ++unfinished; else count_outcome(log);", "}"]
    return Test(
        threads=program.thread_count,
        memory_bytes=max(len(program.memory), 1) * stride,
        log_words=len(slots) + program.thread_count,
        code="\n".join(code),
        rounds_between_barriers=ROUNDS_BETWEEN_BARRIERS,
    )


def _number(value: int) -> str:
    return f"(int64_t)UINT64_C({value & (1 << 64) - 1})"


class _Function:
    """A thread as C. Its last words in the log: what is asked of its registers, and whether it stopped early."""

    def __init__(self, program: Program, thread: int, stride: int, slots: dict[Final, int]) -> None:
        self.program = program
        self.number = thread
        self.thread = program.threads[thread]
        self.stride = stride
        self.slots = slots
        self.registers = {name: f"r{place}" for place, name in enumerate(self.thread.registers)}

    def lines(self) -> Iterator[str]:
        targets = {instruction.target for instruction in self.thread.code if isinstance(instruction, Branch)}
        yield f"static void run_{self.number}(char *memory, int64_t *log) {{"
        yield "  int64_t stopped = 1, old = 0; long jumps = 0;"
        yield "  (void)memory; (void)old; (void)jumps;"
        for name, value in self.thread.registers.items():
            yield f"  int64_t {self.registers[name]} = {_number(value)};"
        for place, instruction in zip(count(), self.thread.code):
            if place in targets:
                yield f"at_{place}:;"
            for line in self._instruction(place, instruction):
                yield f"  {line}"
        yield f"at_{len(self.thread.code)}:;"
        yield "  stopped = 0;"
        yield "stop:;"
        for what, slot in self.slots.items():
            if what.thread == self.number:
                yield f"  log[{slot}] = {self.registers[what.name]};"
        yield f"  log[{len(self.slots) + self.number}] = stopped;"
        yield "}"

    def _instruction(self, place: int, instruction: Instruction) -> Iterator[str]:
        match instruction:
            case Load(register=register, address=address):
                yield from self._reachable(address)
                yield f"{self.registers[register]} = *{self._cell(address)};"
            case Store(address=address, value=value):
                yield from self._reachable(address)
                yield f"*{self._cell(address)} = {self._value(value)};"
            case Rmw(register=register, address=address, value=value, when=when):
                yield from self._reachable(address)
                cell, new = self._cell(address), self._value(value)
                if when is None and not any(isinstance(leaf, Old) for leaf in leaves(value)):
                    yield f"old = __atomic_exchange_n({cell}, {new}, __ATOMIC_SEQ_CST);"
                else:
                    chosen = new if when is None else f"({self._value(when)}) ? {new} : old"
                    yield f"old = *{cell};"
                    yield (
                        f"while (!__atomic_compare_exchange_n({cell}, &old, {chosen}, 0, __ATOMIC_SEQ_CST, "
                        "__ATOMIC_SEQ_CST)) {}"
                    )
                if register is not None:
                    yield f"{self.registers[register]} = old;"
            case Lock(address=address):
                yield from self._reachable(address)
                yield f"while (__atomic_exchange_n({self._cell(address)}, 1, __ATOMIC_SEQ_CST)) {{"
                yield f"  if (++jumps > {PATIENCE}) goto stop;"
                yield "  wait_for_others(jumps);"
                yield "}"
            case Unlock(address=address):
                yield from self._reachable(address)
                yield f"(void)__atomic_exchange_n({self._cell(address)}, 0, __ATOMIC_SEQ_CST);"
            case Fence(kind=kind):
                yield "MFENCE();" if kind is Kind.MFENCE else "SFENCE();"
            case Assign(register=register, value=value):
                yield f"{self.registers[register]} = {self._value(value)};"
            case Branch(target=target, when=when):
                back = f"if (++jumps > {PATIENCE}) goto stop; wait_for_others(jumps); " if target <= place else ""
                yield f"if ({self._value(when)}) {{ {back}goto at_{target}; }}"
            case Assert(condition=condition) | Assume(condition=condition):
                yield f"if (!({self._value(condition)})) goto stop;"

    def _cell(self, address: Expr) -> str:
        if isinstance(address, Addr):
            offset = str((self.program.address_of(address.name) - 1) * self.stride)
        else:
            offset = f"(({self._value(address)}) - 1) * {self.stride}"
        return f"(volatile int64_t *)(memory + {offset})"

    def _reachable(self, address: Expr) -> Iterator[str]:
        """A pointer may lead nowhere."""
        if not isinstance(address, Addr):
            where = self._value(address)
            yield f"if (({where}) < 1 || ({where}) > {len(self.program.memory)}) goto stop;"

    def _value(self, expression: Expr) -> str:
        match expression:
            case Const(value):
                return _number(value)
            case Reg(name):
                return self.registers[name]
            case Addr(name):
                return str(self.program.address_of(name))
            case Old():
                return "old"
            case Op(operator, (operand,)):
                return f"(int64_t)({'!' if operator == 'not' else operator}({self._value(operand)}))"
            case Op(operator, (left, right)):
                a, b = f"({self._value(left)})", f"({self._value(right)})"
                match operator:
                    case "+" | "-" | "*" | "&" | "|" | "^":
                        return f"(int64_t)((uint64_t){a} {operator} (uint64_t){b})"
                    case "<<":
                        return f"(int64_t)((uint64_t){a} << ({b} & 63))"
                    case ">>":
                        return f"({a} >> ({b} & 63))"
                    case "//" | "%":
                        return f"floor_{'div' if operator == '//' else 'mod'}({a}, {b})"
                    case "and" | "or":
                        return f"(int64_t)({a} {'&&' if operator == 'and' else '||'} {b})"
                    case _:
                        return f"(int64_t)({a} {operator} {b})"
        raise ProgramError(f"an expression that no thread can evaluate: {expression}")
