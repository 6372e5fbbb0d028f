"""C11's atomic operations and the Linux kernel's, as instructions of TSO, PSO and C11.

One Program serves all models, so each operation becomes what PSO needs, and an access also keeps its order: an sfence does
nothing under TSO, and fences that only stand for part of an access are none of C11's. ``*x`` is not atomic.

=====================================================  ============================================
operation                                              instructions
=====================================================  ============================================
any load                                               Load
store relaxed, ``WRITE_ONCE``, ``*x = v``              Store
store release, ``smp_store_release``                   sfence; Store
store seq_cst                                          sfence; Store; mfence
rmw relaxed, acquire, consume                          Rmw
rmw release, acq_rel, seq_cst                          sfence; Rmw
fence release, acq_rel, ``smp_wmb``                    sfence
fence seq_cst, ``smp_mb``                              mfence
fence acquire, ``smp_rmb``                             fence: loads stay in order, so only C11 minds
``barrier``, a signal fence                            nothing
``spin_lock``, ``mtx_lock``, ``lock``                  Lock
``spin_unlock``, ``mtx_unlock``, ``unlock``            Unlock
=====================================================  ============================================

A compare-and-exchange fails only when the values differ: the weak one, which C11 lets fail for no reason, is taken for
the strong one, as processors with TSO have it. On TSO and PSO its order is the one for success.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from teetotal.answers.events import Kind, MemoryOrder
from teetotal.programs.expressions import Expr, Old, Reg, op
from teetotal.programs.labels import Label
from teetotal.programs.litmus.c_code import Code
from teetotal.programs.litmus.c_types import Typed, fetched

ORDERS = ("relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst")
_RELEASES = frozenset(("release", "acq_rel", "seq_cst"))
_WHERE_IT_FAILS = {"release": "relaxed", "acq_rel": "acquire"}


def _effective(word: str) -> MemoryOrder:
    return "acquire" if word == "consume" else word  # type: ignore[return-value]


class Local(NamedTuple):
    """``&r``: a local variable as the expected value of a compare-and-exchange."""

    name: str


def load(code: Code, address: Expr, order: str = "seq_cst") -> Expr:
    return code.load(address, _effective(order))


def store(code: Code, address: Expr, value: Expr, order: str = "seq_cst") -> None:
    if order in _RELEASES:
        code.fence(Kind.SFENCE)
    code.store(address, value, _effective(order))
    if order == "seq_cst":
        code.fence(Kind.MFENCE)


def exchange(code: Code, address: Expr, value: Expr, order: str = "seq_cst") -> Expr:
    if order in _RELEASES:
        code.fence(Kind.SFENCE)
    return code.rmw(address, value, _effective(order))


def compare_and_swap(
    code: Code, address: Expr, expected: Expr, new: Expr, order: str = "seq_cst", failure: str = ""
) -> Expr:
    """Linux's ``cmpxchg``: the old value."""
    if order in _RELEASES:
        code.fence(Kind.SFENCE)
    failure = failure or _WHERE_IT_FAILS.get(order, order)
    return code.rmw(address, new, _effective(order), op("==", Old(), expected), _effective(failure))


def compare_exchange(
    code: Code, address: Expr, expected: Expr | Local, new: Expr, order: str = "seq_cst", failure: str = ""
) -> Expr:
    """C11's: whether it succeeded; when not, ``*expected`` becomes the old value."""
    wanted = Reg(expected.name) if isinstance(expected, Local) else code.load(expected)
    old = compare_and_swap(code, address, wanted, new, order, failure)
    success = code.temporary()
    code.assign(success, op("==", old, wanted))
    if isinstance(expected, Local):
        code.assign(expected.name, old)
    else:
        done = Label()
        code.jump(done, Reg(success))
        code.store(expected, old)
        code.bind(done)
    return Reg(success)


def fence(code: Code, order: str) -> None:
    if order == "seq_cst":
        code.fence(Kind.MFENCE, "seq_cst")
    elif order in _RELEASES:
        code.fence(Kind.SFENCE, _effective(order))
    elif order != "relaxed":
        code.fence(Kind.FENCE, "acquire")


def nothing(code: Code, order: str = "") -> None:
    pass


def _fetch(operator: str) -> Callable[..., Expr]:
    def fetch(code: Code, address: Expr, value: Typed, order: str = "seq_cst") -> Expr:
        if order in _RELEASES:
            code.fence(Kind.SFENCE)
        return code.rmw(address, fetched(operator, value), _effective(order))

    return fetch


def _ordered(operation: Callable[..., Any], order: str) -> Callable[..., Any]:
    return lambda code, *arguments: operation(code, *arguments, order)


CALLS: dict[str, tuple[str, Callable[..., Expr | None]]] = {
    "atomic_load": ("p", load),
    "atomic_load_explicit": ("po", load),
    "READ_ONCE": ("l", _ordered(load, "relaxed")),
    "rcu_dereference": ("l", _ordered(load, "consume")),
    "smp_load_acquire": ("p", _ordered(load, "acquire")),
    "atomic_store": ("pv", store),
    "atomic_store_explicit": ("pvo", store),
    "WRITE_ONCE": ("lv", _ordered(store, "relaxed")),
    "rcu_assign_pointer": ("lv", _ordered(store, "release")),
    "smp_store_release": ("pv", _ordered(store, "release")),
    "smp_store_mb": ("lv", store),
    "atomic_exchange": ("pv", exchange),
    "atomic_exchange_explicit": ("pvo", exchange),
    "cmpxchg": ("pvv", compare_and_swap),
    "xchg": ("pv", exchange),
    "atomic_thread_fence": ("o", fence),
    "atomic_signal_fence": ("o", nothing),
    "smp_mb": ("", _ordered(fence, "seq_cst")),
    "smp_wmb": ("", _ordered(fence, "release")),
    "smp_rmb": ("", _ordered(fence, "acquire")),
    "barrier": ("", nothing),
}
"""By name: the arguments (p a pointer, l what a pointer leads to, v a value, a one that is combined with what is there, o
a memory order, e the pointer to a value that is expected), and what it does."""

for _name, _operator in {"add": "+", "sub": "-", "or": "|", "and": "&", "xor": "^"}.items():
    CALLS[f"atomic_fetch_{_name}"] = ("pa", _fetch(_operator))
    CALLS[f"atomic_fetch_{_name}_explicit"] = ("pao", _fetch(_operator))
for _name in ("strong", "weak"):
    CALLS[f"atomic_compare_exchange_{_name}"] = ("pev", compare_exchange)
    CALLS[f"atomic_compare_exchange_{_name}_explicit"] = ("pevoo", compare_exchange)
for _order in ("relaxed", "acquire", "release"):
    CALLS[f"xchg_{_order}"] = ("pv", _ordered(exchange, _order))
    CALLS[f"cmpxchg_{_order}"] = ("pvv", _ordered(compare_and_swap, _order))
for _name in ("spin_lock", "mtx_lock", "mutex_lock", "lock"):
    CALLS[_name] = ("p", lambda code, address: code.lock(address))
for _name in ("spin_unlock", "mtx_unlock", "mutex_unlock", "unlock"):
    CALLS[_name] = ("p", lambda code, address: code.unlock(address))
