"""Atomic stores of C and C++ whose order can become stronger, and what they are called then.

A candidate is a call whose order is written out, relaxed or release: ``atomic_store_explicit(p, v, order)``,
``x.store(v, order)``, ``__atomic_store_n(p, v, order)`` and their like; in kernel litmus tests ``WRITE_ONCE(*x, v)`` and
``smp_store_release(x, v)``. Without an order these stores are seq_cst, as is an assignment to an ``_Atomic`` or
``std::atomic``: nothing stronger is left for them. Arguments may load and compute, but neither store nor call: then the
fence that a release puts just before the store might as well stand before the whole call. A macro of the user's that is
such a call and nothing else is written out with the stronger order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from teetotal.answers.remedies import Order
from teetotal.fences.c_macros import Macros
from teetotal.fences.c_syntax import Expression, Node, arguments
from teetotal.fences.edits import Edit, apply

_EXPLICIT: Mapping[str, str | None] = {
    "atomic_store_explicit": "atomic_exchange_explicit",
    "std::atomic_store_explicit": "std::atomic_exchange_explicit",
    "__atomic_store_n": "__atomic_exchange_n",
    ".store": "exchange",
    "__atomic_store": None,
    "__atomic_clear": None,
    "atomic_flag_clear_explicit": None,
    "std::atomic_flag_clear_explicit": None,
    ".clear": None,
}
"""Stores with an order as their last argument, and what the same is called as an rmw, if it is so easy."""
_KERNEL = {"WRITE_ONCE": False, "smp_store_release": True, "rcu_assign_pointer": True}
"""Stores of the Linux kernel, and whether they release."""
_LOADS = re.compile(
    r"(?:std::)?atomic_load(?:_explicit)?|__atomic_load_n|.*(?:\.|->)load|READ_ONCE|smp_load_acquire|rcu_dereference",
    re.DOTALL,
)
_ORDER = re.compile(
    r"(?P<prefix>(?:std\s*::\s*)?memory_order(?:_|\s*::\s*)|__ATOMIC_)(?P<order>relaxed|release|RELAXED|RELEASE)"
)
_EFFECTS = {
    "assignment_expression", "update_expression", "lambda_expression", "compound_statement", "new_expression",
    "delete_expression", "co_await_expression", "ERROR",
}  # fmt: skip


class StoreCall(NamedTuple):
    """From ``start`` to ``end``. ``words``: for each order that it can take, the edits that give it."""

    start: int
    end: int
    in_loop: bool
    words: Mapping[Order, tuple[Edit, ...]]


class Calls:
    """Reads nodes of tree-sitter. ``at`` gives the place in the text of one in bytes; ``kernel``: in the words of the
    Linux kernel."""

    def __init__(
        self, at: Callable[[int], int], macros: Macros, cpp: bool, kernel: bool, behind: frozenset[str] = frozenset()
    ) -> None:
        self.at, self.macros, self.cpp, self.kernel = at, macros, cpp, kernel
        self.behind = behind  # the macros that led here

    def read(self, node: Node, in_loop: bool) -> StoreCall | None:
        callee = node.child("function")
        if callee is None:
            return None
        given = arguments(node)
        field, receiver = callee.child("field"), callee.child("argument")
        name, called = callee, callee.text
        if callee.type == "field_expression" and field is not None and receiver is not None:
            name, called = field, f".{field.text}"
        if not given or any(map(self._does_more, (*given, *([receiver] if receiver is not None else ())))):
            return None
        if called in _EXPLICIT:
            words = dict(self._explicit(name, given[-1], _EXPLICIT[called]))
        elif self.kernel and called in _KERNEL and len(given) == 2:
            words = dict(self._of_the_kernel(name, given[0], _KERNEL[called], pointer=called == "smp_store_release"))
        else:
            words = dict(self._of_a_macro(node)) if _LOADS.fullmatch(called) is None else {}
        return StoreCall(self.at(node.start_byte), self.at(node.end_byte), in_loop, words) if words else None

    def _explicit(self, name: Node, order: Node, rmw: str | None) -> Iterator[tuple[Order, tuple[Edit, ...]]]:
        match = _ORDER.fullmatch(order.text)
        if match is None:
            return
        builtin = match["prefix"].startswith("__")

        def of(stronger: str) -> Edit:
            return self._edit(order, match["prefix"] + (stronger.upper() if builtin else stronger))

        if match["order"].lower() == "relaxed":
            yield Order.RELEASE, (of("release"),)
        yield Order.SEQ_CST, (of("seq_cst"),)
        if rmw is not None:
            yield Order.RMW, (self._edit(name, rmw), of("seq_cst"))

    def _of_the_kernel(
        self, name: Node, target: Node, releases: bool, pointer: bool
    ) -> Iterator[tuple[Order, tuple[Edit, ...]]]:
        """``WRITE_ONCE`` and ``smp_store_mb`` take a location, ``smp_store_release`` and ``xchg`` a pointer to it."""
        words = target.text
        if not pointer and not words.startswith("*"):
            return
        location = self._edit(target, f"*{words}" if pointer else words)
        address = self._edit(target, words if pointer else words[1:].lstrip())
        if not releases:
            yield Order.RELEASE, (self._edit(name, "smp_store_release"), address)
        yield Order.SEQ_CST, (self._edit(name, "smp_store_mb"), location)
        yield Order.RMW, (self._edit(name, "xchg"), address)

    def _of_a_macro(self, node: Node) -> Iterator[tuple[Order, tuple[Edit, ...]]]:
        name, meant = self._expanded(node)
        if meant is None or meant.root is None or meant.root.type != "call_expression":
            return
        inner = Calls(meant.at, self.macros, self.cpp, self.kernel, self.behind | {name}).read(meant.root, False)
        for order, edits in inner.words.items() if inner is not None else ():
            yield order, (self._edit(node, meant.words(apply(meant.source, edits).text)),)

    def _expanded(self, call: Node) -> tuple[str, Expression | None]:
        """What a call means, if it is one of a macro."""
        name = _callee(call)
        words = self.macros.expanded(name, [node.text for node in arguments(call)])
        return name, Expression(words, self.cpp) if words is not None and name not in self.behind else None

    def _edit(self, node: Node, words: str) -> Edit:
        return Edit(self.at(node.start_byte), self.at(node.end_byte), words)

    def _does_more(self, node: Node) -> bool:
        """More than to load and to compute, as far as the text tells."""
        if node.type in _EFFECTS or (node.type == "identifier" and self.macros.does_more(node.text)):
            return True
        if node.type == "call_expression" and _LOADS.fullmatch(_callee(node)) is None:
            name, meant = self._expanded(node)
            if meant is None or meant.root is None:
                return True
            return Calls(meant.at, self.macros, self.cpp, self.kernel, self.behind | {name})._does_more(meant.root)
        return any(map(self._does_more, node.named_children))


def strongest(orders: Collection[Order]) -> Order:
    """Of those that are asked of one store, the one that does for all of them."""
    return next(order for order in (Order.RMW, Order.SEQ_CST, Order.RELEASE) if order in orders)


def _callee(call: Node) -> str:
    function = call.child("function")
    return "" if function is None else function.text
