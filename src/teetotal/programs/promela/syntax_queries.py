"""Questions about a syntax tree: what lies inside statements, and what they name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from teetotal.programs.promela import syntax as s


def inside(statements: Sequence[s.Statement]) -> Iterator[s.Statement]:
    for statement in statements:
        yield statement
        match statement:
            case s.Block(body=body) | s.Atomic(body=body):
                yield from inside(body)
            case s.Select(options=options):
                for option in options:
                    yield from inside(option)


def labels_in(statements: Sequence[s.Statement]) -> set[str]:
    return {label for statement in inside(statements) for label in statement.labels}


def declared_in(statements: Sequence[s.Statement]) -> Iterator[s.Declaration]:
    for statement in inside(statements):
        if isinstance(statement, s.Declare):
            yield from statement.variables


def assigned_in(statements: Sequence[s.Statement]) -> Iterator[str]:
    for statement in inside(statements):
        match statement:
            case s.Set(target=target) | s.Pick(target=target) | s.Atomically(result=s.Name() as target):
                yield target.name


def names_in(statement: s.Statement) -> Iterator[s.Name]:
    """Every variable in a statement's own expressions."""

    def of(expression: s.Expression | None) -> Iterator[s.Name]:
        match expression:
            case s.Name(index=index):
                yield expression
                yield from of(index)
            case s.Operation(operands=operands):
                for operand in operands:
                    yield from of(operand)

    match statement:
        case s.Guard(condition=condition) | s.Claim(condition=condition):
            yield from of(condition)
        case s.Set(target=target, value=value):
            yield from of(target)
            yield from of(value)
        case s.Atomically(result=result, target=target, arguments=arguments):
            for expression in (result, target, *arguments):
                yield from of(expression)


def ats(expression: s.Expression) -> Iterator[s.At]:
    match expression:
        case s.At():
            yield expression
        case s.Operation(operands=operands):
            for operand in operands:
                yield from ats(operand)


def may_wait(statement: s.Statement) -> bool:
    """Whether a statement that is not a condition may have to wait before it does anything."""
    match statement:
        case s.Atomically(operation=operation):
            return operation == "lock"
        case s.Block(body=body) | s.Atomic(body=body):
            first = next((i for i in body if not isinstance(i, s.Declare)), None)
            return isinstance(first, s.Guard | s.Select) or (first is not None and may_wait(first))
        case s.Select(options=options):
            return not any(isinstance(option[0], s.Else) for option in options)
    return False
