// Numbers that the headers of older C libraries have no names for. They are part of the ABI of Linux on x86-64, and
// programs that were built with newer headers ask by them, so they must be known whatever this is compiled with.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif

namespace teetotal::runtime {

inline constexpr int kMinimalSignalStack = 249;  // _SC_MINSIGSTKSZ, glibc 2.34
inline constexpr int kSignalStack = 250;         // _SC_SIGSTKSZ

}  // namespace teetotal::runtime
