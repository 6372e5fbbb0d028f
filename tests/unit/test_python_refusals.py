"""What a thread, a program or a condition may not say: each is refused with its line and the reason."""

from __future__ import annotations

import re
from typing import Any

import pytest

from python_reference import execute
from teetotal.answers.errors import ProgramError

HEAD = """from teetotal import *
cells = array("cells", 3)
def recursive(n):
    yield from mutual(n)
def mutual(n):
    yield from recursive(n)
def long(n):
    n = n + 1
    return n
def again(n): return again(n)
def walrus(n): return (m := n) + m
def mixed(n):
    if (yield ld("x")):
        return 1
def helper(n): yield st("x", n)
def stars(*ns): yield st("x", ns[0])
def t():
    yield mfence
"""
LINE = HEAD.count("\n") + 1


def refusal(body: str) -> str:
    """The message of a thread that is refused at the last line of its body."""
    indented = "\n".join("    " + line for line in body.splitlines())
    module = execute(HEAD + indented + "\n")
    with pytest.raises(ProgramError) as caught:
        module["program"](module["t"](), x=0, y=0)
    assert caught.value.location is not None
    assert caught.value.location.line == LINE + body.count("\n"), str(caught.value)
    assert caught.value.location.file.startswith("<module ")
    return caught.value.message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("a = 2**63", "`a` is not between -2**63 and 2**63 - 1"),
        ('r = yield ld("x")\nif r < 2**63: yield mfence', "`2 ** 63` is not between -2**63 and 2**63 - 1"),
        ("yield", "a bare `yield` asks nothing of memory"),
        ("yield 3", "`yield 3` is not an operation on memory"),
        ("yield helper(1)", "use `yield from helper(1)`"),
        ("helper(1)", "nothing happens without a yield: `yield from helper(1)`"),
        ('st("x", 1)', "nothing happens without a yield: `yield st('x', 1)`"),
        ('print("x")', "`print('x')` does nothing in a thread"),
        ('r = yield ld("q")', "location 'q' is not declared: give `program` its initial value, as in `q=0`"),
        ("r = yield ld(x)", '`x` is not defined; a location is named by a string, "x"'),
        ("r = yield ld(cells)", "`cells` is an array: give an index"),
        ("r = yield ld(cells[3])", "IndexError: cells[3]: the array has 3 elements"),
        ("r = yield ld(cells[-1])", "IndexError"),
        ('r = yield ld("x")\nyield ld(f"x{r}")', "needs `r`, which is known only at run time; use an array"),
        ('r = yield ld("x")\nyield ld("xy"[r])', "only an array(…) can be indexed by what is known at run time"),
        ('yield st("x")', "missing a required argument: 'value'"),
        ('yield st("x", *(1,))', "possible only where everything is constant"),
        ('yield st("x", "y")', "is a str, and the program computes with integers only; the address of a location is"),
        ('yield st("x", 1.5)', "is a float, and the program computes with integers only"),
        ('yield st("x", cells[(yield ld("x"))])', "is a location: load it with `yield ld("),
        ('yield st("x", ld("y"))', "is a Request, and the program computes with integers only"),
        ('r = yield ld("x")\nyield st("x", max(r, ld("y")))', "is a Request"),
        ('r = yield ld("x")\nyield st("x", st("y", r))', "an operation happens when it is yielded: `yield st('y', r)`"),
        ('r = yield ld("x")\na = r / 2', "`/` gives a float: use `//`"),
        ('r = yield ld("x")\na = r ** 2', "`**` is possible only between constants"),
        ('r = yield ld("x")\na = r @ 2', "`@` has no meaning for integers"),
        ('r = yield ld("x")\na = 6 // r', "`//` needs a constant other than 0 on its right, `r` is not"),
        ('r = yield ld("x")\na = r % 0', "`%` needs a constant other than 0"),
        ('r = yield ld("x")\nr %= r', "`%` needs a constant other than 0"),
        ('r = yield ld("x")\na = r << 64', "a shift by `64`, which is not a constant from 0 to 63"),
        ('r = yield ld("x")\nyield rmw("x", lambda old: 1 << old)', "the function of an rmw runs in one step"),
        ('r = yield rmw("x", lambda old: old + (yield ld("y")))', "the function of an rmw runs in one step"),
        ('r = yield rmw("x", lambda: 3)', "must take 1 argument"),
        ('r = yield rmw("x", lambda old: "new")', "is a str"),
        ('r = yield rmw("x", abs)', "is not a Python function: teetotal cannot look inside it"),
        ('r = yield rmw("x", long)', "it must be one `return`"),
        ('r = yield ld("x")\na = r is None', "`is` compares objects: use `==`"),
        ('r = yield ld("x")\na = r == None', "is a NoneType"),
        ('r = yield ld("x")\na = 1 in range(r)', "`in` needs a tuple, a list or a constant on its right"),
        ('r = yield ld("x")\na = 1 in (0, r) == 1', "`in` stands alone: use `and`"),
        ('r = yield ld("x")\na = [r]', "`[r]` needs `r`, which is known only at run time"),
        ('r = yield ld("x")\na = [n for n in range(r)]', "needs `r`, which is known only at run time"),
        ('r = yield ld("x")\na = r.real', "needs `r`"),
        (
            'r = yield ld("x")\na = long(r)',
            "long is called with what is known only at run time: it must be one `return`",
        ),
        ('r = yield ld("x")\na = len(r)', "`len` can be called only with constants"),
        ('r = yield ld("x")\na = helper(r)', "`helper` is a generator: use `yield from helper(r)`"),
        ('r = yield ld("x")\na = r()', "`r` is known only at run time, and cannot be called"),
        ('r = yield ld("x")\na = assume(r)', "`assume(…)` is a statement of its own"),
        ('r = yield ld("x")\na = max(r, 1, key=abs)', "with keywords is not supported"),
        ('r = yield ld("x")\na = max(r)', "is not supported"),
        ('r = yield ld("x")\na = r + (r := 2)', "`r` is read and then assigned again in one expression"),
        ('r = yield ld("x")\na = (r := r + 1) + (r := r + 2)', "`r` is read and then assigned again"),
        ("a = b", "`b` is not defined"),
        ("a = a + 1", "`a` may be read before it is assigned"),
        ('if (yield ld("x")):\n    a = 1\nyield st("x", a)', "`a` may be read before it is assigned"),
        ('while (yield ld("x")):\n    a = 1\nyield st("x", a)', "`a` may be read before it is assigned"),
        ('for a in range((yield ld("x"))):\n    pass\nyield st("x", a)', "`a` may be read before it is assigned"),
        ("i = 0\nwhile i < 3:\n    i += 1\nyield st(f'x{i}', 1)", "needs `i`, which is known only at run time"),
        ('a = None\nif (yield ld("x")):\n    a = 1\nyield st("x", a)', "`a` can be different things here"),
        ('s = "q"\nif (yield ld("x")):\n    s = "x"\nyield st(s, 1)', "`s` can be different things here"),
        ('a = 1\na = "text"', "`a` holds integers elsewhere, and cannot hold 'text' here"),
        ("a = 1 // 0", "`1 // 0` raises ZeroDivisionError"),
        ("a, b = 1, 2, 3", "2 names for 3 values"),
        ("a, b = 5", "5 cannot be unpacked"),
        ("*a, b = 1, 2", "`*a = …` is possible only"),
        ('a, b = yield ld("x")', "is possible only with constants on its right"),
        ("cells[0] = 1", "`cells[0] = …`: shared memory is written with `yield st(…)`"),
        ("cells[0] += 1", "shared memory is written with `yield st(…)`"),
        ("cells.a: int = 1", "shared memory is written with `yield st(…)`"),
        ("del cells", "`del cells` (Delete) is not supported in a thread"),
        ("import os", "import outside the thread"),
        ("raise ValueError", "use assert"),
        ("for i in 5: pass", "`5` is not something to go through"),
        ("for i in (k for k in range(10**9)): pass", "has more than 256 items"),
        ('for i in (1, (yield ld("x"))): pass', "only range(…) or constants can be gone through"),
        ('for i in range((yield ld("x")), 3, 0): pass', "the step of a range is a constant other than 0"),
        ('for i, j in range((yield ld("x"))): pass', "is one name"),
        ('for i in range(1, 2, 3, (yield ld("x"))): pass', "range takes 1 to 3 arguments, not 4"),
        ("yield from 3", "that is not a call of a generator function"),
        ('yield from stars((yield ld("x")))', "takes any number of arguments: not supported"),
        ("yield from helper()", "missing a required argument: 'n'"),
        ("r = yield from mixed(1)", "`mixed` returns now an integer, now something else"),
    ],
)
def test_refused(body: str, message: str) -> None:
    assert message in refusal(body)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("with cells:\n    pass", "use lock and unlock"),
        ("try:\n    pass\nfinally:\n    pass", "a thread raises nothing that it could catch"),
        ("def inner():\n    pass", "define helpers outside the thread"),
        ("class Inner:\n    pass", "define classes outside the thread"),
        ("global x\nx = 1", "threads share memory only through operations"),
        ("match 1:\n    case 1:\n        pass", "(Match) is not supported in a thread"),
        ('r = again((yield ld("x")))', "again calls itself: recursion is not supported"),
        ('r = walrus((yield ld("x")))', "`:=` is possible in threads and helpers only"),
        ("yield from recursive(1)", "`recursive` comes back to itself: recursion is not supported"),
    ],
)
def test_refused_somewhere_inside(body: str, message: str) -> None:
    indented = "\n".join("    " + line for line in body.splitlines())
    module = execute(HEAD + indented + "\n")
    with pytest.raises(ProgramError, match=re.escape(message)) as caught:
        module["program"](module["t"](), x=0, y=0)
    assert caught.value.location is not None


PROGRAMS = [
    ("program(x=0)", "a program has at least one thread"),
    ("program(t, x=0)", "thread 0 is a function, not a generator: call it, `t(…)`"),
    ("program(len, x=0)", "thread 0 is a builtin_function_or_method, not a generator"),
    ("program(plain, x=0)", "not a generator: `plain` has no yield"),
    ("program(t(), x='one')", "location 'x' begins with 'one', a str; locations hold integers"),
    ("program(t(), x=0, memory={'x': 0})", "location 'x' is declared twice"),
    ("program(t(), x=address('q'))", "location 'x' begins with the address of 'q', not declared"),
    ("program(t(), x=0, loop_bound=-1)", "loop_bound is -1"),
    ("program(t(), x=0, exists='t.r == 0', forall='t.r == 0')", "ask one of exists, forall and never"),
    ("program(used(), x=0)", "the generator t() has already run; make a new one"),
    ("program((yield_ for yield_ in ()), x=0)", "cannot find the source of <genexpr>"),
    ("program(unnamed(), x=0)", "a thread is a generator function made with `def`"),
    ("program(P1(), t(), x=0)", "thread 0 is called P1, which always means thread 1"),
    ("program(indexed(), memory={'a[1]': 0, 'a[0]': 0})", "the array 'a' of length 2 is declared as something else"),
    (
        "program(t(), x=0, exists='t.q == 0')",
        "thread `t` has no local `q`, as the condition 't.q == 0' wants: there is r",
    ),
    ("program(t(), x=0, exists='u.r == 0')", "no thread `u` in the condition 'u.r == 0': there is P0, t"),
    ("program(t(), x=0, exists='y == 0')", "no location `y` in the condition 'y == 0': there is x"),
    ("program(t(), x=0, exists='r == 0')", "a local is written thread.name"),
    ("program(t(), x=0, exists='t.r ==')", "the condition 't.r ==' is not a Python expression"),
    ("program(t(), x=0, exists=5)", "exists is 5, and must be a string"),
    ("program(t(), x=0, exists='t.r == address(\"q\")')", "is not supported in the condition"),
    ("array('a', 2, initial=[0])", "array 'a' of length 2 with 1 initial values"),
    ("array('a', 2, initial='ab')", "array 'a' begins with 'a'; locations hold integers"),
    ("program(t(), x=0, exists='')", "is not a Python expression"),
    ("program(t(), x=0, exists='f(x)')", "`f(x)` is not supported in the condition 'f(x)'"),
    ("program(t(), x=0, exists='(yield x)')", "is not supported in the condition"),
    ("program(t(), x=0, exists='x // t.r')", "`//` needs a constant other than 0"),
    ("program(t(), x=0, exists='1 << t.r')", "which is not a constant from 0 to 63"),
    ("program(t(), x=0, exists='x == \"a\"')", "not supported in the condition"),
    ("program(t(), x=0, exists='x[0] == 1')", "no location `x[0]`"),
]


@pytest.mark.parametrize(("call", "message"), PROGRAMS)
def test_programs_and_conditions_refused(call: str, message: str) -> None:
    text = """from teetotal import *
a = array("a", 2)
def t():
    r = yield ld("x")
def P1(): yield ld("x")
def indexed(): yield ld(a[0])
def plain(): pass
unnamed = lambda: (yield mfence)
def used():
    g = t()
    next(g)
    return g
def make():
    return """
    module = execute(text + call + "\n")
    with pytest.raises(ProgramError, match=re.escape(message)) as caught:
        module["make"]()
    if "t(), x=0" in call and "P1" not in call:
        assert caught.value.location is not None
        assert caught.value.location.line == text.count("\n") + 1


def test_a_thread_that_grows_out_of_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("teetotal.programs.python.code.LONGEST", 1000)
    module = execute(HEAD + "    for i in range(250):\n        for j in range(250):\n            yield mfence\n")
    with pytest.raises(ProgramError, match="a thread of more than 1000 instructions") as caught:
        module["program"](module["t"](), x=0, y=0)
    assert caught.value.location is not None
    assert caught.value.location.line in (LINE + 1, LINE + 2)


def test_code_without_a_source_is_refused() -> None:
    namespace: dict[str, Any] = {}
    exec("from teetotal import *\ndef t():\n    yield mfence\n", namespace)
    with pytest.raises(ProgramError, match="the source of t is not available; write it in a file"):
        namespace["program"](namespace["t"]())


def test_endless_computation_is_refused_with_its_line() -> None:
    module = execute("from teetotal import *\ndef t():\n    yield mfence\n    while True:\n        pass\n")
    program = module["program"](module["t"]())
    with pytest.raises(ProgramError, match="thread 0 loops without touching memory") as caught:
        program.update(0, program.start(0), None)
    assert caught.value.location is not None
    assert caught.value.location.line == 4


STATEFUL = """from teetotal import *
import itertools, random, types
n = 0
kept = []
numbers = itertools.count()
def counter():
    global n
    n += 1
    return n
def slow_counter():
    global n
    n += 1
    return n // 5
def appending():
    kept.append(1)
    return 1
def through(f): return f()
def enclosed():
    seen = {"calls": 0}
    def inner():
        seen["calls"] += 1
        return 7
    return inner
inner = enclosed()
def rebinding():
    calls = 0
    def inner():
        nonlocal calls
        calls += 1
        return 7
    return inner
other = rebinding()
def default(seen=[]):
    seen.append(1)
    return 7
class Object:
    calls = 0
    def method(self):
        self.calls += 1
        return 7
thing = Object()
def drawn(): return random.randrange(1000) * 0
class Counted:
    calls = 0
    @property
    def seen(self):
        Counted.calls += 1
        return 7
counted = Counted()
def in_class():
    Counted.calls += 1
    return 7
module = types.ModuleType("module")
module.calls = 0
def in_module():
    module.calls += 1
    return 7
module.function = in_module
def in_itself():
    in_itself.calls = getattr(in_itself, "calls", 0) + 1
    return 7
def in_a_comprehension(): return [7 for _ in "a" if not kept.append(1)][0]
def keyword(*, seen=[]):
    seen.append(1)
    return 7
def making():
    global made
    made = 1
    return 7
"""


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("counter()", "changes `n`"),
        ("slow_counter()", "changes `n`"),
        ("appending()", "changes `kept`"),
        ("through(counter)", "changes `n`"),
        ("through(lambda: counter())", "changes `n`"),
        ("inner()", "changes `seen`"),
        ("other()", "changes `calls`"),
        ("default()", "changes `default 0 of default`"),
        ("thing.method()", "changes `"),
        ("drawn()", "changes `random`"),
        ("in_class()", "changes `Counted.calls`"),
        ("counted.seen", "changes `Counted.calls`"),
        ("in_module()", "changes `module.calls`"),
        ("module.function()", "changes `module.calls`"),
        ("through(lambda: module.function())", "changes `module.calls`"),
        ("in_itself()", "changes `an attribute of in_itself`"),
        ("in_a_comprehension()", "changes `kept`"),
        ("keyword()", "changes `default 0 of keyword`"),
        ("making()", "changes `made`"),
        ("next(numbers)", "gives another value when it is evaluated again"),
    ],
)
def test_helpers_with_a_state_of_their_own(call: str, why: str) -> None:
    """In a loop Python would call it in each round, and teetotal calls it once: not the same program."""
    text = f'{STATEFUL}def t():\n    for i in range(2):\n        yield st("x", {call})\n'
    module = execute(text)
    with pytest.raises(ProgramError, match=re.escape(why)) as caught:
        module["program"](module["t"](), x=0)
    assert caught.value.location is not None
    assert caught.value.location.line == text.count("\n")


def test_helpers_without_one() -> None:
    """Constants, objects that are only read, functions of other functions, and generators of their own are no state."""
    module = execute(
        STATEFUL + "table = {1: [5]}\n"
        "def pure(n): return table[n][0] + len(kept)\n"
        "def drawing(): return random.Random(3).randrange(10) * 0 + 1\n"
        "def t():\n    yield st('x', pure(1) + through(lambda: 2) + drawing() + thing.calls)\n"
    )
    assert module["program"](module["t"](), x=0, always="x == 8").threads[0].code[0].value.value == 8


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1])
def test_numbers_of_more_than_64_bits(number: int) -> None:
    module = execute('from teetotal import *\ndef t():\n    r = yield ld("x")\n')
    build, thread = module["program"], module["t"]
    with pytest.raises(ProgramError, match=re.escape(f"location 'x' begins with {number}, which is not between")):
        build(thread(), x=number)
    with pytest.raises(ProgramError, match="is not between -2\\*\\*63 and") as caught:
        build(thread(), x=0, exists=f"t.r == {number}")
    assert caught.value.location is not None
    for fits in (2**63 - 1, -(2**63)):
        assert build(thread(), x=fits, exists=f"t.r == {fits}").memory == {"x": fits}


def test_what_python_warns_of_is_not_refused() -> None:
    """Newer Pythons warn of more (``~True``); here of what all warn of."""
    with pytest.warns(SyntaxWarning):
        module = execute(HEAD + '    yield st("x", 5 if 1 is 1 else 7)\n')
    assert module["program"](module["t"](), x=0) is not None
