"""Atomic stores of C and C++ whose order can become stronger, and what they are called then.

A candidate is a call whose order is written out, relaxed or release: ``atomic_store_explicit(p, v, order)``,
``x.store(v, order)``, ``__atomic_store_n(p, v, order)`` and their like; in kernel litmus tests ``WRITE_ONCE(*x, v)`` and
``smp_store_release(x, v)``. Without an order these stores are seq_cst, as is an assignment to an ``_Atomic`` or
``std::atomic``: nothing stronger is left for them. Arguments may load and compute, but neither store nor call: then the
fence that a release puts just before the store might as well stand before the whole call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from teetotal.fences.c_macros import Macros
from teetotal.fences.kinds import Order
from teetotal.fences.text import Edit

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
    "assignment_expression",
    "update_expression",
    "lambda_expression",
    "compound_statement",
    "new_expression",
    "delete_expression",
    "co_await_expression",
    "ERROR",
}


class StoreCall(NamedTuple):
    """From ``start`` to ``end``. ``words``: for each order that it can take, the edits that give it."""

    start: int
    end: int
    in_loop: bool
    words: Mapping[Order, tuple[Edit, ...]]


class Calls:
    """Reads nodes of tree-sitter. ``at`` gives the place in the text of one in bytes; ``kernel``: in the words of the
    Linux kernel."""

    def __init__(self, at: Callable[[int], int], macros: Macros, kernel: bool) -> None:
        self.at, self.macros, self.kernel = at, macros, kernel

    def read(self, node: Any, in_loop: bool) -> StoreCall | None:
        callee, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if callee is None or arguments is None:
            return None
        given = [child for child in arguments.named_children if child.type != "comment"]
        name = callee
        called = _text(callee)
        if callee.type == "field_expression":
            name = callee.child_by_field_name("field")
            called = f".{_text(name)}"
        receiver = [callee.child_by_field_name("argument")] if name is not callee else []
        if not given or any(node is None or self._does_more(node) for node in (*given, *receiver)):
            return None
        if called in _EXPLICIT:
            words = dict(self._explicit(name, given[-1], _EXPLICIT[called]))
        elif self.kernel and called in _KERNEL and len(given) == 2:
            words = dict(self._of_the_kernel(name, given[0], _KERNEL[called], pointer=called == "smp_store_release"))
        else:
            return None
        return StoreCall(self.at(node.start_byte), self.at(node.end_byte), in_loop, words) if words else None

    def _explicit(self, name: Any, order: Any, rmw: str | None) -> Iterator[tuple[Order, tuple[Edit, ...]]]:
        match = _ORDER.fullmatch(_text(order))
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
        self, name: Any, target: Any, releases: bool, pointer: bool
    ) -> Iterator[tuple[Order, tuple[Edit, ...]]]:
        """``WRITE_ONCE`` and ``smp_store_mb`` take a location, ``smp_store_release`` and ``xchg`` a pointer to it."""
        words = _text(target)
        if not pointer and not words.startswith("*"):
            return
        location = self._edit(target, f"*{words}" if pointer else words)
        address = self._edit(target, words if pointer else words[1:].lstrip())
        if not releases:
            yield Order.RELEASE, (self._edit(name, "smp_store_release"), address)
        yield Order.SEQ_CST, (self._edit(name, "smp_store_mb"), location)
        yield Order.RMW, (self._edit(name, "xchg"), address)

    def _edit(self, node: Any, words: str) -> Edit:
        return Edit(self.at(node.start_byte), self.at(node.end_byte), words)

    def _does_more(self, node: Any) -> bool:
        """More than to load and to compute, as far as the text tells."""
        if node.type in _EFFECTS or (node.type == "identifier" and self.macros.does_more(_text(node))):
            return True
        if node.type == "call_expression":
            callee = node.child_by_field_name("function")
            if callee is None or _LOADS.fullmatch(_text(callee)) is None:
                return True
        return any(map(self._does_more, node.named_children))


def strongest(orders: Collection[Order]) -> Order:
    """Of those that are asked of one store, the one that does for all of them."""
    return next(order for order in (Order.RMW, Order.SEQ_CST, Order.RELEASE) if order in orders)


def _text(node: Any) -> str:
    text: str = node.text.decode()
    return text
