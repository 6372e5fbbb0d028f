"""``forbidden`` as a property: what no reachable state may satisfy, in disjunctive normal form."""

from __future__ import annotations

from itertools import product

from teetotal.answers.errors import ParseError
from teetotal.programs.expressions import Const, Expr, Op, Reg
from teetotal.programs.promela import syntax as s
from teetotal.programs.promela.arithmetic import operation
from teetotal.programs.promela.folding import fold
from teetotal.programs.promela.instructions import Literals, Property
from teetotal.programs.promela.scope import Scope
from teetotal.programs.promela.syntax_queries import labels_in


def property_of(
    forbidden: s.Forbidden, numbers: dict[int, str], proctypes: dict[str, s.Proctype], scope: Scope, order: list[int]
) -> Property:
    """``numbers``: the proctype of each process, by its ``_pid``; ``order``: their numbers in the program's order."""
    positions = {number: position for position, number in enumerate(order)}

    def literal(at: s.At, stands: bool) -> Literals:
        if at.proctype not in proctypes:
            raise ParseError(f"no proctype {at.proctype}", at.location)
        if at.label not in labels_in(proctypes[at.proctype].body):
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
                if name not in scope.globals or not scope.globals[name].ghost:
                    raise ParseError(f"forbidden can speak of labels and ghost variables, not of {name}", location)
                if place is not None and not isinstance(place, s.Number):
                    raise ParseError("the index must be a constant", location)
                element = name if place is None else f"{name}[{place.value}]"
                if element not in scope.memory:
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
