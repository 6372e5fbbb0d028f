"""What is read out of assembly: which accesses a compiler has announced, and what an instruction touches."""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from teetotal.programs.c.assembly import Text
from teetotal.programs.c.audit import unseen_in
from teetotal.programs.c.instrument import make_visible
from teetotal.programs.c.machine import decode
from teetotal.programs.c.matching import Evaluation
from teetotal.programs.c.objects import Object


def assembled(text: str) -> bytes:
    with TemporaryDirectory() as directory:
        file = Path(directory) / "f.s"
        file.write_text(text)
        subprocess.run(["gcc", "-c", str(file), "-o", f"{file}.o"], check=True)
        return Path(f"{file}.o").read_bytes()


def decided(text: str, by: str = "GCC: 12") -> tuple[list[str], list[str], int]:
    """Of one function in assembly: what gets hooks of ours, which of the compiler's go, how many announce copies."""
    lines = Text(f'\t.text\nf:\n\tpushq %rbp\n\tmovq %rsp, %rbp\n{text}\n\tleave\n\tret\n\t.ident "{by}"\n')
    lines.attach(Object(assembled(lines.labelled)))
    (function,) = lines.functions()
    decision = Evaluation(function).decide()
    ours, gone = ([item.statement.text for item in items] for items in (decision.hooks, decision.dropped))
    return ours, gone, len(decision.copies)


READ, WRITE = "call __tsan_read8@PLT", "call __tsan_write8@PLT"
LOOKUP = "movl (%rdx,%rax,4), %eax"
GLOBAL = "movq x@GOTPCREL(%rip), %rax"


@pytest.mark.parametrize(
    ("text", "ours", "gone"),
    [
        (f"{GLOBAL}; movq %rax, %rdi; {READ}; {GLOBAL}; movq (%rax), %rbx", [], []),
        (f"{GLOBAL}; movq %rax, %rdi; {READ}; {GLOBAL}; movq 8(%rax), %rbx", ["movq 8(%rax), %rbx"], [READ]),
        (f"{GLOBAL}; movq %rax, %rdi; {READ}; {GLOBAL}; movl 4(%rax), %ebx", [], []),
        (f"{GLOBAL}; movq %rax, %rdi; {READ}; {GLOBAL}; movq %rbx, (%rax)", ["movq %rbx, (%rax)"], []),
        # an array, indexed anew
        (
            f"movl -20(%rbp), %eax; cltq; leaq 0(,%rax,8), %rdx; {GLOBAL}; addq %rdx, %rax; movq %rax, %rdi; {READ};"
            f"{GLOBAL}; movslq -20(%rbp), %rdx; movq (%rax,%rdx,8), %rbx",
            [],
            [],
        ),
        (
            f"movslq -20(%rbp), %rdx; leaq (%rbx,%rdx,8), %rdi; {READ}; addl $1, -20(%rbp); movslq -20(%rbp), %rdx;"
            "movq (%rbx,%rdx,8), %rbx",
            ["movq (%rbx,%rdx,8), %rbx"],
            [READ],
        ),
        # an address that was spilled, and one that somebody else may have changed meanwhile
        (f"movq %rsi, %rdi; movq %rdi, -16(%rbp); {READ}; movq -16(%rbp), %rax; movq (%rax), %rax", [], []),
        (
            f"movq %rsi, %rdi; movq %rdi, -16(%rbp); leaq -16(%rbp), %rcx; {READ}; movq -16(%rbp), %rax; movq (%rax), %rax",
            ["movq %rdi, -16(%rbp)", "movq -16(%rbp), %rax", "movq (%rax), %rax"],
            [READ],
        ),
        # a place where threads switch lies between
        (
            f"movq %rbx, %rdi; {READ}; movq (%r12), %rax; movq (%rbx), %rcx",
            ["movq (%r12), %rax", "movq (%rbx), %rcx"],
            [READ],
        ),
        (f"movq %rbx, %rdi; {READ}; call g; movq (%rbx), %rcx", ["movq (%rbx), %rcx"], [READ]),
        # another block
        (f"movq %rbx, %rdi; {READ}; 1: movq (%rbx), %rcx; jne 1b", ["movq (%rbx), %rcx"], []),
        (f"movq %rbx, %rdi; {READ}; .L1: movq (%rbx), %rcx; jne .L1", ["movq (%rbx), %rcx"], []),
        (f"movq %rbx, %rdi; {READ}; .L1: movq (%rbx), %rcx", [], []),
        (
            f"movq %rbx, %rdi; {READ}; .pushsection .data; .long 1; .popsection; movq %rcx, (%rbx)",
            ["movq %rcx, (%rbx)"],
            [],
        ),
        (f"movq %rsi, %rdi; {READ}; movq (%rdi), %rcx", ["movq (%rdi), %rcx"], [READ]),
        (f"movq %rbx, %rdi; {READ}; movdqu (%rbx), %xmm0", ["movdqu (%rbx), %xmm0"], [READ]),
        # frames
        ("movq %rax, -8(%rbp); movq -8(%rbp), %rcx", [], []),
        ("movq %rax, -8(%rbp); leaq -8(%rbp), %rdi; call g", ["movq %rax, -8(%rbp)"], []),
        ("movq %rdi, %rbp; movq (%rbp), %rax", ["movq (%rbp), %rax"], []),
        (f"leaq -16(%rbp), %rdi; {WRITE}; movq %rax, -16(%rbp); movq %rax, -8(%rbp)", [], []),
        (
            f"leaq -16(%rbp), %rdi; {WRITE}; movq %rax, -16(%rbp); #APP; movq %rax, -8(%rbp); #NO_APP",
            ["movq %rax, -8(%rbp)"],
            [],
        ),
        # what nobody can write
        (f"leaq .Lt(%rip), %rdx; {LOOKUP}; .section .rodata; .Lt: .long 0; .text", [], []),
        (f"leaq .Lt(%rip), %rdx; {LOOKUP}; .data; .Lt: .long 0; .text", [LOOKUP], []),
        ("movq %fs:40, %rax", [], []),
    ],
)  # fmt: skip
def test_what_a_compiler_has_announced(text: str, ours: list[str], gone: list[str]) -> None:
    assert decided("\n".join(text.split(";"))) == (ours, gone, 0)


@pytest.mark.parametrize("by", ["clang version 14", ""])
def test_what_clang_says_of_an_address_is_not_of_the_variable(by: str) -> None:
    """A slot beside one that is known elsewhere may be a part of the same variable, unless a register is put by; where
    nobody says who compiled it, too. Arguments in memory lie apart."""
    begins, beside = f"leaq -16(%rbp), %rdi\n{WRITE}\nmovq %rax, -16(%rbp)", "movq %rax, -8(%rbp)"
    assert decided(f"{begins}\n{beside}", by)[0] == [beside]
    assert decided(f"{begins}\nmovq %rax, -24(%rbp)", by)[0] == ["movq %rax, -24(%rbp)"]
    assert decided(f"{begins}\n{beside}   # 8-byte Spill", by)[0] == []
    assert decided(f"{begins}\nmovq %rax, 16(%rbp)", by)[0] == []


def test_what_is_a_copy_and_what_are_two_accesses() -> None:
    """gcc announces where an assignment of a struct writes, then where it reads, and then copies."""
    copy = "movq (%r12), %rax\nmovq %rax, (%rbx)"
    announced = [f"movq %rbx, %rdi\n{WRITE}", f"movq %r12, %rdi\n{READ}"]
    assert decided("\n".join([*announced, copy])) == ([], [], 1)
    for between in ("movq %rax, -8(%rbp)", "call g"):
        assert decided("\n".join([announced[0], between, announced[1], copy]))[2] == 0
    assert decided("\n".join([announced[1], announced[0], copy]))[2] == 0
    assert decided(f"movq %rbx, %rdi\n{WRITE}\nmovq %r12, %rdi\ncall __tsan_read4@PLT\n{copy}")[2] == 0


def test_a_hook_that_comes_too_early_goes() -> None:
    text = f"\t.text\nf:\n\tmovq %rbx, %rdi\n\t{READ}\n\tcall g\n\tmovq (%rbx), %rcx\n\tret\n"
    made = make_visible(text, assembled, "f.c").text
    assert [line.strip()[:1] for line in made.splitlines() if "__tsan" in line] == ["#"]
    assert made.count("call teetotal_access@PLT") == 1


@pytest.mark.parametrize(
    ("code", "touches"),
    [
        ("48 01 07", [("rw", 8)]),  # add %rax, (%rdi)
        ("48 87 07", [("rw", 8), "locked"]),  # xchg
        ("48 0f ab 07", [("rw", 8)]),  # bts
        ("0f ae 07", [("w", 512)]),  # fxsave
        ("9b d9 37", [("w", 28)]),  # fstenv
        ("0f ae 17", [("r", 4), "odd"]),  # ldmxcsr
        ("f3 48 a5", [("w", 8), ("r", 8)]),  # rep movsq
        ("62 f1 7e 48 7f 07", [("w", 64)]),  # vmovdqu32 %zmm0, (%rdi)
        ("62 f1 7e 49 7f 07", ["odd"]),  # and with a mask
        ("65 48 89 07", ["odd"]),  # through gs
        ("67 89 07", ["odd"]),  # an address of 32 bits
        ("0f e7 07", [("w", 8), "odd"]),  # movntq
        ("0f 0d 07", []),  # prefetch
    ],
)
def test_what_an_instruction_touches(code: str, touches: list[object]) -> None:
    found = decode(bytes.fromhex(code))
    assert found is not None
    instruction = found[-1]
    told: list[object] = [(access.direction, access.size) for access in instruction.accesses]
    told += [word for word, is_so in (("locked", instruction.locked), ("odd", instruction.oddity)) if is_so]
    assert told == touches


def test_foreign_objects_are_read_as_ours_are() -> None:
    """What cannot be followed, or decoded, what a loop comes back to without its hook, and the halves of a copy."""
    functions = {
        "odd": "rdtsc; ret",
        "undecoded": ".byte 6; ret",
        "loop": f"movq %rbx, %rdi; {READ}; 1: movq (%rbx), %rcx; jne 1b; ret",
        "pair": f"movq %rbx, %rdi; {WRITE}; movq %r12, %rdi; {READ}; movq (%r12), %rax; movq %rax, (%rbx); ret",
        "straight": f"movq %rbx, %rdi; {READ}; movq (%rbx), %rcx; ret",
    }
    text = "".join(f"\t.type {name}, @function\n{name}: {code}\n" for name, code in functions.items())
    assert unseen_in(Object(assembled("\t.text\n" + text))) == ["odd()", "undecoded()", "loop()", "pair()"]
