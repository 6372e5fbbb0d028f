"""C++ seen through LLVM's IR: store buffering through what the library and the language have, and programs that are safe.

Some of these the way through assembly does not decide: copies of what is not there, and frames of inlined iterators.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from c_checks import run
from teetotal.answers.options import CheckOptions

pytestmark = pytest.mark.skipif(shutil.which("clang++") is None, reason="C++ is seen through LLVM's IR with clang")

HEAD = """#include <array>
#include <atomic>
#include <cassert>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <variant>
#include <vector>
"""
MAIN = """
static void first() {{ {store}; volatile int r = y; (void)r; }}
static void second() {{ y = 1; volatile int r = (int)({load}); (void)r; }}
int main() {{ std::thread t(first), u(second); t.join(); u.join(); }}
"""
OPTIONS = CheckOptions(models=("tso",), seconds=60, triage=0, shorten=False)


@pytest.fixture(autouse=True)
def _through_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEETOTAL_SEE", "ir")


THROUGH = {
    "a reference of a lambda's": ("int x;", "auto put = [&] { x = 1; }; put()", "x"),
    "std::function": ("int x; std::function<void(int)> put = [](int v) { x = v; };", "put(1)", "x"),
    "std::vector": ("std::vector<int> v(2);", "v[1] = 1", "v[1]"),
    "std::optional": ("std::optional<int> v;", "v = 1", "v.has_value()"),
    "std::variant": ("std::variant<int, long> v;", "v = 2L", "v.index()"),
    "std::string": ("std::string v;", 'v = "b"', "v.size()"),
    "std::shared_ptr": ("auto v = std::make_shared<int>(0);", "*v = 1", "*v"),
    "a virtual function": (
        "int x; struct A { virtual void put() {} virtual ~A() = default; }; "
        "struct B : A { void put() override { x = 1; } }; A *a = new B;",
        "a->put()",
        "x",
    ),
    "a pointer to a member": ("struct S { int v; } s; int S::*m = &S::v;", "s.*m = 1", "s.*m"),
    "what is thrown": ("int x;", "try { throw &x; } catch (int *p) { *p = 1; }", "x"),
    "a pair that is returned": ("std::pair<int, int> x;", "x = std::make_pair(1, 2)", "x.second"),
}


@pytest.mark.parametrize("name", THROUGH)
def test_store_buffering_is_found_through(tmp_path: Path, name: str) -> None:
    head, store, load = THROUGH[name]
    text = HEAD + "int y;" + head + MAIN.format(store=store, load=load)
    answer = run(tmp_path, text, suffix=".cpp", flags=("-std=c++17",), compiler="clang", options=OPTIONS)
    assert answer.models["tso"].robust is False, answer.notes


SAFE = {
    "an optional without a value": (
        "static std::optional<long> get(int n) { if (n) return 3; return std::nullopt; } std::atomic<int> f;",
        "auto o = get(f.load()); if (o) assert(*o == 3);",
    ),
    "a struct with a hole, by value": (
        "struct p { int a; char c; }; static p make(int n) { return {n, 'x'}; }",
        "auto m = make(1); assert(m.a == 1);",
    ),
    "small numbers in a register": (
        "struct q { int a, b; }; static int take(q x) { return x.a + x.b; }",
        "assert(take({1, 10}) == 11);",
    ),
    "a string from a stream": (
        "",
        'std::istringstream in("abc"); std::string s(std::istreambuf_iterator<char>(in), {}); assert(s.size() == 3);',
    ),
}


@pytest.mark.parametrize("name", SAFE)
def test_programs_that_are_safe_are_proved(tmp_path: Path, name: str) -> None:
    head, body = SAFE[name]
    text = f"{HEAD}{head}\nint main() {{ std::thread t([] {{ {body} }}); t.join(); }}\n"
    answer = run(tmp_path, text, suffix=".cpp", flags=("-std=c++17",), compiler="clang", options=OPTIONS)
    assert answer.verdict.value == "safe", answer.notes
