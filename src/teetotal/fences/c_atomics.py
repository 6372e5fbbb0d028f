"""Atomic operations of C and C++ with their orders, as they are written: what each is, and the edits that give it another.

Known are C11's and C++'s functions (``atomic_load_explicit``, with or without ``std::``), the members of ``std::atomic``
and ``atomic_flag``, and GCC's ``__atomic_…``. Without an order they are seq_cst: with one they get ``_explicit``, or one
argument more. A macro of the user's that is such a call and nothing else is written out with its new order.

Left as they are: calls whose order is not written as one of the language's own words (but as a macro or a variable), since
what it is cannot be read here; and plain assignments to atomic variables, which have no room for an order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from teetotal.answers.events import MemoryOrder
from teetotal.fences.c_macros import Macros
from teetotal.fences.c_syntax import Expression, Node, arguments
from teetotal.fences.edits import Edit, apply
from teetotal.fences.orders import What

_FETCH = r"fetch_(?:add|sub|or|and|xor|nand|max|min)"
_FUNCTIONS: tuple[tuple[str, What, int, int], ...] = (
    (r"(?:std::)?atomic_load(?P<explicit>_explicit)?", "load", 1, 1),
    (r"(?:std::)?atomic_store(?P<explicit>_explicit)?", "store", 2, 1),
    (rf"(?:std::)?atomic_(?:exchange|{_FETCH})(?P<explicit>_explicit)?", "rmw", 2, 1),
    (r"(?:std::)?atomic_compare_exchange_(?:strong|weak)(?P<explicit>_explicit)?", "rmw", 3, 2),
    (r"(?:std::)?atomic_flag_test_and_set(?P<explicit>_explicit)?", "rmw", 1, 1),
    (r"(?:std::)?atomic_flag_clear(?P<explicit>_explicit)?", "store", 1, 1),
    (r"(?:std::)?atomic_thread_fence", "fence", 0, 1),
    (r"\.load", "load", 0, 1),
    (r"\.store", "store", 1, 1),
    (rf"\.(?:exchange|{_FETCH})", "rmw", 1, 1),
    (r"\.compare_exchange_(?:strong|weak)", "rmw", 2, 2),
    (r"\.test_and_set", "rmw", 0, 1),
    (r"\.test", "load", 0, 1),
    (r"\.clear", "store", 0, 1),
    (r"__atomic_load_n", "load", 1, 1),
    (r"__atomic_load", "load", 2, 1),
    (r"__atomic_store(?:_n)?", "store", 2, 1),
    (rf"__atomic_(?:exchange_n|{_FETCH}|(?:add|sub|or|and|xor|nand)_fetch)", "rmw", 2, 1),
    (r"__atomic_exchange", "rmw", 3, 1),
    (r"__atomic_compare_exchange(?:_n)?", "rmw", 4, 2),
    (r"__atomic_test_and_set", "rmw", 1, 1),
    (r"__atomic_clear", "store", 1, 1),
    (r"__atomic_thread_fence", "fence", 0, 1),
)
"""Name, what it is, how many arguments come before the orders, and how many orders."""
_OTHERS_TOO = (".test", ".clear")
"""Members that many classes have: taken for atomic operations only where an order is given."""
_COMPILED = [(re.compile(pattern), what, before, orders) for pattern, what, before, orders in _FUNCTIONS]
_ORDER = re.compile(
    r"(?P<prefix>(?:std\s*::\s*)?memory_order(?:_|\s*::\s*)|__ATOMIC_)"
    r"(?P<order>relaxed|acquire|release|acq_rel|seq_cst|RELAXED|ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)"
)


class WrittenOrder(NamedTuple):
    """From ``start`` to ``end`` of the text, where there is one; else it would stand there, behind a comma if ``comma``."""

    order: MemoryOrder
    start: int
    end: int
    prefix: str
    comma: bool

    def edit(self, order: MemoryOrder, key: object = None) -> Edit:
        word = order.upper() if self.prefix.startswith("__") else order
        return Edit(self.start, self.end, f"{', ' if self.comma else ''}{self.prefix}{word}", key)


class AtomicCall(NamedTuple):
    """``orders``: for success, and perhaps one for failure. ``rename``: what makes an ``_explicit`` one of it.
    ``meant``: where it is a call of a macro, what that stands for, which is written out where an order changes."""

    what: What
    start: int
    end: int
    in_loop: bool
    orders: tuple[WrittenOrder, ...]
    rename: Edit | None
    meant: tuple[Expression, AtomicCall] | None = None

    @property
    def is_implicit(self) -> bool:
        return any(order.start == order.end for order in self.orders)

    def edits(self, changed: dict[int, MemoryOrder], key: object) -> Iterator[Edit]:
        """With these of its orders changed, each by its number. Where none was written, all are."""
        if self.meant is not None:
            if changed:
                expression, call = self.meant
                words = expression.words(apply(expression.source, call.edits(changed, None)).text)
                yield Edit(self.start, self.end, words, (key, min(changed)))
            return
        if self.is_implicit and changed:
            changed = {number: changed.get(number, order.order) for number, order in enumerate(self.orders)}
            if self.rename is not None:
                yield self.rename
        for number, order in sorted(changed.items()):
            yield self.orders[number].edit(order, (key, number))


def read(
    node: Node,
    at: Callable[[int], int],
    cpp: bool,
    in_loop: bool,
    macros: Macros,
    behind: frozenset[str] = frozenset(),
) -> AtomicCall | None:
    """The atomic operation that a call is; None where it is none, or one whose order cannot be read. ``at`` turns an offset
    in bytes, as the tree has them, into one in the text. ``behind``: the macros that were expanded on the way to this call,
    which are not expanded again."""
    callee = node.child("function")
    if callee is None:
        return None
    field = callee.child("field")
    member = callee.type == "field_expression" and field is not None
    called = f".{field.text}" if member and field is not None else callee.text
    spelled = re.sub(r"\s", "", called)
    row = next((row for row in _COMPILED if row[0].fullmatch(spelled) is not None), None)
    if row is None:
        return _of_a_macro(node, at, cpp, in_loop, macros, behind)
    pattern, what, before, count = row
    match = pattern.fullmatch(spelled)
    assert match is not None
    given = arguments(node)
    explicit = match.groupdict().get("explicit") is not None
    orders: list[WrittenOrder] = []
    rename: Edit | None = None
    if len(given) > before and (explicit or member or "explicit" not in match.groupdict()):
        if len(given) > before + count:
            return None
        for argument in given[before:]:
            found = _ORDER.fullmatch(argument.text)
            if found is None:
                return None
            order: MemoryOrder = found["order"].lower()  # type: ignore[assignment]
            orders.append(WrittenOrder(order, at(argument.start_byte), at(argument.end_byte), found["prefix"], False))
    elif len(given) == before and what != "fence" and not called.startswith("__") and called not in _OTHERS_TOO:
        end = at(node.end_byte) - 1
        prefix = "std::memory_order_" if cpp else "memory_order_"
        implicit = WrittenOrder("seq_cst", end, end, prefix, bool(given) or not member)
        orders = [implicit] if member or count == 1 else [implicit, implicit._replace(comma=True)]
        if not member:
            rename = Edit(at(callee.end_byte), at(callee.end_byte), "_explicit")
    if not orders:
        return None
    return AtomicCall(what, at(node.start_byte), at(node.end_byte), in_loop, tuple(orders), rename)


def _of_a_macro(
    node: Node, at: Callable[[int], int], cpp: bool, in_loop: bool, macros: Macros, behind: frozenset[str]
) -> AtomicCall | None:
    """A macro that is such a call and nothing else, without another among its arguments: that has places of its own."""
    function = node.child("function")
    name = "" if function is None else function.text
    given = arguments(node)
    words = macros.expanded(name, [argument.text for argument in given]) if name not in behind else None
    if words is None:
        return None
    meant = Expression(words, cpp)
    calls = (inner for argument in given for inner in argument.all() if inner.type == "call_expression")
    if meant.root is None or meant.root.type != "call_expression" or next(calls, None) is not None:
        return None
    call = read(meant.root, meant.at, cpp, in_loop, macros, behind | {name})
    if call is None:
        return None
    return AtomicCall(call.what, at(node.start_byte), at(node.end_byte), in_loop, call.orders, None, (meant, call))
