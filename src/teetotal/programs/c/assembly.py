"""Makes inline assembly visible: fences and locked instructions become calls of hooks, the rest is reported.

The compiler instruments what it understands; assembly that the program brings along passes through it unseen, between
``#APP`` and ``#NO_APP`` in its output. There, and wherever an intrinsic made one, ``mfence`` and ``sfence`` are replaced
by a call; a locked instruction, or an exchange with memory, gets a call before it that tells the address, as plain
accesses have. Every register and flag is kept. An instruction on memory that is none of these cannot be seen: it is
listed, and the answer says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_HARMLESS = re.compile(
    r"(pause|nop\w*|lfence|rep;?\s*nop|cpuid|rdtscp?|cld|std|cli|sti|endbr64|ud2|int3|hlt|prefetch\w*|lea[lqw]?|j\w+|call\w*|ret\w*)\b"
)
_LOCKED = re.compile(r"(cmpxchg|xadd|xchg|add|adc|and|btc|btr|bts|dec|inc|neg|not|or|sbb|sub|xor)([bwlq]?)\b")
_REGISTER_SIZES = {
    8: re.compile(r"%r([abcd]x|[sd]i|[sb]p|\d+)\b"),
    4: re.compile(r"%(e([abcd]x|[sd]i|[sb]p)|r\d+d)\b"),
    2: re.compile(r"%([abcd]x|[sd]i|[sb]p|r\d+w)\b"),
    1: re.compile(r"%([abcd][lh]|[sd]il|[sb]pl|r\d+b)\b"),
}
_HOOK = re.compile(r"^\s*call\s+__tsan_(?:unaligned_)?(?:volatile_)?(read|write)(1|2|4|8|16|_range)\b")
_ADDRESSES = re.compile(r"^\s*(\.loc\b|#|lea\w*\s|clt\w|(mov|add|sal|shl|imul|sub|neg)\w*\s[^#]*,\s*%\w+\s*$)")
"""What works out an address: nothing that is stored anywhere."""
_SUFFIXES = {"b": 1, "w": 2, "l": 4, "q": 8}
_KEPT = ("rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11")


class Filtered(NamedTuple):
    text: str
    unseen: list[str]
    """Instructions on memory that no hook sees, each as ``line: instruction``."""


def make_visible(text: str) -> Filtered:
    lines: list[str] = []
    unseen: list[str] = []
    inside = False
    locked = False
    source_line = "?"
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith("#APP"):
            inside, locked = True, False
        elif bare.startswith("#NO_APP"):
            inside = False
        elif bare.startswith((".loc\t", ".loc ")):
            source_line = bare.split()[2]
        elif bare in ("mfence", "sfence"):
            lines += _call(f"teetotal_{bare}", [])
            continue
        elif inside and bare and not bare.startswith(("#", ".")):
            for instruction in _instructions(bare):
                if instruction == "lock":
                    locked = True
                    continue
                prefixed, locked = locked, False
                lines += _visible(instruction, prefixed, source_line, unseen)
            continue
        lines.append(line)
    return Filtered("\n".join(pair_copies(lines)) + "\n", unseen)


def pair_copies(lines: list[str]) -> list[str]:
    """gcc's assignment of a struct: the hook of a store, that of a load of the same size, and only then the copy. Both
    get names of their own (``teetotal_copy_to``, ``teetotal_copy_from``), so that they are not taken for two accesses."""
    result: list[str] = []
    store: tuple[int, str] | None = None  # a hook of a store that nothing has followed but addresses
    for line in lines:
        hook = _HOOK.search(line)
        if hook is not None and hook.group(1) == "read" and store is not None and store[1] == hook.group(2):
            position, size = store
            result[position] = _copy_hook("to", size)
            line = _copy_hook("from", size)
        if hook is not None:
            store = (len(result), hook.group(2)) if hook.group(1) == "write" else None
        elif store is not None and not _ADDRESSES.match(line):
            store = None
        result.append(line)
    return result


def _copy_hook(side: str, size: str) -> str:
    given = "" if size == "_range" else f"\tmovl ${size}, %esi\n"
    return f"{given}\tcall\tteetotal_copy_{side}@PLT"


def _instructions(line: str) -> Iterator[str]:
    """The instructions of a line; ``lock`` is one by itself."""
    for part in re.split(r"[;\n]", line.split("#")[0]):
        part = part.strip()
        if re.match(r"lock\s", part):
            yield "lock"
            part = part[4:].strip()
        if part:
            yield part


def _visible(instruction: str, locked: bool, line: str, unseen: list[str]) -> list[str]:
    if instruction in ("mfence", "sfence"):
        return _call(f"teetotal_{instruction}", [])
    whole = f"lock {instruction}" if locked else instruction
    memory = re.search(r"[^\s,]*\([^)]*\)", instruction)
    match = _LOCKED.match(instruction)
    if memory is None or _HARMLESS.match(instruction) or instruction.endswith(":"):
        return [f"\t{whole}"]
    operation = match.group(1) if match is not None else ""
    if match is None or not (locked or operation == "xchg"):
        unseen.append(f"{line}: {instruction}")
        return [f"\t{whole}"]
    if "%rsp" in memory.group():  # a locked instruction on one's own stack is the old way to write a fence
        return [*_call("teetotal_mfence", []), f"\t{whole}"]
    size = _SUFFIXES.get(match.group(2)) or _register_size(instruction.replace(memory.group(), ""))
    if size is None:
        unseen.append(f"{line}: {instruction}")
        return [f"\t{whole}"]
    conditional = int(operation == "cmpxchg")
    prepare = [
        f"\tleaq {memory.group()}, %rdi",
        "\tmovq %rax, %rcx",
        f"\tmovl ${size}, %esi",
        f"\tmovl ${conditional}, %edx",
    ]
    return [*_call("teetotal_locked", prepare), f"\t{whole}"]


def _register_size(operands: str) -> int | None:
    return next((size for size, register in _REGISTER_SIZES.items() if register.search(operands)), None)


def _call(function: str, prepare: list[str]) -> list[str]:
    """A call that changes nothing: below the red zone, on an aligned stack, with all registers and flags kept."""
    return [
        "\tleaq -128(%rsp), %rsp",
        "\tpushfq",
        *(f"\tpushq %{register}" for register in _KEPT),
        *prepare,
        "\tpushq %rbx",
        "\tmovq %rsp, %rbx",
        "\tandq $-16, %rsp",
        f"\tcall {function}@PLT",
        "\tmovq %rbx, %rsp",
        "\tpopq %rbx",
        *(f"\tpopq %{register}" for register in reversed(_KEPT)),
        "\tpopfq",
        "\tleaq 128(%rsp), %rsp",
    ]
