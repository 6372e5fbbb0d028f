#!/bin/sh
# CMake starts each compiler through this (CMakeLists.txt). pip shows nothing of what a build prints, for minutes: so that
# somebody who waits sees how far it is, this writes to the terminal, if there is one and pip is who builds.
"$@" || exit
[ -n "${PIP_BUILD_TRACKER-}" ] || exit 0
( : >/dev/tty ) 2>/dev/null || exit 0  # a subshell: where there is none, dash would give up
of=$(grep -c '^build .*\.o:' build.ninja 2>/dev/null)
printf '\r\033[Kteetotal: %s of %s files are compiled ' "$(find . -name '*.o' | wc -l)" "${of:-?}" >/dev/tty
