"""From the syntax tree to a ``PromelaProgram``: each statement is split into single accesses.

- A statement loads every shared variable that it reads once, in the order of the text, and then computes.
- A condition that does not hold is waited for by loading again.
- ``if`` and ``do`` load what all their guards read, once each, and then choose among the guards that hold; if none does
  and there is no ``else``, they load again. Where guards read one variable each, as in the classical algorithms, this is
  what SPIN does; a statement with several shared accesses is one step to SPIN, and several here.
- ``atomic`` and ``d_step`` that touch shared memory are one step on an empty store buffer, like a locked instruction;
  those that touch only ghost variables, and single statements about ghosts, are one step that no buffer delays.
- ``init`` is run up to its last ``run`` before anything else happens; what it stores by then is the initial memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NoReturn

import msgspec

from teetotal.errors import ParseError
from teetotal.events import Kind, Location
from teetotal.programs.expressions import Const, Expr, Old, Op, Reg
from teetotal.programs.program import Assert, Assign, Assume, Branch, Fence, Load, Lock, Rmw, Store, Unlock
from teetotal.programs.promela import syntax as s
from teetotal.programs.promela.parser import fold, parse
from teetotal.programs.promela.program import (
    Begin,
    Blocks,
    Choose,
    Control,
    End,
    InBounds,
    Instruction,
    Literals,
    Mark,
    Process,
    PromelaProgram,
    Property,
    Slot,
    successors,
)
from teetotal.programs.promela.sites import Places, Sites, retargeted, without_equals

MAX_PROCESSES = 255


def load(path: str | Path) -> PromelaProgram:
    """The program in a file."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ParseError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ParseError(f"{path}: not a text file") from error
    return compile_text(text, str(path))


def compile_text(text: str, file: str = "program.pml", places: Places = "stores") -> PromelaProgram:
    """The program of a text, with places for fences as ``sites`` has them."""
    return _Compiler(parse(text, file), places).program()


class _Spawn(msgspec.Struct, frozen=True, kw_only=True):
    """``run``, inside ``init`` only: gone before a ``PromelaProgram`` is made."""

    proctype: s.Proctype
    arguments: tuple[Expr, ...]
    location: Location | None = None


class _Global(msgspec.Struct, frozen=True):
    type: s.TypeName
    first: int
    size: int | None
    ghost: bool


class _Compiler:
    def __init__(self, module: s.Module, places: Places) -> None:
        self.module = module
        self.memory: dict[str, int] = {}
        self.globals: dict[str, _Global] = {}
        self.sites = Sites(module.file, module.text, places)
        self.observed = {(at.proctype, at.label) for f in module.forbidden for at in _ats(f.condition)}
        ordered = [v for v in module.variables if not v.ghost] + [v for v in module.variables if v.ghost]
        for variable in ordered:
            self.declare(variable)

    def declare(self, variable: s.Declaration) -> None:
        initial = fold(variable.initial) if variable.initial is not None else s.Number(0)
        if not isinstance(initial, s.Number):
            raise ParseError(f"the initial value of {variable.name} must be a constant", variable.location)
        value = truncate_value(variable.type, initial.value)
        self.globals[variable.name] = _Global(variable.type, len(self.memory), variable.size, variable.ghost)
        for name in [variable.name] if variable.size is None else elements(variable.name, variable.size):
            self.memory[name] = value

    def program(self) -> PromelaProgram:
        by_name = {p.name: p for p in self.module.proctypes}
        processes: list[Process] = []
        spawned: list[tuple[s.Proctype, tuple[int, ...]]] = []
        number = 0
        numbers: dict[int, str] = {}
        init: tuple[s.Proctype, int, int] | None = None
        for proctype in self.module.proctypes:
            for _ in range(proctype.active):
                numbers[number] = proctype.name
                if proctype.name == ":init:":
                    init = (proctype, number, len(processes))
                else:
                    processes.append(_Body(self, proctype, number, ()).process())
                number += 1
        if init is not None:
            body = _Body(self, init[0], init[1], (), spawns=by_name)
            rest = _run_init(self, body, spawned)
            if rest is not None:
                processes.insert(init[2], rest)
        for proctype, arguments in spawned:
            numbers[number] = proctype.name
            processes.append(_Body(self, proctype, number, arguments).process())
            number += 1
        if not processes:
            raise ParseError("no process: nothing is active and there is no init", Location(self.module.file, 1))
        if number > MAX_PROCESSES:
            raise ParseError(f"more than {MAX_PROCESSES} processes", Location(self.module.file, 1))
        positions = {process.number: position for position, process in enumerate(processes)}
        properties = tuple(self.property(f, numbers, positions, by_name) for f in self.module.forbidden)
        sites = self.sites.found
        if self.sites.places == "gaps":
            processes, sites = without_equals(processes, sites)
        return PromelaProgram(
            name=Path(self.module.file).stem,
            source=self.module.file,
            text=self.module.text,
            processes=tuple(processes),
            memory=self.memory,
            ghosts=frozenset(n for v in self.module.variables if v.ghost for n in self.names(v)),
            properties=properties,
            sites=tuple(sites),
        )

    def names(self, variable: s.Declaration) -> list[str]:
        return [variable.name] if variable.size is None else elements(variable.name, variable.size)

    def property(
        self, forbidden: s.Forbidden, numbers: dict[int, str], positions: dict[int, int], by_name: dict[str, s.Proctype]
    ) -> Property:
        def literal(at: s.At, stands: bool) -> Literals:
            if at.proctype not in by_name:
                raise ParseError(f"no proctype {at.proctype}", at.location)
            if at.label not in _labels(by_name[at.proctype].body):
                raise ParseError(f"proctype {at.proctype} has no label {at.label}", at.location)
            process = fold(at.process) if at.process is not None else None
            if process is not None and not isinstance(process, s.Number):
                raise ParseError("the number of the process must be a constant", at.location)
            alike = [n for n, name in numbers.items() if name == at.proctype]
            wanted = process.value if process is not None else alike[0] if len(alike) == 1 else None
            if wanted is None:
                raise ParseError(f"which process? {at.proctype} runs {len(alike)} times; write its _pid", at.location)
            if wanted not in alike:
                raise ParseError(f"process {wanted} is no {at.proctype}: those are {alike}", at.location)
            return Literals(((positions[wanted], at.label, stands),), ())

        def ghost(expression: s.Expression) -> Expr:
            match expression:
                case s.Number(value):
                    return Const(value)
                case s.Name(name, index, location):
                    place = fold(index) if index is not None else None
                    if name not in self.globals or not self.globals[name].ghost:
                        raise ParseError(f"forbidden can speak of labels and ghost variables, not of {name}", location)
                    if place is not None and not isinstance(place, s.Number):
                        raise ParseError("the index must be a constant", location)
                    element = name if place is None else f"{name}[{place.value}]"
                    if element not in self.memory:
                        raise ParseError(f"there is no {element}", location)
                    return Reg(element)
                case s.Operation(operator, operands, location):
                    return operation(operator, tuple(ghost(operand) for operand in operands), location)
                case s.At(location=location):
                    raise ParseError("a label inside a computation", location)

        def cases(e: s.Expression, positive: bool) -> list[Literals]:
            """Disjunctive normal form."""
            match e:
                case s.At():
                    return [literal(e, positive)]
                case s.Operation("!", (inner,)):
                    return cases(inner, not positive)
                case s.Operation(operator, (left, right)) if operator in ("&&", "||"):
                    a, b = cases(left, positive), cases(right, positive)
                    if (operator == "||") == positive:
                        return a + b
                    return [Literals(x.labels + y.labels, x.ghosts + y.ghosts) for x, y in product(a, b)]
            value = ghost(e)
            return [Literals((), (value if positive else Op("not", (value,)),))]

        return Property(forbidden.name, tuple(cases(forbidden.condition, True)), forbidden.location)


class _Body:
    """One process's code in the making."""

    def __init__(
        self,
        compiler: _Compiler,
        proctype: s.Proctype,
        number: int,
        arguments: tuple[int, ...],
        spawns: dict[str, s.Proctype] | None = None,
    ) -> None:
        self.compiler = compiler
        self.proctype = proctype
        self.number = number
        self.spawns = spawns
        self.code: list[Instruction | _Spawn] = []
        self.registers: dict[str, int] = {}
        self.types: dict[str, tuple[s.TypeName, int | None]] = {}
        self.constants: dict[str, int] = {"_pid": number}
        self.targets: list[int | None] = []
        self.named: dict[str, int] = {}
        self.defined: dict[str, Location] = {}
        self.used: list[tuple[str, Location]] = []
        self.breaks: list[int] = []
        self.atomic: str | None = None
        self.head = False
        self.temporaries = 0
        assigned = set(_assigned(proctype.body))
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
        places = [
            -1 if place is None else place for place in self.targets
        ]  # every target that is jumped to has a place
        self.code = [i if isinstance(i, _Spawn) else retargeted(i, places) for i in self.code]

    def process(self) -> Process:
        return Process(self.title, self.number, tuple(self.plain()), self.registers)

    @property
    def title(self) -> str:
        return "init" if self.proctype.name == ":init:" else f"{self.proctype.name}[{self.number}]"

    def plain(self) -> Iterator[Instruction]:
        for instruction in self.code:
            assert not isinstance(instruction, _Spawn)
            yield instruction

    def fail(self, message: str, location: Location) -> NoReturn:
        raise ParseError(message, location)

    # -- emitting -------------------------------------------------------------------------------------------------

    def emit(self, instruction: Instruction | _Spawn) -> None:
        self.code.append(instruction)

    def target(self) -> int:
        """A place to jump to, known later."""
        self.targets.append(None)
        return len(self.targets) - 1

    def here(self, target: int) -> None:
        self.targets[target] = len(self.code)

    def placed(self) -> int:
        target = self.target()
        self.here(target)
        return target

    def temporary(self) -> str:
        self.temporaries += 1
        name = f"%{self.temporaries}"
        self.registers[name] = 0
        return name

    def named_target(self, name: str) -> int:
        if name not in self.named:
            self.named[name] = self.target()
        return self.named[name]

    # -- variables and expressions ----------------------------------------------------------------------------------

    def variable(self, name: s.Name) -> _Global | None:
        """A shared one, or None for one of the process's own."""
        if name.name in self.types or name.name in self.constants:
            return None
        found = self.compiler.globals.get(name.name)
        if found is None:
            self.fail(f"{name.name} is not declared", name.location)
        if (found.size is None) != (name.index is None):
            self.fail(f"{name.name} is {'not ' if found.size is None else ''}an array", name.location)
        return found

    def reads(self, expression: s.Expression) -> Iterator[tuple[s.Name, _Global]]:
        """The shared variables that an expression reads, inner ones first, in the order of the text."""
        match expression:
            case s.Name(index=index):
                if index is not None:
                    yield from self.reads(index)
                shared = self.variable(expression)
                if shared is not None:
                    yield expression, shared
            case s.Operation(operands=operands):
                for operand in operands:
                    yield from self.reads(operand)
            case s.At(location=location):
                self.fail("P@label can only be used in forbidden", location)

    def address(self, name: s.Name, shared: _Global, known: dict[s.Name, Expr], location: Location) -> Expr:
        if name.index is None:
            return Const(shared.first + 1)
        assert shared.size is not None
        index = self.value(name.index, known)
        if isinstance(index, Const):
            if not 0 <= index.value < shared.size:
                self.fail(f"{name.name}[{index.value}] is outside the array", name.location)
            return Const(shared.first + 1 + index.value)
        self.bounds(index, shared.size, location)
        return Op("[]", (Const(shared.first + 1), index, Const(shared.size)))

    def bounds(self, index: Expr, size: int, location: Location) -> None:
        inside = Op("and", (Op("<=", (Const(0), index)), Op("<", (index, Const(size)))))
        self.emit(InBounds(condition=inside, location=location))

    def load(self, expressions: Sequence[s.Expression], known: dict[s.Name, Expr], ghost: bool, at: Location) -> None:
        """Load what the expressions read and is not known yet: the ghosts, or the others (in a block, both)."""
        for expression in expressions:
            for name, shared in list(self.reads(expression)):
                key = msgspec.structs.replace(name, location=at)
                if key in known or (shared.ghost != ghost and self.atomic != "locked"):
                    continue
                if not shared.ghost and name.index is not None and any(g.ghost for _, g in self.reads(name.index)):
                    self.fail("a ghost variable cannot be the index of shared memory", name.location)
                register = self.temporary()
                self.emit(Load(register=register, address=self.address(name, shared, known, at), location=at))
                known[key] = Reg(register)
                known[name] = Reg(register)

    def has_ghosts(self, *expressions: s.Expression) -> bool:
        return any(shared.ghost for e in expressions for _, shared in self.reads(e))

    def value(self, expression: s.Expression, known: dict[s.Name, Expr]) -> Expr:
        match expression:
            case s.Number(value):
                return Const(value)
            case s.Name(name, index):
                if name in self.constants:
                    return Const(self.constants[name])
                if name in self.types:
                    return self.local(expression, known)
                found = next((v for k, v in known.items() if k.name == name and k.index == index), None)
                assert found is not None, f"{name} was not loaded"
                return found
            case s.Operation(operator, operands, location):
                return operation(operator, tuple(self.value(operand, known) for operand in operands), location)
            case s.At(location=location):
                self.fail("P@label can only be used in forbidden", location)

    def local(self, name: s.Name, known: dict[s.Name, Expr]) -> Expr:
        size = self.types[name.name][1]
        if (size is None) != (name.index is None):
            self.fail(f"{name.name} is {'not ' if size is None else ''}an array", name.location)
        if name.index is None or size is None:
            return Reg(name.name)
        index = self.value(name.index, known)
        if isinstance(index, Const):
            if not 0 <= index.value < size:
                self.fail(f"{name.name}[{index.value}] is outside the array", name.location)
            return Reg(f"{name.name}[{index.value}]")
        self.bounds(index, size, name.location)
        chosen: Expr = Const(0)
        for i in range(size):
            chosen = Op("+", (chosen, Op("*", (Op("==", (index, Const(i))), Reg(f"{name.name}[{i}]")))))
        return chosen

    def assign_local(self, target: s.Name, value: Expr, known: dict[s.Name, Expr], at: Location) -> None:
        if target.name in self.constants:
            self.fail(f"{target.name} cannot be assigned to", target.location)
        kind, size = self.types[target.name]
        value = truncate(kind, value)
        place = self.local(target, known)
        if isinstance(place, Reg):
            self.emit(Assign(register=place.name, value=value, location=at))
            return
        assert target.index is not None
        assert size is not None
        index, stored = self.temporary(), self.temporary()
        self.emit(Assign(register=index, value=self.value(target.index, known), location=at))
        self.emit(Assign(register=stored, value=value, location=at))
        for i in range(size):
            here = Op("==", (Reg(index), Const(i)))
            element = Reg(f"{target.name}[{i}]")
            new = Op("+", (Op("*", (here, Reg(stored))), Op("*", (Op("not", (here,)), element))))
            self.emit(Assign(register=element.name, value=new, location=at))

    # -- statements -----------------------------------------------------------------------------------------------

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
        waits = isinstance(statement, s.Guard | s.Select) or _may_wait(statement)
        if not isinstance(statement, s.Declare) and not (statement.span.first and waits):
            self.gap(statement, after=False)

    def gap_after(self, statement: s.Statement) -> bool:
        return not isinstance(statement, s.Declare | s.Goto | s.Break) and self.gap(statement, after=True)

    def gap(self, statement: s.Statement, *, after: bool) -> bool:
        """A place for a fence; whether there is one."""
        slots = [] if self.atomic is not None else self.compiler.sites.slots(statement, after=after)
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
                    self.fail("break outside a do loop", at)
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
            self.here(self.named_target(label))
        marked = tuple(n for n in statement.labels if (self.proctype.name, n) in self.compiler.observed)
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
            known: dict[s.Name, Expr] = {}
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
        known: dict[s.Name, Expr] = {}
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
        known: dict[s.Name, Expr] = {}
        before = after = None
        sites = self.compiler.sites
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
        if self.compiler.sites.places == "gaps" and self.atomic is None:
            number = self.compiler.sites.number(statement.kind, statement, after=True, existing=True)
        self.emit(Fence(kind=statement.kind, location=at) if number is None else Slot(fence=number, location=at))

    def atomically(self, statement: s.Atomically) -> None:
        at = statement.location
        shared = self.variable(statement.target)
        if shared is None or shared.ghost:
            self.fail(f"{statement.operation} works on shared memory, which {statement.target.name} is not", at)
        if statement.result is not None and self.variable(statement.result) is not None:
            self.fail(f"the result of {statement.operation} must be a variable of the process's own", at)
        known: dict[s.Name, Expr] = {}
        reads = [*statement.arguments, *([] if statement.target.index is None else [statement.target.index])]
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
            if otherwise and _may_wait(first):
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
            self.here(arm)
            if isinstance(option[0], s.Guard | s.Else):
                self.sequence(option[1:], gap=self.gap_behind_guard(option))
            else:
                self.sequence(option)
            self.emit(Branch(target=top if statement.loops else end, location=option[-1].location))
        if statement.loops:
            self.breaks.pop()
        self.here(end)

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
        known: dict[s.Name, Expr] = {}
        lowest, highest = self.value(low, known), self.value(high, known)
        if not isinstance(lowest, Const) or not isinstance(highest, Const) or lowest.value > highest.value:
            self.fail("select needs two constants, the smaller one first", at)
        values = range(lowest.value, highest.value + 1)
        arms, end = [self.target() for _ in values], self.target()
        self.emit(Choose(arms=tuple((Const(1), arm) for arm in arms), location=at))
        for value, arm in zip(values, arms, strict=True):
            self.here(arm)
            self.assign_local(statement.target, Const(value), known, at)
            self.emit(Branch(target=end, location=at))
        self.here(end)

    def block(self, statement: s.Atomic) -> None:
        if self.atomic is not None:
            self.sequence(statement.body)
            return
        if self.spawns is not None and any(isinstance(i, s.RunStatement) for i in _inside(statement.body)):
            self.sequence(statement.body)  # init runs alone until its last run
            return
        touched = [shared.ghost for i in _inside(statement.body) for shared in self.touches(i)]
        ghost = all(touched)
        locking = [i for i in _inside(statement.body) if isinstance(i, s.Atomically)]
        self.emit(Begin(ghost=ghost and not locking, location=statement.location))
        self.atomic, self.head = "locked", True
        self.sequence(statement.body)
        self.atomic, self.head = None, False
        self.emit(End(location=statement.location))

    def touches(self, statement: s.Statement) -> Iterator[_Global]:
        """What a statement itself, not those inside it, does to shared memory; locals declared inside are not known
        yet, so that a name counts as shared if nothing hides it."""
        hidden = {v.name for v in _declared(self.proctype.body)} | set(self.constants) | set(self.types)
        for name in _names(statement):
            if name.name not in hidden and name.name in self.compiler.globals:
                yield self.compiler.globals[name.name]

    def run(self, statement: s.RunStatement) -> None:
        at = statement.location
        if self.spawns is None:
            self.fail("run is supported in init only", at)
        proctype = self.spawns.get(statement.proctype)
        if proctype is None or proctype.name == ":init:":
            self.fail(f"no proctype {statement.proctype}", at)
        if len(statement.arguments) != len(proctype.parameters):
            self.fail(f"{proctype.name} takes {len(proctype.parameters)} arguments, not {len(statement.arguments)}", at)
        known: dict[s.Name, Expr] = {}
        self.load(statement.arguments, known, False, at)
        if self.has_ghosts(*statement.arguments):
            self.fail("run cannot read ghost variables", at)
        arguments = tuple(self.value(argument, known) for argument in statement.arguments)
        self.emit(_Spawn(proctype=proctype, arguments=arguments, location=at))


def _run_init(compiler: _Compiler, body: _Body, spawned: list[tuple[s.Proctype, tuple[int, ...]]]) -> Process | None:
    """Run init alone up to its last ``run``; the rest of it, if any, is a process like the others."""
    code = body.code
    plain = tuple(Assume(condition=Const(1)) if isinstance(i, _Spawn) else i for i in code)
    spawns_ahead = [False] * (len(code) + 1)
    for _ in code:
        for pc in range(len(code) - 1, -1, -1):
            spawns_ahead[pc] = isinstance(code[pc], _Spawn) or any(spawns_ahead[t] for t in successors(plain, pc))
    runner = PromelaProgram(
        "init", "", "", (Process("init", body.number, plain, body.registers),), compiler.memory, frozenset(), (), ()
    )
    memory = dict(enumerate(compiler.memory.values()))
    pc, registers = 0, tuple(body.registers.values())
    while spawns_ahead[pc]:
        instruction = code[pc]
        at = instruction.location
        match instruction:
            case _Spawn(proctype=proctype, arguments=arguments):
                spawned.append((proctype, tuple(runner._value(0, registers, argument) for argument in arguments)))
                pc += 1
            case Load(register=register):
                address = runner._address(0, Control(pc, registers), instruction.address)
                registers = runner._set(0, registers, register, memory[address])
                pc += 1
            case Store(value=value):
                if spawned:
                    raise ParseError("init assigns to shared memory between two runs: put it before the first", at)
                address = runner._address(0, Control(pc, registers), instruction.address)
                memory[address] = runner._value(0, registers, value)
                pc += 1
            case Fence() | Slot() | Mark() | Begin() | End():
                pc += 1
            case Choose():
                targets = runner._arms(0, Control(pc, registers), instruction)
                if len(targets) != 1:
                    raise ParseError("init chooses, or waits, before its last run", at)
                pc = targets[0]
            case Rmw() | Lock() | Unlock():
                raise ParseError("init cannot use atomic operations before its last run", at)
            case _:
                advanced = runner._local(0, pc, registers)
                if isinstance(advanced, str):
                    raise ParseError("init stops before its last run", at)
                pc, registers = advanced
    compiler.memory.update(zip(list(compiler.memory), memory.values(), strict=True))
    if all(isinstance(i, Branch | End | Mark | Slot | _Spawn) for i in code[pc:]):
        return None
    start = dict(zip(body.registers, registers, strict=True))
    return Process("init", body.number, plain, start, pc)


def operation(operator: str, operands: tuple[Expr, ...], location: Location) -> Expr:
    """Promela's operators in terms of ``expressions.OPERATORS``; constants are computed at once."""
    names = {"&&": "and", "||": "or", "!": "not"}
    if operator == "?:":
        yes = Op("*", (Op("!=", (operands[0], Const(0))), operands[1]))
        return Op("+", (yes, Op("*", (Op("==", (operands[0], Const(0))), operands[2]))))
    if operator == "-" and len(operands) == 1:
        operands = (Const(0), *operands)
    if operator in ("/", "%"):
        number, divisor = operands
        if not isinstance(divisor, Const) or divisor.value <= 0:
            raise ParseError(f"{operator} needs a positive constant on its right", location)
        up = Op("and", (Op("<", (number, Const(0))), Op("!=", (Op("%", operands), Const(0)))))
        quotient = Op("+", (Op("//", operands), up))  # C rounds towards zero
        return quotient if operator == "/" else Op("-", (number, Op("*", (quotient, divisor))))
    if all(isinstance(operand, Const) for operand in operands):
        numbers = tuple(s.Number(operand.value) for operand in operands if isinstance(operand, Const))
        folded = fold(s.Operation(operator, numbers, location))
        assert isinstance(folded, s.Number)
        return Const(folded.value)
    return Op(names.get(operator, operator), operands)


BITS: dict[s.TypeName, int] = {"bit": 1, "bool": 1, "byte": 8, "mtype": 8, "pid": 8, "short": 16, "int": 32}


def truncate(kind: s.TypeName, value: Expr) -> Expr:
    """What a variable of that type keeps of a value."""
    if isinstance(value, Const):
        return Const(truncate_value(kind, value.value))
    bits = BITS[kind]
    if isinstance(value, Op) and value.operator in ("==", "!=", "<", "<=", ">", ">=", "and", "or", "not"):
        return value
    if bits <= 8:
        return Op("&", (value, Const((1 << bits) - 1)))
    half = 1 << (bits - 1)
    return Op("-", (Op("&", (Op("+", (value, Const(half))), Const((1 << bits) - 1))), Const(half)))


def truncate_value(kind: s.TypeName, value: int) -> int:
    bits = BITS[kind]
    if bits <= 8:
        return value % (1 << bits)
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def elements(name: str, size: int) -> list[str]:
    return [f"{name}[{i}]" for i in range(size)]


def _inside(statements: Sequence[s.Statement]) -> Iterator[s.Statement]:
    for statement in statements:
        yield statement
        match statement:
            case s.Block(body=body) | s.Atomic(body=body):
                yield from _inside(body)
            case s.Select(options=options):
                for option in options:
                    yield from _inside(option)


def _labels(statements: Sequence[s.Statement]) -> set[str]:
    return {label for statement in _inside(statements) for label in statement.labels}


def _declared(statements: Sequence[s.Statement]) -> Iterator[s.Declaration]:
    for statement in _inside(statements):
        if isinstance(statement, s.Declare):
            yield from statement.variables


def _assigned(statements: Sequence[s.Statement]) -> Iterator[str]:
    for statement in _inside(statements):
        match statement:
            case s.Set(target=target) | s.Pick(target=target) | s.Atomically(result=s.Name() as target):
                yield target.name


def _names(statement: s.Statement) -> Iterator[s.Name]:
    """Every variable in a statement's own expressions."""

    def inside(expression: s.Expression | None) -> Iterator[s.Name]:
        match expression:
            case s.Name(index=index):
                yield expression
                yield from inside(index)
            case s.Operation(operands=operands):
                for operand in operands:
                    yield from inside(operand)

    match statement:
        case s.Guard(condition=condition) | s.Claim(condition=condition):
            yield from inside(condition)
        case s.Set(target=target, value=value):
            yield from inside(target)
            yield from inside(value)
        case s.Atomically(result=result, target=target, arguments=arguments):
            for expression in (result, target, *arguments):
                yield from inside(expression)


def _ats(expression: s.Expression) -> Iterator[s.At]:
    match expression:
        case s.At():
            yield expression
        case s.Operation(operands=operands):
            for operand in operands:
                yield from _ats(operand)


def _may_wait(statement: s.Statement) -> bool:
    """Whether a statement that is not a condition may have to wait before it does anything."""
    match statement:
        case s.Atomically(operation=operation):
            return operation == "lock"
        case s.Block(body=body) | s.Atomic(body=body):
            first = next((i for i in body if not isinstance(i, s.Declare)), None)
            return isinstance(first, s.Guard | s.Select) or (first is not None and _may_wait(first))
        case s.Select(options=options):
            return not any(isinstance(option[0], s.Else) for option in options)
    return False
