"""What takes long enough to be divided, or killed on the way: explorations and histories as long as one likes."""

from __future__ import annotations

from teetotal.histories.generate import random_history, to_axe


def two_threads(functions: str) -> str:
    """A C program of two threads, ``left`` and ``right``."""
    return f"""
#include <pthread.h>
{functions}
int main(void) {{
    pthread_t a, b;
    pthread_create(&a, 0, left, 0);
    pthread_create(&b, 0, right, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}}
"""


def buffering_after(rounds: int) -> str:
    """Store buffering behind so many times (load; store) of a variable, of each of two threads."""

    def thread(name: str, own: str, other: str) -> str:
        return f"""
static void *{name}(void *unused) {{
    for (int i = 0; i < {rounds}; i++) {{ int v = z; z = v + 1; }}
    {own} = 1;
    int r = {other};
    {other} = r;
    return unused;
}}"""

    return two_threads("volatile int x, y, z;" + thread("left", "x", "y") + thread("right", "y", "x"))


def history_of_rounds(rounds: int, operations: int) -> str:
    """One history in axe's format: rounds of so many operations, each with addresses of its own."""
    lines: list[str] = []
    for number in range(1, rounds + 1):
        text = to_axe(random_history(threads=8, addresses=16, operations=operations, seed=number))
        lines += [line for line in text.replace("M[", f"M[{number}000").splitlines() if line[0].isdigit()]
    return "\n".join([*lines, "check"]) + "\n"
