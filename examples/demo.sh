#!/bin/sh
# Dekker's algorithm keeps two threads apart on paper. Here it is on store buffers, without and with fences.
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

echo "== Dekker's mutual exclusion, as in the textbooks and with fences, on TSO and PSO"
expect 1 teetotal check examples/dekker.py

echo
echo "== One violating execution again, from its token alone"
expect 1 teetotal replay 1t:0x2.1.1c.1.0c examples/dekker.py --program unfenced

echo
echo "== The verdicts, as a script reads them"
echo "\$ teetotal check --json examples/dekker.py"
answers=$(teetotal check --json examples/dekker.py) || [ $? -eq 1 ] || fail "check --json failed"
printf '%s\n' "$answers" | python3 -c '
import json, sys

found = {}
for line in sys.stdin:
    result = json.loads(line)
    found[result["name"]] = {name: (model["robust"], model["safe"]) for name, model in result["models"].items()}
    print(result["name"], result["verdict"], "complete" if result["complete"] else "not complete", found[result["name"]])
    if not result["complete"]:
        sys.exit("demo: not everything was explored")
expected = {
    "unfenced": {"sc": (True, True), "tso": (False, False), "pso": (False, False)},
    "fenced": {"sc": (True, True), "tso": (True, True), "pso": (True, True)},
}
if found != expected:
    sys.exit(f"demo: expected {expected}")
'
echo
echo "The textbook's version lets both threads in; with fences it is proved safe and robust on TSO and PSO."
