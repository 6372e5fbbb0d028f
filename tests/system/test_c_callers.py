"""C++: what the library does on behalf of the program is told by the program's own lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from c_programs import COMPILERS
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.programs.c import Source

BUFFERING = """#include <atomic>
#include <mutex>
#include <thread>
struct Pair { short first, second; };
std::atomic<int> x;
std::atomic<Pair> y;
std::mutex m;
void store_to_x() {
  x.store(1, std::memory_order_relaxed);                      // 9
}
int main() {
  std::thread one([] {
    store_to_x();
    Pair seen = y.load(std::memory_order_relaxed);            // 14
    std::lock_guard<std::mutex> guard(m);                     // 15
    (void)seen;
  });
  y.store(Pair{1, 2}, std::memory_order_relaxed);             // 18
  int seen = x;                                               // 19
  one.join();                                                 // 20
  (void)seen;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_lines_are_those_of_the_program(compiler: str, tmp_path: Path) -> None:
    file = tmp_path / "buffering.cpp"
    file.write_text(BUFFERING)
    result = check(Source((str(file),), (), compiler))
    assert result.violations
    lines = {event.location.line for violation in result.violations for event in violation.events if event.location}
    files = {event.location.file for violation in result.violations for event in violation.events if event.location}
    assert files == {str(file)}
    assert {9, 14, 18, 19} <= lines


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_waits_and_what_was_allocated(compiler: str, tmp_path: Path) -> None:
    file = tmp_path / "stuck.cpp"
    file.write_text(
        "#include <memory>\n#include <mutex>\n#include <thread>\nstd::mutex a, b;\nint main() {\n"
        "  auto shared = std::make_shared<int>(0);\n"  # line 6
        "  std::thread t([=] { a.lock(); b.lock(); ++*shared; b.unlock(); a.unlock(); });\n"  # line 7
        "  b.lock();\n  a.lock();\n  ++*shared;\n  a.unlock();\n  b.unlock();\n  t.join();\n}\n"
    )
    result = check(Source((str(file),), (), compiler), CheckOptions(models=("sc",)))
    (deadlock,) = [violation for violation in result.violations if violation.kind == "deadlock"]
    assert f"T0 to lock a ({file}:9)" in deadlock.message
    assert f"T1 to lock b ({file}:7)" in deadlock.message
    assert not any("/include/c++/" in event.text for event in deadlock.events)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("members", ["char a[2];", "char a[4];", "short a[8];", "char a[12];"])
def test_atomic_structs(compiler: str, members: str, tmp_path: Path) -> None:
    file = tmp_path / "structs.cpp"
    file.write_text(
        "#include <atomic>\n#include <cassert>\n#include <thread>\nstruct S { " + members + " };\n"
        "std::atomic<S> s;\nstatic void add() {\n"
        "  S old = s.load(), fresh;\n"
        "  do { fresh = old; ++fresh.a[0]; --fresh.a[1]; } while (!s.compare_exchange_strong(old, fresh));\n}\n"
        "int main() { std::thread t(add); add(); t.join(); S end = s.exchange(S{}); assert(end.a[0] == 2);\n"
        "  assert(end.a[0] + end.a[1] == 0); s.store(end); }\n"
    )
    result = check(Source((str(file),), (), compiler), CheckOptions(nondet=(0, 0)))
    if "12" in members:
        assert any("12 bytes, which needs a lock" in note for note in result.notes)
    else:
        assert result.verdict is Verdict.SAFE, result
        assert result.executions > 1
