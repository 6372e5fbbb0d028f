// Included before all else in everything of runtime/ (CMakeLists.txt). Under some flags, which distributions' compilers
// set by themselves, the C library's headers give functions the names of variants (__longjmp_chk for longjmp, mmap64
// for mmap) and bodies. The runtime defines functions of these names itself: it needs them as they are declared.
#pragma once
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#undef _TIME_BITS
