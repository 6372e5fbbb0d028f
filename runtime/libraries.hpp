// What the program calls in libraries: whether any of it keeps something of its own from one call to the next.
#pragma once

namespace teetotal::runtime {

// Whether everything that the object around an address imports is a hook of ours, or keeps nothing that the program
// could see again: the condition of snapshots. Of the C library that is a list; the mathematical and the C++ library
// keep what they have in the program's own heap and objects, but for thread-local variables; others are not known.
bool imports_keep_nothing(const void* inside);

}  // namespace teetotal::runtime
