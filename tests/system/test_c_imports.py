"""What a checked program calls in libraries is seen, or named: runtime/hooks/imports.txt and what follows from it.

Store buffering through a channel: each of two threads writes one object and then reads the other's. Where both go
through functions that the table knows, it is found; where one does not, that one is named; it is never proved away.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from c_programs import COMPILERS, compiled, explore
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Goal, Verdict
from teetotal.checking import check
from teetotal.programs.c.build import Source

HEAD = """#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
static volatile long n; int k;
"""
MAIN = """
int main(int count, char **given) {
  (void)count;
  struct chosen *c = &cases[atoi(given[1])];
  if (c->before) c->before();
  pthread_t t, s;
  pthread_create(&t, 0, c->first, 0); pthread_create(&s, 0, c->second, 0); pthread_join(t, 0); pthread_join(s, 0);
}
"""
WRITES = {
    "strcpy": ("char {v}[8]", 'strcpy({v}, "x")'),
    "strncpy": ("char {v}[8]", 'strncpy({v}, "x", 2)'),
    "strcat": ("char {v}[8]", 'strcat({v}, "x")'),
    "strncat": ("char {v}[8]", 'strncat({v}, "xyz", 1)'),
    "stpcpy": ("char {v}[8]", 'stpcpy({v}, "x")'),
    "sprintf": ("char {v}[8]", 'sprintf({v}, "%d", 7)'),
    "snprintf": ("char {v}[8]", 'snprintf({v}, 8, "%s", "x")'),
    "sscanf": ("int {v}", 'sscanf("7", "%d", &{v})'),
    "sscanf-text": ("char {v}[8]", 'sscanf("text", "%7s", {v})'),
    "printf-n": ("int {v}", 'printf("text%n", &{v})'),
    "mempcpy": ("long {v}", "mempcpy(&{v}, &k, 4)"),
    "bzero": ("long {v} = 5", "bzero(&{v}, 8)"),
    "bcopy": ("long {v}", "bcopy(&k, &{v}, 4)"),
    "memccpy": ("char {v}[8]", 'memccpy({v}, "xyz", 0, 4)'),
    "swab": ("char {v}[8]", 'swab("ab", {v}, 2)'),
    "wmemset": ("wchar_t {v}[2]", "wmemset({v}, 5, 2)"),
    "wcscpy": ("wchar_t {v}[4]", 'wcscpy({v}, L"x")'),
    "modf": ("double {v}", "modf(2.5, &{v})"),
    "frexp": ("int {v}", "frexp(8, &{v})"),
    "strtol-end": ("char *{v}", 'strtol("12", (char **)&{v}, 10)'),
    "strtod-end": ("char *{v}", 'strtod("1.5", (char **)&{v})'),
    "time": ("time_t {v}", "time(&{v})"),
    "clock_gettime": ("struct timespec {v}", "clock_gettime(CLOCK_MONOTONIC, &{v})"),
    "gettimeofday": ("struct timeval {v}", "gettimeofday(&{v}, 0)"),
    "rand_r": ("unsigned {v}", "rand_r(&{v})"),
    "posix_memalign": ("void *{v}", "posix_memalign(&{v}, 64, 8)"),
    "strtok_r": ("char *{v}", '({{ char text[] = "a b"; strtok_r(text, " ", &{v}); }})'),
    "memset_chk": ("long {v}", "__builtin___memset_chk(&{v}, 1, 8, k + 8)"),
    "strcpy_chk": ("char {v}[8]", '__builtin___strcpy_chk({v}, "x", k + 8)'),
    "through-a-pointer": ("char {v}[8]", '({{ char *(*copy)(char *, const char *) = strcpy; copy({v}, "x"); }})'),
}
"""A variable, and what writes it; a plain load of its first byte reads it."""
READS = {
    "strlen": ("char {v}[8]", "n += strlen({v})"),
    "strnlen": ("char {v}[8]", "n += strnlen({v}, 4)"),
    "strcmp": ("char {v}[8]", 'n += strcmp({v}, "x")'),
    "strcasecmp": ("char {v}[8]", 'n += strcasecmp({v}, "x")'),
    "strchr": ("char {v}[8]", "n += strchr({v}, 'x') != 0"),
    "strstr": ("char {v}[8]", 'n += strstr({v}, "x") != 0'),
    "strspn": ("char {v}[8]", 'n += strspn({v}, "x")'),
    "memcmp": ("char {v}[8]", 'n += memcmp({v}, "x", 1)'),
    "memchr": ("char {v}[8]", "n += memchr({v}, 'x', 1) != 0"),
    "memmem": ("char {v}[8]", 'n += memmem({v}, 1, "x", 1) != 0'),
    "atoi": ("char {v}[8]", "n += atoi({v})"),
    "strtod": ("char {v}[8]", "n += strtod({v}, 0)"),
    "strdup": ("char {v}[8]", "free(strdup({v}))"),
    "strcpy-from": ("char {v}[8]", "({{ char own[8]; strcpy(own, {v}); }})"),
    "puts": ("char {v}[8]", "puts({v})"),
    "printf": ("char {v}[8]", 'printf("%s", {v})'),
    "fprintf": ("char {v}[8]", 'fprintf(stderr, "%.3s", {v})'),
    "fwrite": ("char {v}[8]", "fwrite({v}, 1, 1, stdout)"),
    "write": ("char {v}[8]", "write(1, {v}, 1)"),
    "wcslen": ("wchar_t {v}[4]", "n += wcslen({v})"),
    "nanosleep": ("struct timespec {v}", "nanosleep((struct timespec *)&{v}, 0)"),
    "realloc": ("char *{v}", "realloc((void *){v}, 16)"),
}
NAMED = {
    "optind": ("extern int {v}_unused", "optind = 2", "n += opterr", "optind"),
    "environ": ("extern int {v}_unused", "environ = 0", "n += environ != 0", "environ"),
    "stdout": ("extern int {v}_unused", "stdout = stderr", "n += stdout == stderr", "stdout"),
    "getenv": ("char {v}[8]", "{v}[0] = 1", 'n += getenv("X") != 0', "getenv of libc"),
    "strtok": ("char {v}[8]", '{v}[0] = 1, strtok({v}, " ")', "n += {v}[0]", "strtok of libc"),
    "strfry": ("char {v}[8]", "strfry({v})", "n += {v}[0]", "strfry of libc"),
    "hidden": ("struct tm {v}", "gmtime_r(&(time_t){{5}}, &{v})", "n += {v}.tm_sec", "gmtime_r of libc"),
}


Case = tuple[str, str, str, str]
"""A variable, what writes it, what reads it, and the name of what is not seen, if that is so."""

CXX_HEAD = """#include <atomic>
#include <cstdlib>
#include <functional>
#include <future>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
static volatile long n;
static const std::string longer = "a text that does not fit into the object itself";
"""
CXX = {
    "assign": ("std::string {v}", '{v} = "x"', "n += {v}.size()"),
    "append": ("std::string {v}", '{v} += "x"', "n += {v}.size()"),
    "push_back": ("std::string {v}", "{v}.push_back('x')", "n += {v}.size()"),
    "print": ("std::string {v}", "{v}.push_back('x')", "std::cout << {v}"),
    "long": ("std::string {v}", "{v} = longer", "n += {v}.size()"),
    "list": ("std::list<int> {v}", "{v}.push_back(1)", "n += {v}.begin() == {v}.end()"),
    "list-out": ("std::list<int> {v}{{1}}", "{v}.pop_back()", "n += {v}.empty()"),
    "map": ("std::map<int, int> {v}", "{v}[1] = 2", "n += {v}.begin() == {v}.end()"),
    "map-out": ("std::map<int, int> {v}{{{{1, 2}}}}", "{v}.erase(1)", "n += {v}.count(1)"),
    "set-next": ("std::set<int> {v}{{1, 2}}", "{v}.insert(3)", "n += *std::next({v}.begin(), 1) + ({v}.size() > 2)"),
    "hashes": ("std::unordered_map<std::string, int> {v}", '{v}["x"] = 1', 'n += {v}.count("x")'),
    "shared_ptr": ("std::shared_ptr<int> {v}", "{v} = std::make_shared<int>(5)", "n += {v} != nullptr"),
    "function": ("std::function<void()> {v}", "{v} = [] {{ ++n; }}", "n += static_cast<bool>({v})"),
    "optional": ("std::optional<std::string> {v}", '{v} = "x"', "n += {v}.has_value()"),
    "getline": ("std::string {v}", 'std::istringstream s("line"); std::getline(s, {v})', "n += {v}.size()"),
    "extract": ("std::string {v}", 'std::istringstream s("word"); s >> {v}', "n += {v}.size()"),
    "str": ("std::string {v}", "std::ostringstream s; s << 5; {v} = s.str()", "n += {v}.size()"),
}
CXX_NAMED = {
    "stream": ("std::ostringstream {v}", "{v} << 5", "n += {v}.tellp()", "operator<<"),
    "cout-state": ("int {v}", "std::cout.setstate(std::ios::eofbit); {v} = 1", "n += std::cout.eof()", "setstate"),
    "error": (
        'std::runtime_error {v}("x")',
        'new (&{v}) std::runtime_error("y")',
        "n += {v}.what()[0]",
        "runtime_error(",
    ),
    "no-error": ('std::logic_error {v}("x")', "{v}.~logic_error()", "n += {v}.what()[0]", "~logic_error()"),
    "what": (
        'std::logic_error {v}("x")',
        "*(void *volatile *)&{v} = 0",
        "n += {v}.std::logic_error::what()[0]",
        "what()",
    ),
    "cout": ("int {v}", "std::cout.width(5); {v} = 1", "n += std::cout.width()", "std::cout"),
}


def source(head: str, cases: dict[str, Case], befores: dict[str, str]) -> str:
    """All cases as one program: its argument chooses."""
    text, rows = head, []
    for number, (name, (declared, write, read, _)) in enumerate(cases.items()):
        a, b = f"a{number}", f"b{number}"
        text += "".join(f"{declared.format(v=v)};\n" for v in (a, b))
        for own, other, function in ((a, b, "first"), (b, a, "second")):
            body = f"{write.format(v=own)}; {read.format(v=other)}; return 0;"
            text += f"static void *{function}{number}(void *) {{ {body} }}\n"
        before = "0"
        if name in befores:
            before = f"before{number}"
            text += f"static void {before}(void) {{ " + "".join(befores[name].format(v=v) for v in (a, b)) + " }\n"
        rows.append(f"{{{before}, first{number}, second{number}}}")
    table = "struct chosen { void (*before)(void); void *(*first)(void *), *(*second)(void *); } cases[] = {\n"
    return text + table + ",\n".join(rows) + "};\n" + MAIN


PLAIN_READ, PLAIN_WRITE = "n += *(volatile char *)&{v}", "*(volatile char *)&{v} = 1"
C_SEEN = {name: (declared, write, PLAIN_READ) for name, (declared, write) in WRITES.items()} | {
    name: (declared, "*{v} = 1" if name == "realloc" else PLAIN_WRITE, read) for name, (declared, read) in READS.items()
}
ALLOCATED = {"realloc": "{v} = (char *)malloc(8);"}


def _all(seen: dict[str, tuple[str, str, str]], named: dict[str, tuple[str, str, str, str]]) -> dict[str, Case]:
    return {name: (*case, "") for name, case in seen.items()} | named


C_CASES, CXX_CASES = _all(C_SEEN, NAMED), _all(CXX, CXX_NAMED)


@pytest.fixture(scope="module", params=COMPILERS)
def in_c(request: pytest.FixtureRequest) -> Iterator[Path]:
    with compiled(source(HEAD, C_CASES, ALLOCATED), compiler=request.param, flags=("-std=gnu2x",)) as program:
        yield program


@pytest.fixture(scope="module", params=COMPILERS)
def in_cxx(request: pytest.FixtureRequest) -> Iterator[Path]:
    text = source(CXX_HEAD, CXX_CASES, {})
    with compiled(text, suffix=".cpp", compiler=request.param, flags=("-std=c++20",)) as program:
        yield program


def found_or_named(program: Path, cases: dict[str, Case], name: str) -> None:
    arguments = (str(list(cases).index(name)),)
    end, told = explore(program, "monitor=exact-tso", "executions=300", arguments=arguments)
    assert end["type"] == "end", end
    unseen = [what for what, _ in end["unseen"] if not what.startswith("what the clock shows")]  # whose stores are seen
    if expected := cases[name][3]:
        assert any(expected in what for what in unseen), unseen
    else:
        assert unseen == []
        assert any(answer["type"] == "violation" for answer in told)


@pytest.mark.parametrize("name", C_CASES)
def test_store_buffering_through_the_c_library_is_found_or_named(in_c: Path, name: str) -> None:
    found_or_named(in_c, C_CASES, name)


@pytest.mark.parametrize("name", CXX_CASES)
def test_store_buffering_through_the_cxx_library_is_found_or_named(in_cxx: Path, name: str) -> None:
    found_or_named(in_cxx, CXX_CASES, name)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_is_named_bars_the_proof_only_where_it_is_called(compiler: str, tmp_path: Path) -> None:
    file = tmp_path / "p.c"
    file.write_text(
        HEAD + 'static void *f(void *p) { if (p) n += strfry((char[]){"x"}) != 0; return 0; }\n'
        "int main(int count, char **given) { pthread_t t;\n"
        "  pthread_create(&t, 0, f, count > 1 ? given : 0); pthread_join(t, 0); }\n"
    )
    assert check(Source((str(file),), (), compiler)).verdict is Verdict.SAFE
    called = check(Source((str(file),), (), compiler, ("x",)))
    assert called.verdict is Verdict.INCONCLUSIVE
    assert f"what cannot be seen: strfry of libc.so.6 at {file}:16" in called.notes


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_refused_function_stops_the_search(compiler: str, tmp_path: Path) -> None:
    file = tmp_path / "p.c"
    file.write_text('#include <stdlib.h>\nint main(void) {\n  return system("true");\n}\n')
    result = check(Source((str(file),), (), compiler))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert any("the program uses system" in note and ":3" in note for note in result.notes)


def test_what_would_outlive_an_execution_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "p.cpp"
    file.write_text("#include <locale>\nint main() { std::locale::global(std::locale::classic()); }\n")
    result = check(Source((str(file),)))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert any("the program uses std::locale::global" in note for note in result.notes)


@pytest.mark.parametrize(
    ("changed", "asked", "said"),
    [
        ("fesetround(FE_UPWARD)", "fegetround() == FE_TONEAREST", "the program uses fesetround at"),
        ("feraiseexcept(FE_INEXACT)", "!fetestexcept(FE_INEXACT)", "the program uses fe"),
        ("_mm_setcsr(0x7f80)", "1", "ldmxcsr"),
        ('{ short w = 0x77f; __asm__ volatile("fldcw %0" :: "m"(w)); }', "1", "fldcw"),
    ],
)
def test_how_fractions_are_rounded_is_not_kept_apart(changed: str, asked: str, said: str, tmp_path: Path) -> None:
    """One thread's rounding was another's, and a loop that changed it in each round was taken for one that waits."""
    file = tmp_path / "p.c"
    file.write_text(
        "#include <assert.h>\n#include <fenv.h>\n#include <pthread.h>\n#include <xmmintrin.h>\nstatic volatile int flag;\n"
        f"static void *f(void *u) {{ while (!flag) {changed}; return u; }}\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); flag = 1;\n"
        f"  assert({asked}); pthread_join(t, 0); }}\n"
    )
    result = check(Source((str(file),)))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert any(said in note for note in result.notes)


def test_an_execution_that_is_begun_twice_is_told(tmp_path: Path) -> None:
    """What one execution leaves in the processor the next one finds: that was called safe."""
    file = tmp_path / "p.c"
    file.write_text(
        "#include <assert.h>\n#include <pthread.h>\nstatic volatile int flag; static int kept;\n"
        "static void *f(void *u) { while (!flag) { short w, was;\n"
        '  __asm__ volatile("fnstcw %0" : "=m"(was)); w = was | 0x400; __asm__ volatile("fldcw %0" :: "m"(w));\n'
        "  if (was & 0x400) { kept = 1; break; } } return u; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); flag = 1; pthread_join(t, 0); assert(!kept); }\n"
    )
    result = check(Source((str(file),)))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert any("an execution was begun that was there already" in note for note in result.notes)


WAITING = """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <assert.h>
volatile int flag;
static void *f(void *u) { (void)u; int i = 0; %s while (!flag) { %s } return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); %s pthread_join(t, 0); }
"""


@pytest.mark.parametrize(
    "body",
    [
        'char s[99] = ""; |strcat(s, "x"); assert(strlen(s) < 4);',
        "|malloc(1); if (l64a(5) == 0) i++;",
        "|fgetc(stdin);",
    ],
    ids=["strcat", "malloc", "fgetc"],
)
def test_a_loop_that_changes_something_in_a_library_does_not_only_wait(body: str, tmp_path: Path) -> None:
    before, inside = body.split("|")
    file = tmp_path / "p.c"
    file.write_text(WAITING % (before, inside, ""))
    result = check(Source((str(file),)))
    kinds = {violation.kind for violation in result.models["sc"].violations}
    assert "livelock" not in kinds
    assert ("assertion" in kinds) == ("strcat" in body)
    assert result.verdict is not Verdict.SAFE


EVERYDAY = (
    CXX_HEAD
    + """
#include <algorithm>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <iomanip>
#include <stdexcept>
std::mutex m; std::condition_variable changed; bool ready; std::map<std::string, std::list<int>> shared;
static void work(int i) {
  std::ostringstream os; os << "key" << std::setw(3) << i << std::hex << 255 << 2.5 << std::endl;
  std::string key = os.str(); key += std::to_string(i);
  std::istringstream is("12 words"); int number; std::string word; is >> number >> word;
  assert(number == 12 && word == "words");
  auto counted = std::make_shared<int>(i); std::function<int()> call = [counted] { return *counted; }; assert(call() == i);
  std::vector<std::string> all{"b", "a"}; std::sort(all.begin(), all.end()); assert(all[0] == "a");
  try { throw std::runtime_error(key); } catch (const std::exception &e) { assert(key == e.what()); }
  std::unique_lock<std::mutex> lock(m);
  shared[key].push_back(i); ready = true; changed.notify_all();
  std::cout << key << ' ' << number << std::endl;
}
static int five() { return 5; }
int main() {
  std::thread t(work, 1);
  { std::unique_lock<std::mutex> lock(m); changed.wait(lock, [] { return ready; }); assert(shared.size() == 1); }
  t.join();
  auto later = std::async(std::launch::async, five);
  assert(later.get() == 5);
}
"""
)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_everyday_cxx_is_decided(compiler: str, tmp_path: Path) -> None:
    file = tmp_path / "p.cpp"
    file.write_text(EVERYDAY)
    result = check(Source((str(file),), ("-std=c++20",), compiler))
    assert result.verdict is Verdict.SAFE, result.notes


def test_errors_that_are_thrown_are_nobody_elses(tmp_path: Path) -> None:
    """What lies in an exception's own memory is not named, as it would be in a variable that others share."""
    file = tmp_path / "p.cpp"
    file.write_text("""#include <stdexcept>
#include <thread>
static void f() {
  try { throw std::runtime_error("no"); } catch (const std::exception &e) { if (e.what()[0] != 'n') throw; }
}
int main() { std::thread t(f), u(f); t.join(); u.join(); }
""")
    result = check(Source((str(file),)))
    assert result.verdict is Verdict.SAFE, result.notes


def test_chance_and_the_machine_bar_a_proof(tmp_path: Path) -> None:
    file = tmp_path / "p.c"
    asked = "rand() + getpid() + sched_getcpu() + syscall(186) + isatty(1) + getuid() + malloc_usable_size(malloc(1))"
    file.write_text(HEAD + f"#include <malloc.h>\n#include <unistd.h>\nint main(void) {{ return {asked}; }}")
    result = check(Source((str(file),)))
    assert result.verdict is Verdict.INCONCLUSIVE
    named = next(note for note in result.notes if note.startswith("what cannot be seen"))
    assert all(f"{what} at {file}" in named for what in ("rand", "getpid", "sched_getcpu", "the system call gettid"))
    assert all(what in named for what in ("isatty", "getuid", "malloc_usable_size"))


@pytest.mark.parametrize(
    ("asks", "note"),
    [
        (
            "sysconf(_SC_NPROCESSORS_ONLN) == 2",
            "how many processors there are: it is told 2, and the answer is about that",
        ),
        (
            "(pthread_attr_init(&a), pthread_attr_getstacksize(&a, &s), s > 1)",
            "how large stacks are that it does not say",
        ),
        ("(pthread_attr_init(&a), pthread_attr_setstacksize(&a, 1 << 17), pthread_attr_getstacksize(&a, &s), s)", None),
        ("sysconf(_SC_PAGESIZE) == 4096", None),
    ],
)
def test_what_is_asked_to_choose_a_number_is_noted(asks: str, note: str | None, tmp_path: Path) -> None:
    """Many programs ask, and any number is as good: what is proved is proved for one, as for arguments."""
    file = tmp_path / "p.c"
    head = "#define _GNU_SOURCE\n#include <assert.h>\n#include <pthread.h>\n#include <unistd.h>\n"
    file.write_text(f"{head}int main(void) {{ pthread_attr_t a; size_t s; (void)a; (void)s; assert({asks}); }}")
    result = check(Source((str(file),)))
    assert result.verdict is Verdict.SAFE
    assert [one for one in result.notes if "the program asks" in one] == [
        one for one in result.notes if note and note in one
    ]
    assert any(note in one for one in result.notes) if note else True


@pytest.mark.parametrize("name", ["PHYS_PAGES", "OPEN_MAX", "LEVEL1_DCACHE_LINESIZE"])
def test_what_else_the_machine_has_bars_a_proof(name: str, tmp_path: Path) -> None:
    file = tmp_path / "p.c"
    file.write_text(f"#include <unistd.h>\nint main(void) {{ return sysconf(_SC_{name}) == 17; }}")
    result = check(Source((str(file),)))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert any(f"what sysconf says of this machine at {file}:2" in note for note in result.notes)


OVERTAKEN = """static int x, y;
static void *f(void *p) { x = 1; char own[] = "text"; CALL; return (void *)(long)y; }
static void *g(void *p) { y = 1; __atomic_thread_fence(__ATOMIC_SEQ_CST); return (void *)(long)x; }
int main(void) { pthread_t t, s; pthread_create(&t, 0, f, 0); pthread_create(&s, 0, g, 0);
  pthread_join(t, 0); pthread_join(s, 0); }
"""


@pytest.mark.parametrize(
    ("call", "robust"),
    [
        ("n += strlen(own)", False),
        ("strfry(own)", None),
        ("n = (int)write(99, own, 4)", None),
        ("n = (int)syscall(110)", None),
    ],
)
def test_nothing_overtakes_a_call_that_nobody_follows(call: str, robust: bool | None, tmp_path: Path) -> None:
    """Who knows what fences it has: no violation may rest on there being none."""
    file = tmp_path / "p.c"
    file.write_text(HEAD + OVERTAKEN.replace("CALL", call))
    assert check(Source((str(file),))).models["tso"].robust is robust


def test_what_is_read_from_cin_is_named(tmp_path: Path) -> None:
    file = tmp_path / "p.cpp"
    file.write_text("#include <iostream>\nint main() { int i = 0; std::cin >> i; return 0; }")
    result = check(Source((str(file),)))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert any("operator>>" in note for note in result.notes)


def test_what_replaces_a_function_does_what_it_did(tmp_path: Path) -> None:
    file = tmp_path / "p.c"
    file.write_text(
        HEAD + "#include <assert.h>\nstatic int down(const void *a, const void *b) { return *(int *)b - *(int *)a; }\n"
        "int main(void) { char s[8] = {'a', 0, 'c', 'd', 'e', 'f'}, t[4], *end; int n[] = {2, 3, 1};\n"
        """  assert(!strcmp(strncat(s, "xyz", 1), "ax") && s[3] == 'd' && !strcmp(strncpy(t, "x", 4), "x") && !t[3]);
          assert(!strncmp("ab", "ac", 1) && !strcasecmp("aB", "Ab") && strspn("abc", "ba") == 2 && strrchr("abab", 97)[1]);
          assert(strtol(" -0x1fg", &end, 0) == -31 && *end == 'g');
          qsort(n, 3, sizeof *n, down); assert(n[0] == 3 && n[1] == 2 && n[2] == 1); }"""
    )
    result = check(Source((str(file),)))
    assert not result.violations
    assert result.complete


KEYS = """#include <pthread.h>
static pthread_key_t key = ~0U;
int mine(void) {
  if (pthread_getspecific(key)) return 1;
  if (key == ~0U) pthread_key_create(&key, 0);
  return pthread_setspecific(key, &key);
}"""
KEPT = """#include <pthread.h>
int mine(void);
static void *f(void *p) { mine(); return p; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); mine(); pthread_join(t, 0); }"""


def test_what_a_library_does_with_keys_of_its_own_is_not_blamed(tmp_path: Path) -> None:
    """It may even ask for one that was never made: the C library answers that there is nothing."""
    (tmp_path / "own.c").write_text(KEYS)
    (tmp_path / "p.c").write_text(KEPT)
    library = str(tmp_path / "libown.so")
    subprocess.run(["gcc", "-fPIC", "-shared", str(tmp_path / "own.c"), "-o", library], check=True)
    result = check(Source((str(tmp_path / "p.c"),), (library,), compiler="gcc"))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert not result.violations
    assert any("mine() in libown.so" in note for note in result.notes)


PIPE = """#include <assert.h>
#include <pthread.h>
#include <unistd.h>
static int ends[2], x;
static void *f(void *p) { x = 1; return (void *)write(ends[1], "", 1); }
static void *g(void *p) { char c; long n = read(ends[0], &c, 1); assert(x == 1); return (void *)n; }
int main(void) { if (pipe(ends)) return 1; pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
  pthread_join(t, 0); pthread_join(u, 0); }"""


@pytest.mark.parametrize("goal", ["robust", "safe"])
def test_threads_that_meet_in_a_pipe_are_not_blamed(goal: Goal, tmp_path: Path) -> None:
    """What is written there passes locks of the kernel, and who reads it waits: neither is explored, both are named."""
    (tmp_path / "p.c").write_text(PIPE)
    result = check(Source((str(tmp_path / "p.c"),)), CheckOptions(models=("tso",), goal=goal))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert not result.violations
    assert not any("overwrites" in note for note in result.notes)
    assert any("what cannot be seen: pipe" in note for note in result.notes)
