"""Which memory of a function is private, and what is live where it may wait."""

from __future__ import annotations

import pytest

from teetotal.programs.c.ir.liveness import Liveness
from teetotal.programs.c.ir.reading import Module
from teetotal.programs.c.ir.seeing import Seeing

DECLARED = """
declare void @g(ptr)
declare i32 @_setjmp(ptr)
declare void @llvm.lifetime.start.p0(i64, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare ptr @llvm.frameaddress.p0(i32)
@x = global i32 0
@c = private constant i32 4
@t = thread_local global i32 0
"""


def seen(body: str, header: str = "define void @f()") -> Seeing:
    module = Module(f"{header} {{\n{body}\n}}\n{DECLARED}")
    return Seeing(module, module.functions[0])


@pytest.mark.parametrize(
    "use",
    [
        "store i32 1, ptr %a, align 4",
        "%1 = load volatile i32, ptr %a, align 4",
        "%1 = getelementptr inbounds [4 x i32], ptr %a, i64 0, i64 %n\n  store i32 1, ptr %1",
        "%1 = atomicrmw add ptr %a, i32 1 seq_cst",
        "call void @llvm.lifetime.start.p0(i64 16, ptr %a)",
        "call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr @x, i64 4, i1 false)",
        "call void @g(ptr byval([4 x i32]) align 4 %a)",
        "%1 = icmp eq ptr %a, null",
    ],
)
def test_a_local_stays_private_through(use: str) -> None:
    seeing = seen(f"  %a = alloca [4 x i32]\n  {use}\n  ret void", "define void @f(i64 %n)")
    assert seeing.private == {"%a"}


@pytest.mark.parametrize(
    "use",
    [
        "call void @g(ptr %a)",
        "call void @g(ptr sret([4 x i32]) %a)",
        "store ptr %a, ptr %a",
        "%1 = ptrtoint ptr %a to i64",
        "%1 = select i1 %b, ptr %a, ptr @x",
        "%1 = icmp ult ptr %a, @x",
        "%1 = getelementptr i8, ptr %a, i64 1\n  store ptr %1, ptr @x",
        'call void asm "", "=*m"(ptr elementtype(i32) %a)',
        "%1 = hyperload i32, ptr %a",
        "%1 = call ptr @llvm.frameaddress.p0(i32 0)",
        "ret ptr %a",
    ],
)
def test_a_local_escapes_through(use: str) -> None:
    seeing = seen(f"  %a = alloca [4 x i32]\n  {use}\n  ret void", "define void @f(i1 %b)")
    assert seeing.private == set()


def test_a_phi_of_addresses_lets_them_out_wherever_it_stands() -> None:
    seeing = seen(
        "  %a = alloca i32\n  br label %use\n\nuse:\n  %p = phi ptr [ %q, %back ], [ null, %0 ]\n"
        "  br label %back\n\nback:\n  %q = getelementptr i8, ptr %a, i64 0\n  br label %use"
    )
    assert seeing.private == set()


def test_hooks_are_for_what_others_may_see() -> None:
    seeing = seen(
        "  %a = alloca i32\n  %1 = load i32, ptr %a\n  %2 = load i32, ptr @x\n  %3 = load i32, ptr @c\n"
        "  %4 = load i32, ptr @t\n  store i32 1, ptr %p\n  ret void",
        "define void @f(ptr %p)",
    )
    hooked = [str(one).split(" =")[0] for one in seeing.function.instructions if seeing.hooked(one) is not None]
    assert hooked == ["%2", "%4", "store i32 1, ptr %p"]


LOOP = """  %n = alloca i32
  %dead = alloca i32
  store i32 0, ptr %n
  store i32 0, ptr %dead
  br label %head

head:
  %1 = load i32, ptr @x
  %2 = load i32, ptr %n
  %3 = add i32 %2, 1
  store i32 %3, ptr %n
  store i32 %1, ptr %dead
  %4 = icmp eq i32 %1, %k
  br i1 %4, label %out, label %head

out:
  ret void"""


def test_only_what_is_live_belongs_to_a_point() -> None:
    seeing = seen(LOOP, "define void @f(i32 %k)")
    (point,) = seeing.points.values()
    assert [name for name, _ in point.values] == ["%k"]
    assert [one.memory.name for one in point.contents] == ["%n"]
    assert not point.grows


def test_a_loop_that_surely_stores_has_no_point() -> None:
    assert not seen(LOOP.replace("store i32 %1, ptr %dead", "store i32 %1, ptr @x"), "define void @f(i32 %k)").points
    assert seen(LOOP.replace("store i32 %1, ptr %dead", "store i32 %1, ptr %k"), "define void @f(ptr %k)").points


def test_what_has_no_type_that_is_known_leaves_no_point() -> None:
    body = LOOP.replace("  br label %head\n\nhead", "  %u = hyperadd i32 1\n  br label %head\n\nhead", 1)
    assert not seen(body.replace("%1, %k", "%1, %u"), "define void @f(i32 %k)").points


def test_all_private_is_live_where_something_returns_twice() -> None:
    body = "  %j = call i32 @_setjmp(ptr @x)\n"
    seeing = seen(body + LOOP, "define void @f(i32 %k)")
    assert [one.memory.name for one in next(iter(seeing.points.values())).contents] == ["%dead", "%n"]


def test_the_stack_may_grow_on_the_way_round() -> None:
    seeing = seen(LOOP.replace("  %2 = load", "  %v = alloca i8, i32 %1\n  %2 = load"), "define void @f(i32 %k)")
    assert next(iter(seeing.points.values())).grows


def test_what_some_way_may_read_before_it_writes_it() -> None:
    seeing = seen(
        "  %a = alloca i32\n  %b = alloca i32\n  br i1 %k, label %1, label %2\n\n1:\n  store i32 1, ptr %a\n"
        "  br label %2\n\n2:\n  %3 = load i32, ptr %a\n  store i32 1, ptr %b\n  %4 = load i32, ptr %b\n  ret void",
        "define void @f(i1 %k)",
    )
    assert Liveness(seeing).unwritten() == ["%a"]


def test_only_those_bytes_are_live_that_are_read() -> None:
    body = LOOP.replace("  %n = alloca i32", "  %n = alloca [3 x i32]").replace(
        "store i32 0, ptr %n", "%m = getelementptr [3 x i32], ptr %n, i64 0, i64 2\n  store i32 0, ptr %m"
    )
    body = body.replace("load i32, ptr %n", "load i16, ptr %m").replace("add i32 %2", "zext i16 %2 to i32")
    seeing = seen(body.replace("zext i16 %2 to i32, 1", "zext i16 %2 to i32"), "define void @f(i32 %k)")
    (point,) = seeing.points.values()
    assert [(one.memory.name, one.begin, one.end) for one in point.contents] == [("%n", 8, 10)]


def test_an_index_that_only_the_program_knows_may_read_all() -> None:
    body = LOOP.replace("  %n = alloca i32", "  %n = alloca [3 x i32]")
    body = body.replace("  %2 = load i32, ptr %n", "  %m = getelementptr i32, ptr %n, i32 %1\n  %2 = load i32, ptr %m")
    (point,) = seen(body, "define void @f(i32 %k)").points.values()
    assert [(one.begin, one.end) for one in point.contents] == [(0, 12)]
