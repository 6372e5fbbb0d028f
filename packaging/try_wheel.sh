#!/bin/sh
# What someone does who has a wheel of teetotal and nothing else: installs it into a new environment, and uses every verb.
#   sh packaging/try_wheel.sh PYTHON FOLDER-WITH-WHEELS
# examples/ must lie beside packaging/. A machine without a C compiler, or with a C library before glibc 2.34, checks everything
# but C, and says what is missing.
set -eu
python=$1 wheels=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp -r "$here/examples" .

# expect STATUS COMMAND…
expect() {
    wanted=$1
    shift
    status=0
    "$@" >output 2>&1 || status=$?
    [ "$status" -eq "$wanted" ] && { echo "as it should: $* ($status)"; return; }
    echo "expected exit status $wanted, got $status: $*"
    cat output
    exit 1
}

"$python" -m venv environment
. environment/bin/activate
pip install --quiet --disable-pip-version-check pytest
# Of several wheels pip takes the one that fits; what it needs comes from the index.
version=$(ls "$wheels" | sed -n 's/^teetotal-\([^-]*\)-.*whl$/\1/p' | sort -u | tail -1)
pip install --quiet --disable-pip-version-check --find-links "$wheels" "teetotal==$version"

expect 0 teetotal --version
cat output
expect 1 teetotal check examples/dekker.py
expect 0 teetotal fence examples/store_buffering.py
cat >history.txt <<'TEXT'
T0: st x = 1
T0: ld y -> 0
T1: st y = 1
T1: ld x -> 0
TEXT
expect 1 teetotal history --model sc history.txt
expect 0 teetotal history --model tso history.txt
cat >lock.pml <<'TEXT'
byte turn; bool inside0, inside1;
active proctype P0() { do :: turn == 0 -> inside0 = true; assert(!inside1); inside0 = false; turn = 1 od }
active proctype P1() { do :: turn == 1 -> inside1 = true; assert(!inside0); inside1 = false; turn = 0 od }
TEXT
expect 0 teetotal verify --model tso lock.pml
cat >test_buffers.litmus <<'TEXT'
X86_64 SB
{ }
 P0          | P1          ;
 movq $1,(x) | movq $1,(y) ;
 mfence      | mfence      ;
 movq (y),%rax | movq (x),%rax ;
~exists (0:rax=0 /\ 1:rax=0)
TEXT
expect 0 python -m pytest -q test_buffers.litmus
glibc=$(getconf GNU_LIBC_VERSION | sed 's/.* 2\.//')
if command -v "${CC:-cc}" >/dev/null && [ "$glibc" -ge 34 ]; then
    expect 1 teetotal check examples/dekker.c
    expect 0 teetotal fence examples/handover.c
    cat >shared.cpp <<'TEXT'
#include <atomic>
#include <cassert>
#include <map>
#include <mutex>
#include <thread>
int main() {
  std::mutex m;
  std::map<int, long> squares;
  std::atomic<int> count{0};
  auto work = [&](int k) {
    std::lock_guard lock(m);
    squares[k] = k * k;
    ++count;
  };
  std::thread a(work, 1), b(work, 2);
  a.join();
  b.join();
  assert(count == 2 && squares.size() == 2 && squares[2] == 4);
}
TEXT
    expect 0 teetotal check shared.cpp -- -std=c++17
else
    expect 2 teetotal check examples/dekker.c
    cat output
fi
echo "the wheel works"
