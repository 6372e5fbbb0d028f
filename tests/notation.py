"""Small programs as the papers write them: ``T0: x=1; r0=y || T1: y=1; mfence; r1=x``.

Registers begin with r, all other names are addresses, initially 0. Statements: ``x=1``, ``x=r0``, ``r0=x``,
``mfence``, ``sfence``, ``r0=xchg(x,2)``, ``r0=cas(x,0,1)``, ``lock(m)``, ``unlock(m)``, ``if r0!=2 then r1=y``. The
name of a thread may be left out.
"""

from __future__ import annotations

import re

from teetotal.answers.events import Kind, Location
from teetotal.programs.expressions import Addr, Const, Expr, Old, Op, Reg
from teetotal.programs.program import Branch, Fence, Instruction, Load, Lock, Program, Rmw, Store, Thread, Unlock

_CALL = re.compile(r"(?:(r\w*)=)?(xchg|cas|lock|unlock)\(([^)]*)\)$")
_TEST = re.compile(r"if (r\w*)(==|!=)(\d+) then (.*)$")


def program(text: str) -> Program:
    threads = []
    addresses: dict[str, int] = {}
    for number, part in enumerate(text.split("||")):
        code: list[Instruction] = []
        for statement in re.sub(r"^\s*T\d+:", "", part).split(";"):
            _add(code, statement.strip(), addresses, number)
        registers = {r: 0 for i in code if (r := getattr(i, "register", None)) is not None}
        threads.append(Thread(f"T{number}", tuple(code), registers))
    return Program(name=text, threads=tuple(threads), memory=addresses)


def _add(code: list[Instruction], statement: str, addresses: dict[str, int], thread: int) -> None:
    place = Location(f"T{thread}", len(code) + 1)

    def address(name: str) -> Expr:
        addresses.setdefault(name.strip(), 0)
        return Addr(name.strip())

    def value(text: str) -> Expr:
        return Reg(text) if text.startswith("r") else Const(int(text))

    if test := _TEST.match(statement):
        register, comparison, number, rest = test.groups()
        opposite = {"==": "!=", "!=": "=="}[comparison]
        at = len(code)
        code.append(Branch(target=at, location=place))
        _add(code, rest, addresses, thread)
        skip = Op(opposite, (Reg(register), Const(int(number))))
        code[at] = Branch(target=len(code), when=skip, location=place)
    elif call := _CALL.match(statement):
        register, name, arguments = call.group(1), call.group(2), call.group(3).split(",")
        where = address(arguments[0])
        match name:
            case "lock":
                code.append(Lock(address=where, location=place))
            case "unlock":
                code.append(Unlock(address=where, location=place))
            case "xchg":
                code.append(Rmw(register=register, address=where, value=value(arguments[1].strip()), location=place))
            case "cas":
                expected = Op("==", (Old(), Const(int(arguments[1]))))
                new = Const(int(arguments[2]))
                code.append(Rmw(register=register, address=where, value=new, when=expected, location=place))
    elif statement in ("mfence", "sfence"):
        kind = Kind.MFENCE if statement == "mfence" else Kind.SFENCE
        code.append(Fence(kind=kind, location=place))  # type: ignore[arg-type]
    else:
        left, right = (side.strip() for side in statement.split("="))
        if left.startswith("r"):
            code.append(Load(register=left, address=address(right), location=place))
        else:
            code.append(Store(address=address(left), value=value(right), location=place))
