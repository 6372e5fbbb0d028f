"""Statements of a process, each split into single accesses.

- A statement loads every shared variable that it reads once, in the order of the text, and then computes.
- A condition that does not hold is waited for by loading again.
- ``if`` and ``do`` load what all their guards read, once each, and then choose among the guards that hold; if none does
  and there is no ``else``, they load again. Where guards read one variable each, as in the classical algorithms, this is
  what SPIN does; a statement with several shared accesses is one step to SPIN, and several here.
- ``atomic`` and ``d_step`` that touch shared memory are one step on an empty store buffer, like a locked instruction;
  those that touch only ghost variables, and single statements about ghosts, are one step that no buffer delays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from teetotal.answers.events import Kind, Location
from teetotal.programs.expressions import Const, Expr, Old, Op, Reg
from teetotal.programs.program import Assert, Assign, Assume, Branch, Fence, Lock, Rmw, Store, Unlock
from teetotal.programs.promela import syntax as s
from teetotal.programs.promela.arithmetic import truncate, truncate_value
from teetotal.programs.promela.folding import fold
from teetotal.programs.promela.instructions import Begin, Blocks, Choose, End, Instruction, Mark, Process, Slot
from teetotal.programs.promela.operands import Known, Operands, Spawn
from teetotal.programs.promela.scope import Global, Scope, elements
from teetotal.programs.promela.sites import retargeted
from teetotal.programs.promela.syntax_queries import assigned_in, declared_in, inside, may_wait, names_in


class Body(Operands):
    """One process's code in the making."""

    def __init__(
        self,
        scope: Scope,
        proctype: s.Proctype,
        number: int,
        arguments: tuple[int, ...],
        spawns: dict[str, s.Proctype] | None = None,
    ) -> None:
        super().__init__(scope, number)
        self.proctype = proctype
        self.number = number
        self.spawns = spawns
        self.named: dict[str, int] = {}
        self.defined: dict[str, Location] = {}
        self.used: list[tuple[str, Location]] = []
        self.inside_atomic: set[str] = set()
        self.breaks: list[int] = []
        self.head = False
        assigned = set(assigned_in(proctype.body))
        for parameter, value in zip(proctype.parameters, arguments, strict=True):
            kept = truncate_value(parameter.type, value)
            if parameter.name in assigned:
                self.types[parameter.name] = (parameter.type, None)
                self.registers[parameter.name] = kept
            else:
                self.constants[parameter.name] = kept
        self.sequence(proctype.body)
        for name, location in self.used:
            if name not in self.defined:
                self.fail(f"no label {name} in {proctype.name}", location)
            if name in self.inside_atomic:
                self.fail("goto into an atomic block is not supported", location)
        # Every target that is jumped to has a place.
        places = [-1 if place is None else place for place in self.targets]
        self.code = [i if isinstance(i, Spawn) else retargeted(i, places) for i in self.code]

    def process(self) -> Process:
        return Process(self.title, self.number, tuple(self.without_spawns()), self.registers)

    @property
    def title(self) -> str:
        return "init" if self.proctype.name == ":init:" else f"{self.proctype.name}[{self.number}]"

    def without_spawns(self) -> Iterator[Instruction]:
        for instruction in self.code:
            assert not isinstance(instruction, Spawn)
            yield instruction

    def named_target(self, name: str) -> int:
        if name not in self.named:
            self.named[name] = self.target()
        return self.named[name]

    def sequence(self, statements: Sequence[s.Statement], *, gap: bool = False) -> None:
        """``gap``: there is one for fences in front of it already."""
        for number, statement in enumerate(statements):
            if isinstance(statement, s.Else):
                self.fail("else can only begin an option of if or do", statement.location)
            self.labels(statement)
            if not gap or statement.labels:
                self.gap_before(statement)
            self.statement(statement)
            gap = self.gap_after(statement)
            if self.head and number == 0 and not isinstance(statement, s.Declare):
                self.head = False

    def gap_before(self, statement: s.Statement) -> None:
        waits = isinstance(statement, s.Guard | s.Select) or may_wait(statement)
        if not isinstance(statement, s.Declare) and not (statement.span.first and waits):
            self.gap(statement, after=False)

    def gap_after(self, statement: s.Statement) -> bool:
        return not isinstance(statement, s.Declare | s.Goto | s.Break) and self.gap(statement, after=True)

    def gap(self, statement: s.Statement, *, after: bool) -> bool:
        """A place for a fence; whether there is one."""
        slots = [] if self.atomic is not None else self.scope.sites.slots(statement, after=after)
        self.code += slots
        return bool(slots)

    def statement(self, statement: s.Statement) -> None:
        match statement:
            case s.Declare():
                self.declare(statement)
            case s.Skip():
                pass
            case s.Guard(condition=condition, location=at):
                self.guard(condition, at)
            case s.Set():
                self.set(statement)
            case s.Claim(condition=condition, location=at):
                self.claim(condition, at)
            case s.FenceStatement():
                self.fence(statement)
            case s.Atomically():
                self.atomically(statement)
            case s.Select():
                self.select(statement)
            case s.Pick():
                self.pick(statement)
            case s.Break(location=at):
                if not self.breaks:
                    what = "out of an atomic block is not supported" if self.atomic is not None else "outside a do loop"
                    self.fail(f"break {what}", at)
                self.emit(Branch(target=self.breaks[-1], location=at))
            case s.Goto(target=target, location=at):
                if self.atomic is not None:
                    self.fail("goto out of, or inside, an atomic block is not supported", at)
                self.used.append((target, at))
                self.emit(Branch(target=self.named_target(target), location=at))
            case s.Block(body=body):
                self.sequence(body)
            case s.Atomic():
                self.block(statement)
            case s.RunStatement():
                self.run(statement)
            case _:
                self.fail("not supported here", statement.location)

    def labels(self, statement: s.Statement) -> None:
        for label in statement.labels:
            if label in self.defined:
                self.fail(f"label {label} is defined twice in {self.proctype.name}", statement.location)
            self.defined[label] = statement.location
            if self.atomic is not None:
                self.inside_atomic.add(label)
            self.place(self.named_target(label))
        marked = tuple(n for n in statement.labels if (self.proctype.name, n) in self.scope.observed)
        if marked:
            if self.atomic is not None:
                self.fail("a label inside an atomic block cannot be used in forbidden", statement.location)
            self.emit(Mark(labels=marked, location=statement.location))

    def declare(self, statement: s.Declare) -> None:
        for variable in statement.variables:
            name, at = variable.name, variable.location
            if variable.ghost:
                self.fail("a ghost variable belongs to all processes: declare it outside", at)
            if self.types.get(name, (variable.type, variable.size)) != (variable.type, variable.size):
                self.fail(f"{name} is declared twice, differently", at)
            if name in self.constants:
                self.fail(f"{name} is a parameter already", at)
            self.types[name] = (variable.type, variable.size)
            names = [name] if variable.size is None else elements(name, variable.size)
            self.registers.update(dict.fromkeys(names, 0))
            known: Known = {}
            initial = variable.initial or s.Number(0)
            if any(True for _ in self.reads(initial)):
                self.fail(f"the initial value of {name} cannot read shared memory: assign it", at)
            for register in names:
                value = truncate(variable.type, self.value(initial, known))
                self.emit(Assign(register=register, value=value, location=at))

    def guard(self, condition: s.Expression, at: Location) -> None:
        """Wait until it holds."""
        start = self.placed()
        holds = self.condition([condition], at)[0]
        if isinstance(holds, Const) and holds.value:
            return
        if self.atomic is not None:
            self.emit((Assume if self.head else Blocks)(condition=holds, location=at))
        elif any(True for _ in self.reads(condition)):
            self.emit(Branch(target=start, when=Op("not", (holds,)), location=at))
        else:
            self.emit(Assume(condition=holds, location=at))

    def condition(self, conditions: Sequence[s.Expression], at: Location) -> list[Expr]:
        """Load what they read, the ghosts last and in one step, and give what is to be computed."""
        known: Known = {}
        self.load(conditions, known, False, at)
        if self.atomic is None and self.has_ghosts(*conditions):
            self.emit(Begin(ghost=True, location=at))
            self.load(conditions, known, True, at)
            values = [self.value(condition, known) for condition in conditions]
            self.emit(End(location=at))
            return values
        self.load(conditions, known, True, at)
        return [self.value(condition, known) for condition in conditions]

    def claim(self, condition: s.Expression, at: Location) -> None:
        holds = self.condition([condition], at)[0]
        self.emit(Assert(condition=holds, location=at))

    def set(self, statement: s.Set) -> None:
        target, at = statement.target, statement.location
        shared = self.variable(target)
        inner = [statement.value] if target.index is None else [target.index, statement.value]
        known: Known = {}
        before = after = None
        sites = self.scope.sites
        if shared is not None and not shared.ghost and self.atomic is None and sites.places == "stores":
            before = sites.number(Kind.SFENCE, statement, after=False)
            after = sites.number(Kind.MFENCE, statement, after=True)
        if before is not None:
            self.emit(Slot(fence=before, location=at))
        self.load(inner, known, False, at)
        stepwise = self.atomic is None and (self.has_ghosts(*inner) or (shared is not None and shared.ghost))
        if stepwise:
            self.emit(Begin(ghost=True, location=at))
        self.load(inner, known, True, at)
        value = self.value(statement.value, known)
        if shared is None:
            self.assign_local(target, value, known, at)
        else:
            address = self.address(target, shared, known, at)
            if stepwise and not shared.ghost:
                self.emit(End(location=at))
                stepwise = False
            self.emit(Store(address=address, value=truncate(shared.type, value), location=at))
        if stepwise:
            self.emit(End(location=at))
        if after is not None:
            self.emit(Slot(fence=after, location=at))

    def fence(self, statement: s.FenceStatement) -> None:
        number, at = None, statement.location
        if self.scope.sites.places == "gaps" and self.atomic is None:
            number = self.scope.sites.number(statement.kind, statement, after=True, existing=True)
        self.emit(Fence(kind=statement.kind, location=at) if number is None else Slot(fence=number, location=at))

    def atomically(self, statement: s.Atomically) -> None:
        at = statement.location
        shared = self.variable(statement.target)
        if shared is None or shared.ghost:
            self.fail(f"{statement.operation} works on shared memory, which {statement.target.name} is not", at)
        if statement.result is not None and self.variable(statement.result) is not None:
            self.fail(f"the result of {statement.operation} must be a variable of the process's own", at)
        known: Known = {}
        places = [name.index for name in (statement.result, statement.target) if name is not None]
        reads = [*statement.arguments, *(index for index in places if index is not None)]
        self.load(reads, known, False, at)
        if self.has_ghosts(*reads):
            self.fail(f"{statement.operation} cannot read ghost variables", at)
        address = self.address(statement.target, shared, known, at)
        arguments = [self.value(argument, known) for argument in statement.arguments]
        if statement.operation in ("lock", "unlock"):
            if statement.operation == "lock" and self.atomic is not None:
                self.fail("lock cannot be used inside an atomic block", at)
            self.emit((Lock if statement.operation == "lock" else Unlock)(address=address, location=at))
            return
        old, register = Old(), self.temporary()
        when = None
        match statement.operation:
            case "cas":
                when, new = Op("==", (old, arguments[0])), arguments[1]
            case "xchg":
                new = arguments[0]
            case _:
                new = Op("+", (old, arguments[0]))
        new = truncate(shared.type, new)
        self.emit(Rmw(address=address, value=new, register=register, when=when, location=at))
        assert statement.result is not None
        result: Expr = Reg(register)
        if statement.operation == "cas":
            result = Op("==", (result, arguments[0]))
        self.assign_local(statement.result, result, known, at)

    def select(self, statement: s.Select) -> None:
        at = statement.location
        top, end = self.placed(), self.target()
        firsts = [option[0] for option in statement.options]
        guards = [first for first in firsts if isinstance(first, s.Guard)]
        otherwise = [i for i, first in enumerate(firsts) if isinstance(first, s.Else)]
        if len(otherwise) > 1:
            self.fail("else twice", firsts[otherwise[1]].location)
        for first in firsts:
            if otherwise and may_wait(first):
                self.fail("else beside an option that may wait without being a condition", first.location)
            if first.labels and isinstance(first, s.Guard | s.Else):
                self.fail("a label on a guard: put it before the if or do, or behind the guard", first.location)
        arms = [self.target() for _ in firsts]
        holds = iter(self.condition([guard.condition for guard in guards], at))
        tested = [
            (next(holds), t) if isinstance(f, s.Guard) else (Const(1), t) for f, t in zip(firsts, arms, strict=True)
        ]
        tested = [arm for i, arm in enumerate(tested) if i not in otherwise]
        retry = top if self.atomic is None and any(True for g in guards for _ in self.reads(g.condition)) else None
        fallback = arms[otherwise[0]] if otherwise else retry
        if self.atomic is not None and fallback is None:
            some: Expr = Const(0)
            for when, _ in tested:
                some = Op("or", (some, when))
            self.emit((Assume if self.head else Blocks)(condition=some, location=at))
        if len(tested) == 1 and fallback is not None:
            if tested[0][0] != Const(1):
                self.emit(Branch(target=fallback, when=Op("not", (tested[0][0],)), location=at))
            self.emit(Branch(target=tested[0][1], location=at))
        else:
            self.emit(Choose(arms=tuple(tested), otherwise=fallback, location=at))
        self.head = False
        if statement.loops:
            self.breaks.append(end)
        for option, arm in zip(statement.options, arms, strict=True):
            self.place(arm)
            if isinstance(option[0], s.Guard | s.Else):
                self.sequence(option[1:], gap=self.gap_behind_guard(option))
            else:
                self.sequence(option)
            self.emit(Branch(target=top if statement.loops else end, location=option[-1].location))
        if statement.loops:
            self.breaks.pop()
        self.place(end)

    def gap_behind_guard(self, option: Sequence[s.Statement]) -> bool:
        """Written in front of the next statement, behind the arrow, where there is one."""
        if len(option) > 1 and option[1].span.whole and not option[1].labels and not isinstance(option[1], s.Declare):
            return self.gap(option[1], after=False)
        return self.gap(option[0], after=True)

    def pick(self, statement: s.Pick) -> None:
        at = statement.location
        low, high = fold(statement.low), fold(statement.high)
        if self.variable(statement.target) is not None:
            self.fail("select chooses a variable of the process's own", at)
        inner = [low, high, *([] if statement.target.index is None else [statement.target.index])]
        if any(True for expression in inner for _ in self.reads(expression)):
            self.fail("select cannot read shared memory: assign it before", at)
        known: Known = {}
        lowest, highest = self.value(low, known), self.value(high, known)
        if not isinstance(lowest, Const) or not isinstance(highest, Const) or lowest.value > highest.value:
            self.fail("select needs two constants, the smaller one first", at)
        values = range(lowest.value, highest.value + 1)
        arms, end = [self.target() for _ in values], self.target()
        self.emit(Choose(arms=tuple((Const(1), arm) for arm in arms), location=at))
        for value, arm in zip(values, arms, strict=True):
            self.place(arm)
            self.assign_local(statement.target, Const(value), known, at)
            self.emit(Branch(target=end, location=at))
        self.place(end)

    def block(self, statement: s.Atomic) -> None:
        if self.atomic is not None:
            self.sequence(statement.body)
            return
        if self.spawns is not None and any(isinstance(i, s.RunStatement) for i in inside(statement.body)):
            self.sequence(statement.body)  # init runs alone until its last run
            return
        touched = [shared.ghost for i in inside(statement.body) for shared in self.touches(i)]
        ghost = all(touched)
        locking = [i for i in inside(statement.body) if isinstance(i, s.Atomically)]
        self.emit(Begin(ghost=ghost and not locking, location=statement.location))
        self.atomic, self.head = "locked", True
        outside, self.breaks = self.breaks, []
        self.sequence(statement.body)
        self.atomic, self.head, self.breaks = None, False, outside
        self.emit(End(location=statement.location))

    def touches(self, statement: s.Statement) -> Iterator[Global]:
        """What a statement itself, not those inside it, does to shared memory; locals declared inside are not known
        yet, so that a name counts as shared if nothing hides it."""
        hidden = {v.name for v in declared_in(self.proctype.body)} | set(self.constants) | set(self.types)
        for name in names_in(statement):
            if name.name not in hidden and name.name in self.scope.globals:
                yield self.scope.globals[name.name]

    def run(self, statement: s.RunStatement) -> None:
        at = statement.location
        if self.spawns is None:
            self.fail("run is supported in init only", at)
        proctype = self.spawns.get(statement.proctype)
        if proctype is None or proctype.name == ":init:":
            self.fail(f"no proctype {statement.proctype}", at)
        if len(statement.arguments) != len(proctype.parameters):
            self.fail(f"{proctype.name} takes {len(proctype.parameters)} arguments, not {len(statement.arguments)}", at)
        known: Known = {}
        self.load(statement.arguments, known, False, at)
        if self.has_ghosts(*statement.arguments):
            self.fail("run cannot read ghost variables", at)
        arguments = tuple(self.value(argument, known) for argument in statement.arguments)
        self.emit(Spawn(proctype=proctype, arguments=arguments, location=at))
