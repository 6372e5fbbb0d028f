#!/bin/sh
# Builds teetotal with each of the C++ compilers that are named (g++ without any) under each set of flags below, and runs
# the demo with what was built. In an environment that has been built already, for its packages:
#   PYTHON=.venv/bin/python SETS="plain hardened" sh packaging/builds.sh g++-12 clang++-14
# Each build is kept in build/flags/COMPILER-SET, so that the next time only what has changed is compiled.
set -eu
cd "$(dirname "$0")/.."
python=$(cd "$(dirname "${PYTHON:-.venv/bin/python}")" && pwd)/python
cmake=$(dirname "$python")/cmake
ninja=$(dirname "$python")/ninja

# What distributions compile with.
hardening="-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection"
hardening="$hardening -fcf-protection=full -D_GLIBCXX_ASSERTIONS -fPIE"

configure() { # SET FOLDER COMPILER
    compile='' link='' executable='' standard=20
    case $1 in
    plain) ;;
    hardened) compile=$hardening link='-Wl,-z,now -Wl,--as-needed' executable=-pie ;;
    static) link=-static-libstdc++ ;;
    c++23) standard=23 ;;
    *) echo "builds: no set of flags is called $1" >&2; exit 2 ;;
    esac
    "$cmake" -S . -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_MAKE_PROGRAM="$ninja" \
        -DPython_EXECUTABLE="$python" -DCMAKE_CXX_COMPILER="$3" -DCMAKE_CXX_STANDARD="$standard" \
        -DCMAKE_CXX_FLAGS="$compile" -DCMAKE_SHARED_LINKER_FLAGS="$link" -DCMAKE_MODULE_LINKER_FLAGS="$link" \
        -DCMAKE_EXE_LINKER_FLAGS="$link $executable" ${OPTIONS:-} >/dev/null
}

# What was built, as a package of its own beside the others of the environment.
try() { # FOLDER
    rm -rf "$1/tree" "$1/try"
    mkdir -p "$1/tree"
    cp -r src/teetotal "$1/tree/teetotal"
    "$cmake" --install "$1" --prefix "$1/tree" >/dev/null
    "$python" -m venv --without-pip "$1/try"
    "$python" -c "import sysconfig; print('$PWD/$1/tree'); print(sysconfig.get_path('purelib'))" \
        >"$(echo "$1"/try/lib/python3*/site-packages)/built.pth"
    printf '#!/bin/sh\nexec "%s" -m teetotal "$@"\n' "$PWD/$1/try/bin/python" >"$1/try/bin/teetotal"
    chmod +x "$1/try/bin/teetotal"
    PATH="$PWD/$1/try/bin:$PATH" sh examples/demo.sh >"$1/demo" 2>&1 || { cat "$1/demo"; return 1; }
}

[ $# -gt 0 ] || set -- g++
failed=0
for compiler; do
    for flags in ${SETS:-plain hardened static c++23}; do
        folder=build/flags/$(basename "$compiler")-$flags
        mkdir -p "$folder"
        if configure "$flags" "$folder" "$compiler" && "$cmake" --build "$folder" >"$folder/log" 2>&1 && try "$folder"; then
            echo "builds: $compiler, $flags: works, $(grep -c 'warning:' "$folder/log" || true) warnings"
        else
            grep -E 'error|undefined|multiple definition' "$folder/log" | head -20
            echo "builds: $compiler, $flags: FAILS, see $folder/log"
            failed=1
        fi
    done
done
exit $failed
