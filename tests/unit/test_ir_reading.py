"""What is read out of the text of LLVM's IR: what clang 14 to 22, rustc and zig write, and words that are new."""

from __future__ import annotations

import pytest

from teetotal.programs.c.ir.operands import access, call, local, operand
from teetotal.programs.c.ir.reading import Module
from teetotal.programs.c.ir.types import Layout, Unreadable, read_type, split

OLD = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
NEW = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
"""As clang 14 has it, and from 18 on."""


def function(body: str, header: str = "define void @f()", rest: str = "") -> Module:
    return Module(f'target datalayout = "{NEW}"\n\n{header} {{\n{body}\n}}\n{rest}')


@pytest.mark.parametrize(
    ("text", "kind", "rest"),
    [
        ("i32 %x", "integer", " %x"),
        ("ptr addrspace(257) null", "pointer", " null"),
        ("i8* (i8*)* @f", "pointer", " @f"),
        ("i32 (i8*, ...) @printf", "function", " @printf"),
        ("<{ i8, i32 }> %x", "struct", " %x"),
        ("<4 x i32> zeroinitializer", "vector", " zeroinitializer"),
        ("[2 x i8* (i8*)*]* %1", "pointer", " %1"),
        ('%"std::pair<int, char>"* %1', "pointer", " %1"),
        ("x86_fp80 0xK3FFFA000000000000000", "x86_fp80", " 0xK3FFFA000000000000000"),
        ('target("aarch64.svcount") %x', "target", " %x"),
    ],
)
def test_types_are_read_up_to_what_comes_behind_them(text: str, kind: str, rest: str) -> None:
    found, at = read_type(text)
    assert (found.kind, text[at:]) == (kind, rest)


@pytest.mark.parametrize("text", ["noundef", "", "@f", "[3 y i8]", "42"])
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        read_type(text)


@pytest.mark.parametrize(
    ("text", "stored", "allocated", "alignment"),
    [
        ("i1", 1, 1, 1),
        ("i37", 5, 8, 8),
        ("x86_fp80", 10, 16, 16),
        ("<3 x float>", 12, 16, 16),
        ("<2 x i1>", 1, 1, 1),
        ("{ i8, i64 }", 16, 16, 8),
        ("<{ i8, i64 }>", 9, 9, 1),
        ("[3 x { i8, i16 }]", 12, 12, 2),
        ("ptr addrspace(270)", 4, 4, 4),
        ("{}", 0, 0, 1),
    ],
)
def test_a_store_touches_less_than_a_local_takes(text: str, stored: int, allocated: int, alignment: int) -> None:
    layout, kind = Layout(NEW, {}), read_type(text)[0]
    assert (layout.store_size(kind), layout.size(kind), layout.alignment(kind)) == (stored, allocated, alignment)


def test_alignment_of_wide_integers_depends_on_the_version() -> None:
    kind = read_type("i128")[0]
    assert (Layout(OLD, {}).alignment(kind), Layout(NEW, {}).alignment(kind)) == (8, 16)


def test_a_named_type_may_be_made_of_others() -> None:
    layout = Layout(NEW, {"%a": "type { i8 }", "%b": "{ i32, [2 x i16] }", "%c": "{ %b, i8* }"})
    assert layout.size(read_type("%c")[0]) == 16
    assert layout.offsets(read_type("%c")[0]) == [0, 8]
    with pytest.raises(Unreadable):
        layout.size(read_type("%d")[0])


def test_commas_in_brackets_and_strings_split_nothing() -> None:
    assert split('i32 1, ptr getelementptr (i8, ptr @a, i64 1), [2 x i8] c",)", {i8, i8} undef') == [
        "i32 1",
        "ptr getelementptr (i8, ptr @a, i64 1)",
        '[2 x i8] c",)"',
        "{i8, i8} undef",
    ]


def test_a_switch_with_a_location_keeps_its_targets() -> None:
    module = function(
        "  switch i64 %x, label %1 [\n    i64 1, label %2\n    i64 2, label %3\n  ], !dbg !5\n\n1:\n  ret void\n\n"
        "2:\n  ret void\n\n3:\n  ret void",
        "define void @f(i64 %x)",
    )
    (found,) = module.functions
    assert found.blocks[0].instructions[0].targets == ["%1", "%2", "%3"]
    assert found.blocks[0].instructions[0].location == "!5"
    assert [block.name for block in found.blocks] == ["%0", "%1", "%2", "%3"]


def test_an_invoke_is_one_instruction_and_a_record_of_debug_information_is_another() -> None:
    module = function(
        "  %x = alloca i32, align 4\n    #dbg_declare(ptr %x, !1, !DIExpression(), !2)\n"
        "  invoke void @g()\n          to label %1 unwind label %2, !dbg !3\n\n1:\n  ret void\n\n"
        "2:\n  %3 = landingpad { ptr, i32 }\n          cleanup\n  resume { ptr, i32 } %3"
    )
    first, second, third = module.functions[0].blocks
    assert [(one.opcode, one.is_debug) for one in first.instructions] == [
        ("alloca", False),
        ("?", True),
        ("invoke", False),
    ]
    assert first.instructions[2].targets == ["%1", "%2"]
    assert [one.opcode for one in third.instructions] == ["landingpad", "resume"]
    assert [one.opcode for one in second.instructions] == ["ret"]


@pytest.mark.parametrize(
    ("text", "callee", "arguments"),
    [
        ("call void @f(i32 noundef 1, ptr nocapture %x)", "@f", ["1", "%x"]),
        ("%1 = tail call fastcc noundef zeroext i1 @f()", "@f", []),
        ("%1 = call i32 (ptr, ...) @printf(ptr noundef @.str, i32 noundef %2) #7, !dbg !3", "@printf", ["@.str", "%2"]),
        ("call void %4(i8* align 8 dereferenceable(16) captures(none) %5)", "%4", ["%5"]),
        ('call void asm sideeffect "movl $1, $0", "=*m,r,~{memory}"(i32* elementtype(i32) @x, i32 3)', "asm", ["@x", "3"]),
        ("call void bitcast (void (i32)* @f to void (i8*)*)(i8* null)", "bitcast", ["null"]),
        ("call range(i32 0, 5) i32 @f(ptr byval(%struct.S) align 8 %6)", "@f", ["%6"]),
        ('call void @"a b"(ptr initializes((0, 4)) dead_on_return someword(3) %1)', '@"a b"', ["%1"]),
    ],
)  # fmt: skip
def test_calls_in_all_their_forms(text: str, callee: str, arguments: list[str]) -> None:
    module = function(f"  {text}\n  ret void")
    told = call(module.functions[0].blocks[0].instructions[0])
    assert told.callee.startswith(callee)
    assert [one.value for one in told.arguments] == arguments


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%1 = load i32, i32* %x, align 4, !tbaa !2", ("load", "i32", "%x", False, "", 4)),
        ("%1 = load atomic volatile i8, ptr @x acquire, align 1", ("load", "i8", "@x", True, "acquire", 1)),
        ("store atomic i32 %1, ptr %x syncscope(\"agent\") release, align 4", ("store", "i32", "%x", False, "release", 4)),
        ("store { i8, i8 } { i8 1, i8 2 }, ptr %x", ("store", "{ i8, i8 }", "%x", False, "", 0)),
        ("%1 = atomicrmw volatile add ptr %x, i16 3 seq_cst, align 2", ("rmw", "i16", "%x", True, "seq_cst", 2)),
        ("%1 = atomicrmw fadd float* %x, float 1.0 monotonic", ("rmw", "float", "%x", False, "monotonic", 0)),
        ("%1 = cmpxchg weak ptr %x, i64 1, i64 2 acq_rel monotonic", ("cmpxchg", "i64", "%x", False, "acq_rel", 0)),
    ],
)  # fmt: skip
def test_accesses_with_their_orders(text: str, expected: tuple[str, str, str, bool, str, int]) -> None:
    module = function(f"  {text}\n  ret void")
    told = access(module.functions[0].blocks[0].instructions[0])
    assert told is not None
    assert (told.kind, told.type.text, told.pointer.value, told.volatile, told.order, told.alignment) == expected


def test_attributes_that_nobody_has_heard_of_are_words_like_others() -> None:
    assert operand("ptr newfangled(i32 7) align 8 other %x").value == "%x"
    assert operand("i64 -5").value == "-5"
    assert operand("ptr noundef getelementptr inbounds (i8, ptr @x, i64 4)").value.startswith("getelementptr")


def test_locals_of_unknown_size() -> None:
    module = function(
        "  %a = alloca [3 x i32], align 16\n  %b = alloca i8, i64 %n, align 16\n  %c = alloca i32, i32 5, align 4\n"
        "  ret void",
        "define void @f(i64 %n)",
    )
    told = [local(one) for one in module.functions[0].instructions if one.opcode == "alloca"]
    assert [(one.type.text, one.elements, one.alignment) for one in told] == [
        ("[3 x i32]", 1, 16),
        ("i8", None, 16),
        ("i32", 5, 4),
    ]


def test_variables_are_constant_only_where_they_are_defined() -> None:
    module = Module(
        '@a = private unnamed_addr constant [2 x i8] c"x\\00", align 1\n@b = external constant i32, align 4\n'
        "@c = thread_local global i32 0, align 4, !dbg !7\n@d = alias i32, ptr @c\n"
    )
    found = {
        name: (one.is_constant, one.is_defined, one.is_local, one.location) for name, one in module.variables.items()
    }
    assert found == {
        "@a": (True, True, False, ""),
        "@b": (False, False, False, ""),
        "@c": (False, True, True, "!7"),
        "@d": (False, True, False, ""),
    }


def test_an_unknown_instruction_is_kept_with_its_names() -> None:
    module = function("  %2 = hyperload i32, ptr %x, wobbly 4\n  ret void", "define void @f(ptr %x)")
    (first, _) = module.functions[0].blocks[0].instructions
    assert (first.opcode, first.names, first.result) == ("hyperload", ["%x"], "%2")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('@s = constant [4 x i8] c"ptr\\00"', False),
        ("@ptr = global i32* null", False),
        ("%struct.ptr = type { i32* }", False),
        ("declare void @f(ptr noundef)", True),
        ("@p = global ptr @q", True),
        ('!1 = !{!"ptr", ptr @f}', False),
    ],
)
def test_whether_pointers_are_of_one_type(line: str, expected: bool) -> None:
    assert Module(line).opaque is expected
