"""A C program with a few hundred executions, and what is told of it: the same from any number of processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from teetotal import checking
from teetotal.answers.options import CheckOptions
from teetotal.programs import files
from teetotal.report.json import to_json
from teetotal.scale.scale import Scale, Slice

COUNTING = """
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
atomic_int x, y;
static void *count(void *other) {
    for (int i = 0; i < ROUNDS; i++) { int v = atomic_load(&x); atomic_store(&x, v + 1); }
    atomic_store_explicit(other == 0 ? &y : &x, 7, memory_order_relaxed);
    return 0;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, count, 0);
    pthread_create(&b, 0, count, &x);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(x != 2);
    return 0;
}
"""
BUFFERING = """
#include <pthread.h>
volatile int x, y, r, s;
static void *left(void *unused) { x = 1; r = y; return unused; }
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, left, 0);
    y = 1;
    s = x;
    pthread_join(a, 0);
    return 0;
}
"""
CROSSING = """
#include <assert.h>
#include <pthread.h>
volatile int x, y, z;
static void *left(void *unused) { z = 1; x = 1; y = 1; z = 2; int r = y; x = r + 1; return unused; }
static void *right(void *unused) { y = 2; x = 3; int r = x; z = r; assert(!(x == 2 && y == 2 && z == 1)); return unused; }
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, left, 0);
    pthread_create(&b, 0, right, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
"""
"""With store buffers, thousands of executions."""
SMALL = Slice(60.0, 60)


def told(path: Path, scale: Scale | None = None, options: CheckOptions = CheckOptions(triage=0.0)) -> dict[str, Any]:
    (subject,) = files.read((str(path),), options)
    answer = json.loads(to_json(checking.check(subject, options, scale=scale)))
    return {name: value for name, value in answer.items() if name not in ("seconds", "cpu")}
