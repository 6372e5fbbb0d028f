"""What an instruction does to memory, read from its bytes: every syntax, prefix and implicit operand comes out alike.

Capstone decodes; which way a memory operand goes is decided here, since its own word on that is wrong for streaming
stores, x87 control words and others. An instruction that is in none of the lists below is not guessed at: it is an
``oddity``, and is told by name. Decoding is remembered by bytes, since code without optimisation says the same few
thousand instructions again and again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, NamedTuple

import capstone
from capstone import x86

Direction = Literal["r", "w", "rw"]

REGISTERS = (
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
)  # fmt: skip
"""In the order in which runtime/thunk.hpp keeps them."""
RSP, RBP, RDI = REGISTERS.index("rsp"), REGISTERS.index("rbp"), REGISTERS.index("rdi")

_WRITES = re.compile(
    r"mov(abs|be|d|q|ss|sd|lps|hps|lpd|hpd|aps|ups|apd|upd|dqa|dqu|nti|ntq|ntps|ntpd|ntdq)?$|movs[bwdq]$|stos[bwdq]$"
    r"|set\w+$|vmov(d|q|w|ss|sd|sh|lps|hps|lpd|hpd|aps|ups|apd|upd|dqa(32|64)?|dqu(8|16|32|64)?|ntps|ntpd|ntdq)$"
    r"|fi?stp?$|fisttp$|fbstp$|fnst(cw|sw|env)$|fnsave$|v?stmxcsr$|v?pextr[bwdq]$|v?extractps$"
    r"|vextract[if]\d+(x\d+)?$|pop$|fxsave(64)?$|vcvtps2ph$"
)
_CHANGES = re.compile(r"(add|adc|sub|sbb|and|or|xor|inc|dec|neg|not|sh[lr]d?|sar|sal|ro[lr]|rc[lr]|bt[crs]|xadd)$")
_READS = re.compile(
    r"(cmp|test|push|call|jmp|bt|i?mul|i?div|fi?(ld|add|subr?|mul|divr?|comp?)|fbld|fld(cw|env)|frstor|v?ldmxcsr|"
    r"fxrstor(64)?|lods[bwdq]|scas[bwdq])$"
)
"""Where memory is the only operand, or the first; as a later one it is always read."""
_TOUCHES_NOT = re.compile(r"(lea|nop|endbr\w*|prefetch\w*|clflush(opt)?|clwb|cldemote)$")
_NOT_DETERMINED = ("rdtsc", "rdtscp", "rdrand", "rdseed", "cpuid", "rdpmc", "rdpid")
_ODD = re.compile(
    r"v?p?maskmov\w*$|v?p?gather\w*$|vp?scatter\w*$|vp?(compress|expand)\w*$|xsave\w*$|xrstor\w*$|cmps[bwq]$|xlatb$|"
    r"movdir\w*$|enqcmd\w*$|clzero$|x(begin|end|abort|test)$|ptwrite$|inv\w+$|(lgs|lfs|lss|lcall|ljmp)$|"
    r"(wrfsbase|wrgsbase|swapgs)$|(in|out|ins[bwd]|outs[bwd])$|int\d?$|into$|sys(call|enter|exit|ret)\w*$|"
    r"(monitor|mwait)\w*$|iret\w*$"
)
_FRACTIONS = re.compile(r"v?ldmxcsr$|fldenv$|frstor$|fxrstor(64)?$")
"""Threads are fibers, which share one floating-point environment."""
_FRACTIONS_BY_HAND = re.compile(r"fldcw$|fn?init$")
"""The same, where it is not a compiler's: ``fldcw`` is in each conversion of a long double, and back again."""
_SIZES = {"fxsave": 512, "fxsave64": 512, "fxrstor": 512, "fxrstor64": 512, "fnsave": 108, "frstor": 108,
          "fldenv": 28, "fnstenv": 28}  # fmt: skip
_PREFIXES = frozenset([0xF0, 0xF2, 0xF3, 0x2E, 0x36, 0x3E, 0x26, 0x64, 0x65, 0x66, 0x67, *range(0x40, 0x50)])
STREAMING = "a streaming store, which is weaker than TSO: "


class Access(NamedTuple):
    """One memory operand. Registers are numbers in ``REGISTERS``, -1 where there is none."""

    direction: Direction
    size: int
    base: int
    scaled: int
    scale: int
    displacement: int
    segment: str = ""
    relative: bool = False
    """Counted from the next instruction."""
    field: int = 0
    """Where in the bytes the displacement lies; 0: there is none."""
    bit: int = -1
    """A register that counts bits from the operand."""


class Instruction(NamedTuple):
    size: int
    text: str
    name: str
    accesses: tuple[Access, ...]
    oddity: str
    """Why it cannot be followed, if so."""
    locked: bool
    repeated: bool
    ends_block: bool
    is_call: bool
    branches: bool
    """To a place that is counted from here."""
    short: bool
    """A branch that reaches 127 bytes and no farther."""
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    width: int
    """Of the first operand, in bytes."""
    narrow: int
    """Of the last one."""
    address: Access | None
    """What ``lea`` works out."""
    operands: tuple[tuple[str, int], ...]
    """``("r", register)``, ``("i", value)``, ``("m", 0)``, ``("x", number)`` for vectors, and with -1 for the like."""


def is_prefix(code: bytes) -> bool:
    """Bytes that only begin an instruction: ``lock`` and the like on a line of their own."""
    return bool(code) and len(code) < 8 and all(byte in _PREFIXES for byte in code)


@cache
def decode(code: bytes) -> tuple[Instruction, ...] | None:
    """The instructions that make up exactly these bytes, or ``None``."""
    found = []
    for raw in _disassembler().disasm(code, 0):
        found.append(_instruction(raw))
    return tuple(found) if sum(one.size for one in found) == len(code) else None


def moves_stack(instruction: Instruction) -> bool:
    """Whether ``rsp`` may point elsewhere behind it, not only farther along: what is pushed there is no frame's own."""
    name, operands, address = instruction.name, instruction.operands, instruction.address
    if RSP not in instruction.writes or not operands:
        return False
    if operands[0] != ("r", RSP):  # push, pop, call and the like
        return name == "xchg"
    if name == "mov":
        return operands[1] != ("r", RBP)
    if name == "lea" and address is not None:
        return address.base not in (RSP, RBP) or address.scaled >= 0
    return name not in ("add", "sub", "and") or operands[-1][0] != "i" or (name == "and" and operands[-1][1] >= 0)


def odd_by_hand(instruction: Instruction) -> str:
    """Why what assembly written by hand does cannot be followed, if so."""
    if _FRACTIONS_BY_HAND.match(instruction.name):
        return f"{instruction.text}, which changes how fractions are computed,"
    return instruction.oddity


def stack_from_frame(instruction: Instruction) -> bool:
    """Whether ``rsp`` is behind it where ``rbp`` points to."""
    if instruction.name == "leave":
        return True
    if instruction.operands[:1] != (("r", RSP),):
        return False
    address = instruction.address
    return instruction.operands[1:] == (("r", RBP),) or (address is not None and address.base == RBP)


def sets_frame(instruction: Instruction) -> bool:
    return instruction.name == "mov" and instruction.operands == (("r", RBP), ("r", RSP))


def takes_frame_pointer(instruction: Instruction) -> bool:
    """Whether ``rbp`` is a register like the others behind it. What ``pop`` and ``leave`` bring back is a frame's, in
    a compiler's code."""
    return RBP in instruction.writes and instruction.name not in ("pop", "leave") and not sets_frame(instruction)


def sweep(code: bytes, at: int) -> Iterator[tuple[int, Instruction]]:
    """Instruction by instruction, as far as they can be decoded; targets of branches are counted as ``at`` is."""
    for raw in _disassembler().disasm(code, at):
        yield raw.address, _instruction(raw)


@cache
def _disassembler() -> Any:
    machine = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    machine.detail = True
    return machine


@cache
def _register(number: int) -> int:
    """Which general register a name is part of; 16: flags; -1: none of these."""
    name = _disassembler().reg_name(number) or ""
    if name == "rflags":
        return 16
    short = re.fullmatch(r"[re]?([abcd])[xlh]|[re]?(si|di|sp|bp)l?|(r\d+)[bwd]?", name)
    if short is None:
        return -1
    if short.group(3):
        return REGISTERS.index(short.group(3))
    return REGISTERS.index(f"r{short.group(1)}x" if short.group(1) else f"r{short.group(2)}")


@cache
def _vector(number: int) -> int:
    """Which vector register a name is, or a part of; -1: none."""
    found = re.fullmatch(r"[xyz]mm(\d+)", _disassembler().reg_name(number) or "")
    return int(found.group(1)) if found is not None else -1


def _instruction(raw: Any) -> Instruction:
    name = raw.mnemonic.split()[-1]
    groups = frozenset(raw.groups)
    reads, writes = raw.regs_access()
    operands: list[tuple[str, int]] = []
    for operand in raw.operands:
        if operand.type == x86.X86_OP_REG:
            register = _register(operand.reg)
            operands.append(("r", register) if 0 <= register < 16 else ("x", _vector(operand.reg)))
        else:
            operands.append(("i", operand.imm) if operand.type == x86.X86_OP_IMM else ("m", 0))
    locked = raw.prefix[0] == x86.X86_PREFIX_LOCK
    text = f"{raw.mnemonic} {raw.op_str}".strip()
    accesses, oddity = _accesses(raw, name)
    if accesses and name == "xchg":
        locked = True
    is_call = x86.X86_GRP_CALL in groups
    return Instruction(
        size=raw.size,
        text=text,
        name=name,
        accesses=accesses,
        oddity=oddity,
        locked=locked,
        repeated=raw.mnemonic.startswith("rep") and bool(accesses),
        ends_block=x86.X86_GRP_JUMP in groups or x86.X86_GRP_RET in groups or name in ("hlt", "ud2", "loop"),
        is_call=is_call,
        branches=(is_call or x86.X86_GRP_JUMP in groups) and operands[0][0] == "i",
        short=name.startswith("loop") or name in ("jrcxz", "jecxz"),
        reads=tuple({_register(one) for one in reads} - {-1}),
        writes=tuple({_register(one) for one in writes} - {-1}),
        width=raw.operands[0].size if raw.operands else 0,
        narrow=raw.operands[-1].size if raw.operands else 4,
        address=_operand(raw, raw.operands[1], "r")._replace(size=0) if name == "lea" else None,
        operands=tuple(operands),
    )


def _accesses(raw: Any, name: str) -> tuple[tuple[Access, ...], str]:
    text = f"{raw.mnemonic} {raw.op_str}".strip()
    memory = [(number, one) for number, one in enumerate(raw.operands) if one.type == x86.X86_OP_MEM]
    if name in _NOT_DETERMINED:
        return (), f"{text}, which is not the same in each execution,"
    if _ODD.match(name) or (name == "cmpsd" and len(memory) == 2) or (name == "enter" and raw.operands[1].imm):
        return (), text
    if _TOUCHES_NOT.match(name) or not memory:
        return (), ""
    masked = any(
        one.type == x86.X86_OP_REG and (_disassembler().reg_name(one.reg) or "")[:1] == "k" for one in raw.operands
    )
    if masked or raw.addr_size != 8 or (raw.mnemonic.startswith("rep") and name.startswith("scas")):
        return (), text
    found = []
    oddity = ""
    for number, operand in memory:
        direction = _direction(name, number)
        where = operand.mem
        vector = where.index not in (0, x86.X86_REG_RIZ) and _register(where.index) < 0
        if direction is None or vector:
            return (), text
        if where.segment == x86.X86_REG_GS:
            return (), f"{text}, which goes through gs,"
        found.append(_operand(raw, operand, direction))
        if direction == "w" and re.match(r"v?movnt", name):
            oddity = STREAMING + text
        if _FRACTIONS.match(name):
            oddity = f"{text}, which changes how fractions are computed,"
    if len(found) == 2 and [one.direction for one in found] != ["w", "r"]:
        return (), text
    return tuple(found), oddity


def _operand(raw: Any, operand: Any, direction: Direction) -> Access:
    where = operand.mem
    name = raw.mnemonic.split()[-1]
    counted = name in ("bt", "btc", "btr", "bts") and raw.operands[1].type == x86.X86_OP_REG
    return Access(
        direction=direction,
        size=_SIZES.get(name, operand.size),
        base=_register(where.base) if where.base not in (0, x86.X86_REG_RIP) else -1,
        scaled=_register(where.index) if where.index else -1,
        scale=where.scale,
        displacement=where.disp,
        segment="fs" if where.segment == x86.X86_REG_FS else "",
        relative=where.base == x86.X86_REG_RIP,
        field=raw.disp_offset,
        bit=_register(raw.operands[1].reg) if counted else -1,
    )


def _direction(name: str, position: int) -> Direction | None:
    if position > 0:
        return "r"
    if name in ("xchg", "xadd", "cmpxchg", "cmpxchg8b", "cmpxchg16b") or _CHANGES.match(name):
        return "rw"
    if _WRITES.match(name):
        return "w"
    return "r" if _READS.match(name) else None
