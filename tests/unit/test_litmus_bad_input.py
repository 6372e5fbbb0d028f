"""Whatever a file holds, the reader answers with a program or with one clear error that has a place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teetotal.answers.errors import ParseError
from teetotal.programs import litmus
from teetotal.programs.program import Program

GOOD = """X86_64 SB
"Fre PodWR Fre PodWR"
Generator=diy7 (version 7.55)
(* a comment (* in a comment *) with { *)
{
uint64_t y; uint64_t x; uint64_t 1:rax;
0:rbx=x;
}
 P0            | P1            ;
 movq $1,(x)   | movq $1,(y)   ;
 L: mfence     | lock incq (x) ;
 cmpq $1,%rax  |               ;
 je L          | xchgq %rcx,(y);
 movq (y),%rax | movq (x),%rax ;
locations [x; 0:rbx;]
filter (x=1)
~exists (0:rax=0 /\\ not 1:rax=0 \\/ [y]=2)
"""

HEAD = "X86_64 t\n{ }\n"


def with_code(*rows: str) -> str:
    return HEAD + "".join(f"{row} ;\n" for row in rows)


BAD = [
    # (text, line, words of the message)
    ("", 1, "empty"),
    ("  \n\t\n", 1, "empty"),
    ("\x00\x01\x02", 1, "not a litmus test"),
    ("hello", 1, "not a litmus test"),
    ("int main() { return 0; }", 1, "architecture int"),
    ("AArch64 MP\n{}\n P0 ;\n DMB SY ;\nexists x=1\n", 1, "AArch64 is not supported"),
    ("PPC MP\n{}\n", 1, "PPC is not supported"),
    ("LISA MP\n{}\n", 1, "LISA is not supported"),
    ("RISCV MP\n{}\n", 1, "RISCV is not supported"),
    ("X86_64 t\n", 1, "no initial state"),
    ("X86_64 t\n{ x=0;\n", 2, "no closing `}`"),
    ("X86_64 t\n(* never\n", 2, "never closed"),
    (HEAD, 2, "no code"),
    (HEAD + "exists (x=1)\n", 2, "no code"),
    (HEAD + "Q0 ;\n", 3, "expected a row of threads"),
    (HEAD + " P0 | P0 ;\n", 3, "two threads are called P0"),
    (HEAD + " P0 | P2 ;\n", 3, "without a gap"),
    (HEAD + " P0 | ;\n", 3, "expected a row of threads"),
    (with_code("P0 | P1", "mfence"), 4, "1 columns, but there are 2 threads"),
    (with_code("P0", "mfence | mfence"), 4, "2 columns, but there are 1 threads"),
    (HEAD + " P0 ;\n movq $1,(x)\n", 4, "a row of code ends with `;`"),
    (HEAD + " P0 ;\n movq $1,(x) ;\n mov", 5, "cut off"),
    (with_code("P0", "frobnicate %rax"), 4, "frobnicate is not supported"),
    (with_code("P0", "lea (x),%rax"), 4, "lea is not supported"),
    (with_code("P0", "cmovne %rax,%rbx"), 4, "cmovne is not supported"),
    (with_code("P0", "sete %al"), 4, "sete is not supported"),
    (with_code("P0", "movnti %rax,(x)"), 4, "movnti is not supported"),
    (with_code("P0", "movb $1,(x)"), 4, "8 bits are not supported"),
    (with_code("P0", "movw $1,(x)"), 4, "16 bits are not supported"),
    (with_code("P0", "mov %al,(x)"), 4, "8 bits are not supported"),
    (with_code("P0", "movq %ax,(x)"), 4, "16 bits are not supported"),
    (with_code("P0", "movq %foo,(x)"), 4, "%foo is not a register"),
    (with_code("P0", "movq foo,%rax"), 4, "foo is not a register"),
    (with_code("P0", "movq (%foo),%rax"), 4, "%foo is not a register"),
    (with_code("P0", "movq 8(%rax),%rbx"), 4, "displacement"),
    (with_code("P0", "movq (%eax),%rbx"), 4, "an address has 64 bits"),
    (with_code("P0", "movq (%rax,%rbx,8),%rbx"), 4, "cannot read the operand"),
    (with_code("P0", "movq %rax"), 4, "takes 2 operands, not 1"),
    (with_code("P0", "movq %rax,"), 4, "an operand is missing"),
    (with_code("P0", "movq"), 4, "takes 2 operands, not 0"),
    (with_code("P0", "incq %rax,%rbx"), 4, "takes 1 operand, not 2"),
    (with_code("P0", "movq %eax,%rbx"), 4, "64 bits, but a register of 32"),
    (with_code("P0", "movq %rax,$1"), 4, "the destination is a number"),
    (with_code("P0", "movq (x),(y)"), 4, "both operands are in memory"),
    (with_code("P0", "movq $99999999999999999999999,(x)"), 4, "cannot read the operand"),
    (with_code("P0", "lock movq $1,(x)"), 4, "lock belongs to"),
    (with_code("P0", "lock incq %rax"), 4, "lock belongs to"),
    (with_code("P0", "lock mfence"), 4, "mfence stands alone"),
    (with_code("P0", "lock"), 4, "lock is not supported"),
    (with_code("P0", "mfence 1"), 4, "mfence stands alone"),
    (with_code("P0", "xchgq $1,(x)"), 4, "xchg needs a register"),
    (with_code("P0", "cmpxchgq %rbx,(x)"), 4, "with lock"),
    (with_code("P0", "lock cmpxchgq %rbx,%rcx"), 4, "with lock and a location"),
    (with_code("P0", "jmp"), 4, "a jump needs a label"),
    (with_code("P0", "jne 5"), 4, "a jump needs a label"),
    (with_code("P0", "jmp L"), 4, "jumps to L, which is no label"),
    (with_code("P0 | P1", "L: mfence | jmp L"), 4, "P1 jumps to L"),
    (with_code("P0", "L: mfence", "L: mfence"), 5, "the label L stands twice"),
    (with_code("P0", "L M: mfence"), 4, "is not a label"),
    (with_code("P0", "movq $1,(x)", "movl $1,(x)"), 5, "mixed sizes"),
    (with_code("P0", "movq $1,(x)", "movl %ebx,(%rax)"), 5, "mixed sizes"),
    ("X86_64 t\n{ int x; }\nP0 ;\nmovq $1,(x) ;\n", 4, "declared with 32 bits but accessed with 64"),
    ("X86_64 t\n{ int8_t x; }\nP0 ;\nmov $1,(x) ;\n", 4, "less than 32"),
    ("X86_64 t\n{ float x; }\nP0 ;\nmfence ;\n", 2, "type float is not supported"),
    ("X86_64 t\n{ int x[2]; }\nP0 ;\nmfence ;\n", 2, "arrays are not supported"),
    ("X86_64 t\n{ int x[2] = {0,1}; }\nP0 ;\nmfence ;\n", 2, "arrays are not supported"),
    ("X86_64 t\n{ x=1;\n x=2; }\nP0 ;\nmfence ;\n", 3, "x has two values"),
    ("X86_64 t\n{ 0:rax=1; 0:eax=2; }\nP0 ;\nmfence ;\n", 2, "has two values"),
    ("X86_64 t\n{ x=hello world; }\nP0 ;\nmfence ;\n", 2, "the value should be"),
    ("X86_64 t\n{ x=; }\nP0 ;\nmfence ;\n", 2, "the value should be"),
    ("X86_64 t\n{ ???; }\nP0 ;\nmfence ;\n", 2, "cannot read"),
    ("X86_64 t\n{ 1:rax=1; }\nP0 ;\nmfence ;\n", 2, "no thread P1"),
    ("X86_64 t\n{ 0:foo=1; }\nP0 ;\nmfence ;\n", 2, "0:foo is not a register"),
    (with_code("P0", "mfence") + "exists (1:rax=0)", 5, "thread 1, but there are 1 threads"),
    (with_code("P0", "mfence") + "exists (0:foo=0)", 5, "0:foo, which is not a register"),
    (with_code("P0", "mfence") + "exists (0:zf=0)", 5, "0:zf, which is not a register"),
    (with_code("P0", "mfence") + "exists (x=0)", 5, "asks about x, which the test does not use"),
    (with_code("P0", "mfence") + "exists (0:rax=x)", 5, "the address of x"),
    (with_code("P0", "mfence") + "locations [x;]", 5, "asks about x"),
    (with_code("P0", "mfence") + "exists (0:rax=0", 5, "expected `)`"),
    (with_code("P0", "mfence") + "exists", 5, "expected a register or location, found the end"),
    (with_code("P0", "mfence") + "exists (0:rax)", 5, "expected `=`"),
    (with_code("P0", "mfence") + "exists (0:rax=)", 5, "expected a number"),
    (with_code("P0", "mfence") + "exists (0:rax=0 /\\\n)", 6, "expected a register or location"),
    (with_code("P0", "mfence") + "exists (0:rax=0) and more", 5, "expected the end of the condition"),
    (with_code("P0", "mfence") + "exists (foo:rax=0)", 5, "does not name a thread"),
    (with_code("P0", "mfence") + "exists (" + "(" * 5000 + ")", 5, "nested more than"),
    (with_code("P0", "mfence") + "exists " + "~" * 5000 + "0:rax=0", 5, "nested more than"),
    (with_code("P0", "mfence") + "exists " + "0:rax=0 => " * 5000 + "0:rax=0", 5, "nested more than"),
    (with_code("P0", "mfence") + "observed (0:rax=0)", 5, "expected `exists`"),
    (with_code("P0", "mfence", "movq (x),%rax") + "exists (x[0]=0)", 6, "arrays are not supported"),
    ("X86 t\n{ }\nP0 ;\nMOVQ [x],$1 ;\n", 4, "64 bits are not supported"),
    ("X86 t\n{ }\nP0 ;\nMOV RAX,$1 ;\n", 4, "RAX is not a register"),
]


@pytest.mark.parametrize(("text", "line", "words"), BAD, ids=[repr(text[-40:]) for text, _, _ in BAD])
def test_an_error_says_what_and_where(text: str, line: int, words: str) -> None:
    with pytest.raises(ParseError) as caught:
        litmus.read(text, "bad.litmus")
    assert words in caught.value.message
    assert str(caught.value.location) == f"bad.litmus:{line}"


def test_the_good_file_is_good() -> None:
    program = litmus.read(GOOD, "good.litmus")
    assert program.name == "SB"
    assert [instruction.location.line for instruction in program.threads[1].code if instruction.location] == [
        10,
        11,
        13,
        14,
    ]


def test_windows_line_ends_and_a_byte_order_mark() -> None:
    program = litmus.read("\ufeff" + GOOD.replace("\n", "\r\n"), "good.litmus")
    assert program.threads == litmus.read(GOOD, "good.litmus").threads


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="No such file"):
        litmus.read_file(tmp_path / "missing.litmus")
    with pytest.raises(ParseError, match="directory"):
        litmus.read_file(tmp_path)
    (tmp_path / "junk.litmus").write_bytes(b"\xff\xfe\x00junk")
    with pytest.raises(ParseError, match=r"junk\.litmus:1: not a text file"):
        litmus.read_file(tmp_path / "junk.litmus")


def read_or_refuse(text: str) -> None:
    try:
        program = litmus.read(text, "fuzz.litmus")
    except ParseError as refusal:
        problem = refusal
    else:
        assert isinstance(program, Program)
        return
    assert problem.location is not None
    assert 1 <= problem.location.line <= text.count("\n") + 1


WORDS = """movq $1 (x) [x] %rax , ; | P0 P1 { } exists ~ ( ) /\\ \\/ = 0:rax x lock xchg cmpxchg : L jmp (* *)
    locations filter forall mfence " """
PIECES = st.sampled_from([*WORDS.split(), "\n", " "])


@given(st.binary(max_size=200))
def test_random_bytes(junk: bytes) -> None:
    read_or_refuse(junk.decode("utf-8", "replace"))
    read_or_refuse("X86_64 t\n{}\n" + junk.decode("latin-1"))


@given(st.lists(PIECES, max_size=40))
def test_random_pieces(pieces: list[str]) -> None:
    read_or_refuse(HEAD + " ".join(pieces))
    read_or_refuse(HEAD + " P0 | P1 ;\n" + " ".join(pieces))
    read_or_refuse(with_code("P0", "movq (x),%rax") + "exists " + "".join(pieces))


def test_every_truncation() -> None:
    for end in range(len(GOOD)):
        read_or_refuse(GOOD[:end])


@given(st.integers(0, len(GOOD) - 1), st.integers(0, 12), st.text(max_size=3) | PIECES)
def test_mutations(start: int, length: int, new: str) -> None:
    read_or_refuse(GOOD[:start] + new + GOOD[start + length :])


LONG = 100_000


@pytest.mark.parametrize(
    "text",
    [
        "X86_64 t\n{ x" + " " * LONG + "! }\n",
        "X86_64 t\n{ " + "a " * LONG + "! }\n",
        "X86_64 t\n{ " + "a*" * LONG + "! }\n",
        "X86_64 t\n{ " + "x;" * LONG + "}\n",
        "X86_64 t" + " " * LONG + "(",
        "X86_64 t\n" + '"' * LONG,
        "X86_64 t\n" + "a" * LONG,
        "X86_64 t\n" + "(*" * LONG,
        with_code("P0", "movq" + " " * LONG + "$1 , " + " " * LONG + "!"),
        with_code("P0", "lock" + " " * LONG + "!"),
        with_code("P0", "(x" + " " * LONG + "!"),
        with_code("P0", "L" + ":" * LONG),
        with_code("P0 | P1", ";" * LONG),
        with_code("P0" + "|" * LONG),
        with_code("P0", "mfence") + "~" + " " * LONG + "exist",
        with_code("P0", "mfence") + "exists (" + "0:rax=1 /\\ " * LONG,
        "C t\n{ }\nP0 (int* x) { int r;" + " r = " * LONG,
        "C t\n{ }\nP0 (int* x) {" + "/*" * LONG,
        "C t\n{ }\nP0 (" + "int* x," * LONG,
        "C t\n{ }\n" + "P0 () {}" * LONG,
    ],
    ids=lambda text: repr(text[:24] + "…" + text[-12:]),
)
def test_long_files_take_no_longer_than_their_length(text: str) -> None:
    """None of these is a test; a regular expression that tries again and again would take minutes to say so."""
    with pytest.raises(ParseError):
        litmus.read(text, "long.litmus")
