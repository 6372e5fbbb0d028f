"""Where things lie in memory differs from run to run: what a program makes of that bars a proof, and is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from c_programs import COMPILERS
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.programs.c.build import Source


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ('char t[32]; snprintf(t, sizeof t, "%p", (void *)malloc(8));', True),
        ('char t[32]; sprintf(t, "%lx", (unsigned long)malloc(8));', True),
        ("std::ostringstream s; s << (void *)malloc(8);", True),
        ("std::ostringstream s; s << (unsigned long)malloc(8);", True),
        ('char t[64]; snprintf(t, sizeof t, "%p %ld", (void *)0, 42L); std::ostringstream s; s << 42L;', False),
        ('printf("%p", (void *)malloc(8)); std::cerr << (void *)malloc(8);', False),
    ],
)
def test_the_digits_of_an_address_bar_a_proof(body: str, named: bool, tmp_path: Path) -> None:
    file = tmp_path / "p.cpp"
    headers = {"malloc": "cstdlib", "printf": "cstdio", "std::cerr": "iostream", "stringstream": "sstream"}
    included = "".join(f"#include <{name}>\n" for used, name in headers.items() if used in body)
    file.write_text(included + f"int main() {{ {body} }}")
    result = check(Source((str(file),)))
    assert result.verdict is (Verdict.INCONCLUSIVE if named else Verdict.SAFE), result.notes
    assert any("the digits of an address" in note for note in result.notes) is named


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("int *p = malloc(4), *q = malloc(4); assert(p - q < 0);", True),
        ("int own; static int *all; all = malloc(4); assert((char *)&own - (char *)all > 0);", True),
        ("int *p = malloc(8), *q = p + 2; assert(q - p == 2);", False),
        ("int own[4], *p = own, *q = own + 4; assert(q - p == 4); long n = 7, m = 9; assert(n - m == -2);", False),
    ],
)
def test_the_distance_of_two_objects_bars_a_proof(body: str, named: bool, compiler: str, tmp_path: Path) -> None:
    """Its sign is their order, and was not asked for."""
    file = tmp_path / "p.c"
    file.write_text("#include <assert.h>\n#include <stdlib.h>\nint main(void) { " + body + " }\n")
    result = check(Source((str(file),), (), compiler))
    assert result.verdict is (Verdict.INCONCLUSIVE if named else Verdict.SAFE), result.notes
    assert any("how far they are apart" in note for note in result.notes) is named
