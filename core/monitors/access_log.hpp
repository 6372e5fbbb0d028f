// What is kept of each access of a location, in the order in which they happened.
#pragma once

#include <cstddef>
#include <vector>

#include "state.hpp"

namespace teetotal::monitors {

// Words that belong to a thread's accesses of a location, appended and never changed: taking events back is forgetting
// the latest.
struct Log {
  struct Entry {
    Word thread, index;  // which event of its thread
    Word before;         // 1 + the entry of the same thread before this one
  };
  std::vector<Entry> entries;
  std::vector<Word> words;

  Word* add(std::size_t position, const Entry& entry, std::size_t width) {
    put(entries, position, entry);
    if (words.size() < (position + 1) * width) words.resize((position + 1) * width);
    return words.data() + position * width;
  }
};

}  // namespace teetotal::monitors
