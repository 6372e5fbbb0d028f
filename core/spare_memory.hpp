// How much memory this process can still have before the system would have to kill somebody.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>

namespace teetotal {

constexpr std::size_t kUnknownMemory = std::numeric_limits<std::size_t>::max();

// In bytes: the least of what the machine has available and of what each control group of this process (a container's,
// for one) still allows; kUnknownMemory where nothing says so. Files kept in memory count as free, because the kernel
// gives them up when memory is asked for. `root` is where /proc and /sys are looked for.
std::size_t spare_memory(const std::filesystem::path& root = "/");

}  // namespace teetotal
