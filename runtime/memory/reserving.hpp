// Addresses for what grows: reserved from the beginning, so that nothing else comes to lie there. A program's heap, its
// stacks and the messages about it have 1.2 TB of them, of which next to nothing is used.
//
// Linux gives that for nothing, unless it is told to count whatever could be written (vm.overcommit_memory=2, or a
// limit of `ulimit -d`). Then addresses can only be read at first, and are opened as they are needed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace teetotal::runtime {

// Throws std::runtime_error with what to change, if this process may not have so many addresses, or if there is no
// /proc, where the explorer is watched.
void check_machine();

// Whether they can be written to at once. Throws std::runtime_error.
bool reserve(std::uintptr_t address, std::size_t size);

// Lets them be written to; false where there is no memory for that.
bool open_up(std::uintptr_t begin, std::size_t size);

// Seen by this process and those that it starts from now on; null where it is not to be had.
void* reserve_shared(std::size_t size);

}  // namespace teetotal::runtime
