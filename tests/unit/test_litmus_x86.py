"""Each x86 instruction by itself: what it leaves behind, and what others may see of it."""

from __future__ import annotations

import pytest

from litmus_tools import finals, outcomes, x86
from teetotal.answers.events import Kind
from teetotal.programs import litmus
from teetotal.programs.observation import observation
from teetotal.programs.program import Fence, Load, Rmw, Store

ALONE = [
    # (code, initial state, what is asked, the only final state)
    ("movq $7,%rax", "", "0:rax", "0:rax=7"),
    ("movq $0x10,%rax", "", "0:rax", "0:rax=16"),
    ("movq $-1,%rax", "", "0:rax", "0:rax=-1"),
    ("movl $-1,%eax", "", "0:rax", "0:rax=4294967295"),
    ("mov %rbx,%rax", "0:rbx=9", "0:rax", "0:rax=9"),
    ("movl %ebx,%eax", "0:rax=-1; 0:rbx=-2", "0:rax", "0:rax=4294967294"),
    ("movq $5,(x)", "", "x", "x=5"),
    ("movq $5,[x]", "", "x", "x=5"),
    ("movq $5,(%rax)", "0:rax=x", "x", "x=5"),
    ("movq (%rax),%rbx", "x=3; 0:rax=x", "0:rbx", "0:rbx=3"),
    ("movq (p),%rax\nmovq $4,(%rax)", "uint64_t* p = x", "x", "x=4"),
    ("movq $x,%rax\nmovq $4,(%rax)", "", "x", "x=4"),
    ("addq $2,%rax", "0:rax=40", "0:rax", "0:rax=42"),
    ("addl $1,%eax", "0:rax=-1", "0:rax", "0:rax=0"),
    ("addq %rbx,%rax", "0:rax=0x7fffffffffffffff; 0:rbx=1", "0:rax", "0:rax=-9223372036854775808"),
    ("subq $2,%rax", "0:rax=1", "0:rax", "0:rax=-1"),
    ("subl $2,%eax", "0:rax=1", "0:rax", "0:rax=4294967295"),
    ("incq %rax\nincq %rax", "", "0:rax", "0:rax=2"),
    ("decq %rax", "", "0:rax", "0:rax=-1"),
    ("andq $6,%rax", "0:rax=3", "0:rax", "0:rax=2"),
    ("orq $6,%rax", "0:rax=3", "0:rax", "0:rax=7"),
    ("xorq %rax,%rax", "0:rax=3", "0:rax", "0:rax=0"),
    ("notq %rax", "0:rax=3", "0:rax", "0:rax=-4"),
    ("notl %eax", "0:rax=3", "0:rax", "0:rax=4294967292"),
    ("negq %rax", "0:rax=3", "0:rax", "0:rax=-3"),
    ("negl %eax", "0:rax=3", "0:rax", "0:rax=4294967293"),
    ("addq (x),%rax", "x=3; 0:rax=4", "0:rax", "0:rax=7"),
    ("addq %rax,(x)", "x=3; 0:rax=4", "x", "x=7"),
    ("incq (x)", "x=3", "x", "x=4"),
    ("inc (x)", "x=3", "x", "x=4"),
    ("xchgq %rax,%rbx", "0:rax=1; 0:rbx=2", "0:rax; 0:rbx", "0:rax=2; 0:rbx=1"),
    ("xchgq %rax,(x)", "x=3; 0:rax=1", "0:rax; x", "0:rax=3; x=1"),
    ("xchgq (x),%rax", "x=3; 0:rax=1", "0:rax; x", "0:rax=3; x=1"),
    ("lock addq $2,(x)", "x=3", "x", "x=5"),
    ("lock subq $2,(x)", "x=3", "x", "x=1"),
    ("lock incq (x)", "x=3", "x", "x=4"),
    ("LOCK DECQ (x)", "x=3", "x", "x=2"),
    ("lock andq $2,(x)", "x=3", "x", "x=2"),
    ("lock orq $4,(x)", "x=3", "x", "x=7"),
    ("lock xorq $1,(x)", "x=3", "x", "x=2"),
    ("lock notq (x)", "x=3", "x", "x=-4"),
    ("lock negq (x)", "x=3", "x", "x=-3"),
    ("lock negl (x)", "int x=3", "x", "x=4294967293"),
    ("lock xaddq %rax,(x)", "x=3; 0:rax=4", "0:rax; x", "0:rax=3; x=7"),
    ("xaddq %rax,(x)", "x=3; 0:rax=4", "0:rax; x", "0:rax=3; x=7"),
    ("xaddq %rax,%rbx", "0:rax=3; 0:rbx=4", "0:rax; 0:rbx", "0:rax=4; 0:rbx=7"),
    ("xaddq %rax,%rax", "0:rax=3", "0:rax", "0:rax=6"),
    ("lock cmpxchgq %rbx,(x)", "x=3; 0:rax=3; 0:rbx=9", "0:rax; x", "0:rax=3; x=9"),
    ("lock cmpxchgq %rbx,(x)", "x=4; 0:rax=3; 0:rbx=9", "0:rax; x", "0:rax=4; x=4"),
    ("lock cmpxchgq (x),%rbx", "x=3; 0:rax=3; 0:rbx=9", "0:rax; x", "0:rax=3; x=9"),
    # equal in 32 bits: not even the upper half of rax changes; unequal: it is cleared
    ("lock cmpxchgl %ebx,(x)", "x=3; 0:rax=0xffffffff00000003; 0:rbx=9", "0:rax; x", "0:rax=-4294967293; x=9"),
    ("lock cmpxchgl %ebx,(x)", "x=4; 0:rax=0xffffffff00000003; 0:rbx=9", "0:rax; x", "0:rax=4; x=4"),
    ("movl %eax,(x)", "0:rax=-1", "x", "x=4294967295"),
    ("xchgl %eax,(x)", "int x=3; 0:rax=-1", "0:rax; x", "0:rax=3; x=4294967295"),
    ("lock xaddl %eax,(x)", "int x=3; 0:rax=-1", "0:rax; x", "0:rax=3; x=2"),
    ("nop\npause\nlfence\nmovq $1,(x)\nendbr64", "", "x", "x=1"),
    ("movq $1,(x)\nret\nmovq $2,(x)", "", "x", "x=1"),
    ("jmp L\nmovq $1,(x)\nL:\nmovq $1,(y)", "", "x; y", "x=0; y=1"),
    ("jmp L\nmovq $1,(x)\nL: M: movq $1,(y)", "", "x; y", "x=0; y=1"),
    ("L: incq %rax\ncmpq $3,%rax\njne L", "", "0:rax", "0:rax=3"),
    ("movq $3,%rax\nL: incq (x)\ndecq %rax\njnz L", "", "x", "x=3"),
]


@pytest.mark.parametrize(("code", "init", "asked", "final"), ALONE)
def test_what_an_instruction_leaves(code: str, init: str, asked: str, final: str) -> None:
    program = x86(code, f"locations [{asked};]", init)
    for model in ("sc", "tso", "pso"):
        assert finals(program, model) == {final}


INTEGERS = [0, 1, -1, 2, 7, (1 << 31) - 1, -(1 << 31), (1 << 63) - 1, -(1 << 63)]


def unsigned(value: int, width: int) -> int:
    return value % (1 << width)


def signed(value: int, width: int) -> int:
    value = unsigned(value, width)
    return value - (1 << width) if value >> (width - 1) else value


def machine_flags(operation: str, a: int, b: int, width: int) -> dict[str, bool]:
    """ZF, SF, OF, CF as the manual defines them."""
    exact, exact_unsigned = {
        "cmp": (signed(a, width) - signed(b, width), unsigned(a, width) - unsigned(b, width)),
        "sub": (signed(a, width) - signed(b, width), unsigned(a, width) - unsigned(b, width)),
        "neg": (-signed(a, width), -unsigned(a, width)),
        "xor": (signed(a ^ b, width), unsigned(a ^ b, width)),
        "add": (signed(a, width) + signed(b, width), unsigned(a, width) + unsigned(b, width)),
        "test": (signed(a & b, width), unsigned(a & b, width)),
    }[operation]
    result = unsigned(exact, width)
    return {
        "z": result == 0,
        "s": bool(result >> (width - 1)),
        "o": signed(result, width) != exact,
        "c": unsigned(exact_unsigned, width) != exact_unsigned,
    }


JUMPS = {
    "je": lambda f: f["z"],
    "jne": lambda f: not f["z"],
    "jl": lambda f: f["s"] != f["o"],
    "jge": lambda f: f["s"] == f["o"],
    "jle": lambda f: f["z"] or f["s"] != f["o"],
    "jg": lambda f: not f["z"] and f["s"] == f["o"],
    "jb": lambda f: f["c"],
    "jae": lambda f: not f["c"],
    "jbe": lambda f: f["c"] or f["z"],
    "ja": lambda f: not (f["c"] or f["z"]),
    "js": lambda f: f["s"],
    "jns": lambda f: not f["s"],
    "jo": lambda f: f["o"],
    "jno": lambda f: not f["o"],
}


@pytest.mark.parametrize("jump", JUMPS)
@pytest.mark.parametrize("operation", ["cmp", "sub", "neg", "add", "test", "xor"])
@pytest.mark.parametrize("width", [32, 64])
def test_jumps_look_at_the_flags_that_the_machine_sets(jump: str, operation: str, width: int) -> None:
    suffix, a_register, b_register = ("q", "%rax", "%rbx") if width == 64 else ("l", "%eax", "%ebx")
    for a in INTEGERS:
        for b in INTEGERS:
            operands = a_register if operation == "neg" else f"{b_register},{a_register}"
            program = x86(
                f"{operation}{suffix} {operands}\n{jump} L\nmovq $1,%rcx\nL:",
                "locations [0:rcx;]",
                f"0:rax={a}; 0:rbx={b}",
            )
            taken = JUMPS[jump](machine_flags(operation, a, b, width))
            assert outcomes(program, "sc") == {(0 if taken else 1,)}, (a, b)


@pytest.mark.parametrize("jump", ["jl", "jb", "je", "js"])
def test_x86_of_32_bits_has_the_same_flags(jump: str) -> None:
    for a in INTEGERS[:7]:
        for b in INTEGERS[:7]:
            code = f"CMP EAX,EBX\n{jump.upper()} L\nMOV ECX,$1\nL:"
            program = x86(code, "locations [0:ECX;]", f"0:EAX={a}; 0:EBX={b}", "X86")
            assert outcomes(program, "sc") == {(0 if JUMPS[jump](machine_flags("cmp", a, b, 32)) else 1,)}, (a, b)


def test_inc_and_dec_leave_the_carry_alone() -> None:
    """Whatever they would have made of it: 0 - 1 borrows, 1 - 1 does not; -1 + 1 carries, 0 + 1 does not."""
    for carry, rax in ((1, 0), (0, 1)):  # of a comparison with 1
        for rbx in (-1, 0, 1):
            for instruction in ("incq %rbx", "decq %rbx"):
                code = f"cmpq $1,%rax\n{instruction}\njb L\nmovq $1,%rcx\nL:"
                program = x86(code, "locations [0:rcx;]", f"0:rax={rax}; 0:rbx={rbx}")
                assert finals(program) == {f"0:rcx={1 - carry}"}, (carry, rbx, instruction)


@pytest.mark.parametrize(("operation", "value"), [("inc", -1), ("dec", 0)])
def test_each_of_them_leaves_it_alone(operation: str, value: int) -> None:
    """Where adding or subtracting 1 would have set the carry, and where it would have cleared it."""
    for before, taken in (("cmpq $1,%rax", True), ("cmpq $0,%rax", False)):
        code = f"{before}\nmovq ${value if not taken else 5},%rbx\n{operation}q %rbx\njb L\nmovq $1,%rcx\nL:"
        assert finals(x86(code, "locations [0:rcx;]")) == {f"0:rcx={int(not taken)}"}


def test_logic_clears_the_carry() -> None:
    for operation in ("and", "or", "xor", "test"):
        code = f"cmpq $1,%rax\n{operation}q %rbx,%rbx\njb L\nmovq $1,%rcx\nL:"
        assert finals(x86(code, "locations [0:rcx;]")) == {"0:rcx=1"}


def test_cmpxchg_compares_the_accumulator_with_the_location() -> None:
    """rax = 1 is below x = 2, not above."""
    program = x86("lock cmpxchgq %rbx,(x)\njb L\nmovq $1,%rcx\nL:", "locations [0:rcx;]", "x=2; 0:rax=1")
    assert finals(program) == {"0:rcx=0"}


def test_locked_operations_set_flags() -> None:
    code = "lock {}\njz L\nmovq $1,%rcx\nL:"
    cases = [("decq (x)", 0), ("incq (x)", 1), ("subq $1,(x)", 0), ("xaddq %rbx,(x)", 1), ("cmpxchgq %rbx,(x)", 1)]
    for instruction, missed in cases:
        assert finals(x86(code.format(instruction), "locations [0:rcx;]", "x=1")) == {f"0:rcx={missed}"}, instruction
    program = x86("lock cmpxchgq %rbx,(x)\njz L\nmovq $1,%rcx\nL:", "locations [0:rax; 0:rcx; x;]", "0:rbx=5")
    assert finals(program) == {"0:rax=0; 0:rcx=0; x=5"}


SB = """
movq $1,(x)   | movq $1,(y)
{0}           | {0}
movq (y),%rax | movq (x),%rax
"""


@pytest.mark.parametrize(
    ("between", "tso"),
    [("nop", 4), ("lfence", 4), ("sfence", 4), ("mfence", 3), ("lock incq (z)", 3), ("xchgq %rcx,(z)", 3)],
)
def test_store_buffering(between: str, tso: int) -> None:
    program = x86(SB.format(between), "exists (0:rax=0 /\\ 1:rax=0)", "uint64_t x; uint64_t y; uint64_t 0:rax;")
    assert len(outcomes(program, "sc")) == 3
    assert observation(program, outcomes(program, "sc")) == ("Never", 0, 3)
    assert len(outcomes(program, "tso")) == tso
    assert observation(program, outcomes(program, "tso"))[0] == ("Sometimes" if tso == 4 else "Never")


@pytest.mark.parametrize(("between", "pso"), [("nop", 4), ("sfence", 3), ("mfence", 3)])
def test_message_passing(between: str, pso: int) -> None:
    code = f"movq $1,(x) | movq (y),%rax\n{between} | \nmovq $1,(y) | movq (x),%rbx"
    program = x86(code, "exists (1:rax=1 /\\ 1:rbx=0)")
    assert [len(outcomes(program, model)) for model in ("sc", "tso", "pso")] == [3, 3, pso]


def test_an_unlocked_increment_is_two_accesses() -> None:
    two = "incq (x) | incq (x)"
    assert finals(x86(two, "locations [x;]")) == {"x=1", "x=2"}
    assert finals(x86(two.replace("incq", "lock incq"), "locations [x;]"), "tso") == {"x=2"}


def test_what_instructions_become() -> None:
    program = x86("movq $1,(x)\nmovq (y),%rax\nmfence\nsfence\nxchgq %rax,(x)", "locations [x;]")
    store, load, mfence, sfence, xchg = program.threads[0].code
    assert isinstance(store, Store)
    assert isinstance(load, Load)
    assert isinstance(xchg, Rmw)
    assert isinstance(mfence, Fence)
    assert mfence.kind is Kind.MFENCE
    assert isinstance(sfence, Fence)
    assert sfence.kind is Kind.SFENCE
    assert str(load.location) == "test.litmus:5"
    assert list(program.memory) == ["x", "y"]


def test_the_old_format_writes_the_destination_first() -> None:
    code = "MOV [x],$1 | MOV [y],1\nMOV EAX,[y] | mov eax,[x]"
    program = x86(code, "exists (0:EAX=0 /\\ 1:eax=0)", "x=0; y=0;", "X86")
    assert [str(what) for what in program.observed] == ["0:EAX", "1:EAX"]
    assert finals(program, "tso") - finals(program, "sc") == {"0:EAX=0; 1:EAX=0"}
    assert finals(x86("MOV EAX,$-1\nADD EAX,$-1", "exists 0:EAX=-2", "", "X86")) == {"0:EAX=-2"}
    program = x86("MOV EAX,$0x7fffffff\nINC EAX", "exists 0:EAX=0x80000000", "", "X86")
    assert observation(program, outcomes(program, "sc"))[0] == "Always"


def test_one_register_has_two_names() -> None:
    program = x86("movq $-1,%rax\nmovl $5,%ebx", "forall (0:eax=-1 /\\ 0:rax=-1 /\\ 0:ebx=5 /\\ 0:rbx=5)")
    assert [str(what) for what in program.observed] == ["0:rax", "0:rbx"]
    assert observation(program, outcomes(program, "sc")) == ("Always", 1, 0)
    assert observation(x86("movl $-1,%eax", "forall 0:rax=-1"), {(0xFFFFFFFF,)})[0] == "Never"
    assert observation(x86("movl $-1,%eax", "forall 0:eax=-1"), {(0xFFFFFFFF,)})[0] == "Always"


def test_a_location_of_32_bits() -> None:
    program = x86("movl $-1,(x)\nmovl (x),%eax", "forall (x=-1 /\\ 0:rax=0xffffffff)", "int x")
    assert observation(program, outcomes(program, "sc")) == ("Always", 1, 0)
    # without register and suffix, the location's width decides
    program = x86("mov $-1,(x)", "forall x=-1", "int x")
    assert finals(program) == {"x=4294967295"}
    assert observation(program, outcomes(program, "sc")) == ("Always", 1, 0)


def test_a_register_that_nobody_writes_is_zero() -> None:
    assert finals(x86("movq %r9,(x)", "locations [0:r15; x;]")) == {"0:r15=0; x=0"}


def test_columns_in_any_order() -> None:
    text = "X86_64 t\n{}\n P1 | P0 ;\n movq $1,(x) | movq (x),%rax ;\nexists 0:rax=1\n"
    program = litmus.read(text, "t")
    assert [thread.name for thread in program.threads] == ["P0", "P1"]
    assert finals(program) == {"0:rax=0", "0:rax=1"}


def test_an_address_can_be_read_and_compared() -> None:
    program = x86("movq (p),%rax", "exists (0:rax=x /\\ p=x /\\ 0:rax=[p])", "uint64_t* p = &x;")
    assert observation(program, outcomes(program, "sc"))[0] == "Always"
