#!/bin/sh
# Dekker's algorithm keeps two threads apart on paper. Here it is on store buffers: the violation, the fences, the proof.
# `make demo` runs this; so does `sh examples/demo.sh` wherever teetotal is installed. Fails if a verdict is not the expected one.
set -eu
cd "$(dirname "$0")/.."

fail() {
    echo "demo: $*" >&2
    exit 1
}

# expect STATUS COMMAND…: shows the command and runs it
expect() {
    wanted=$1
    shift
    echo "\$ $*"
    status=0
    "$@" || status=$?
    [ "$status" -eq "$wanted" ] || fail "expected exit status $wanted, got $status"
}

command -v teetotal >/dev/null || fail "no teetotal on the PATH; run make demo, or pip install . first"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "== Dekker's mutual exclusion in C, as in the textbooks, on TSO and PSO"
expect 1 teetotal check examples/dekker.c

echo
echo "== The fewest fences that make it robust"
cp examples/dekker.c "$work/dekker.c"
expect 0 teetotal fence "$work/dekker.c" --write

echo
echo "== The patched program, proved"
expect 0 teetotal check "$work/dekker.c"

echo
echo "The textbook's version lets both threads in; with the fences it is proved robust on TSO and PSO."
