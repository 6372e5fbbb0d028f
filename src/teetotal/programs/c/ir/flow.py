"""Which blocks of a function of IR may follow each other, and which of them lie on a way round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from teetotal.programs.c.ir.operands import call
from teetotal.programs.c.ir.reading import Function, Instruction, Module
from teetotal.programs.c.ir.types import Unreadable

_TWICE = frozenset(("setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "getcontext", "vfork", "__builtin_setjmp"))


def returns_twice(module: Module, instruction: Instruction) -> bool:
    """Whether control may come back to what follows a call once more, from anywhere (``setjmp``)."""
    if not instruction.is_call:
        return False
    try:
        told = call(instruction)
    except Unreadable:
        return False
    if told.name in _TWICE or told.name in ("llvm.eh.sjlj.setjmp",):
        return True
    declaration = module.declared.get(told.name, "")
    groups = [*told.groups, *(word for word in declaration.split() if word.startswith("#"))]
    return any("returns_twice" in module.groups.get(one, "") for one in groups)


class Flow:
    """``successors`` and ``predecessors`` by number of block. Where something returns twice, every block may be followed
    by the one where it does."""

    def __init__(self, module: Module, function: Function) -> None:
        self.blocks = function.blocks
        numbers = {block.name: number for number, block in enumerate(self.blocks)}
        self.twice = [
            number
            for number, block in enumerate(self.blocks)
            if any(returns_twice(module, one) for one in block.instructions)
        ]
        self.successors: list[list[int]] = []
        for block in self.blocks:
            last = block.instructions[-1] if block.instructions else None
            found = [numbers[name] for name in last.targets if name in numbers] if last is not None else []
            self.successors.append(list(dict.fromkeys([*found, *self.twice])))
        self.predecessors: list[list[int]] = [[] for _ in self.blocks]
        for number, following in enumerate(self.successors):
            for one in following:
                self.predecessors[one].append(number)

    def circular(self, without: Iterable[int] = ()) -> set[int]:
        """The blocks on ways round that do not lead through some of them."""
        left = set(without)
        onward = [
            [one for one in following if one not in left] if number not in left else []
            for number, following in enumerate(self.successors)
        ]
        return {
            one for component in _components(onward) for one in component if len(component) > 1 or one in onward[one]
        }


def _components(onward: Sequence[Sequence[int]]) -> list[list[int]]:
    """Strongly connected ones (Tarjan, Depth-first search and linear graph algorithms, 1972), without recursion."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    waiting: set[int] = set()
    found: list[list[int]] = []
    for root in range(len(onward)):
        if root in index:
            continue
        work = [(root, iter(onward[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        waiting.add(root)
        while work:
            number, following = work[-1]
            for one in following:
                if one not in index:
                    index[one] = low[one] = len(index)
                    stack.append(one)
                    waiting.add(one)
                    work.append((one, iter(onward[one])))
                    break
                if one in waiting:
                    low[number] = min(low[number], index[one])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[number])
                if low[number] == index[number]:
                    component: list[int] = []
                    while not component or component[-1] != number:
                        component.append(stack.pop())
                        waiting.discard(component[-1])
                    found.append(component)
    return found
