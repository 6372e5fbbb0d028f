// Parts of a search (part.hpp), given away and put together again, by somebody who runs nothing.
//
// To give: a leaf that nobody has is marked, and is a part of its own. The search that it was taken from stops where it
// comes to the mark. To merge: when it stands there, the part takes the leaf's place. All that it asked of those above
// is inserted there now, in its order, as the search would have done it, so after the merge the search stands where it
// would stand if it had explored the leaf itself: the same trees, the same sleepers, the same races kept. That it
// answers the same, whoever explored what, needs no proof but this. What a part supposed (Ask::settled) is checked on
// the way; where it was wrong the part is thrown away and its leaf explored again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace teetotal {

struct PartState {
  bool finished;
  std::uint32_t next;  // who has the leaf that comes next; 0: nobody
  std::size_t open;    // leaves that could be given away
  double explored;     // from 0 to 1, as far as one can tell
};

std::string whole_search();
PartState state_of_part(const std::string& part);

// Up to `most` parts, numbered from `number` on, those first that are likely to be largest; and what is left.
struct Given {
  std::string left;
  std::vector<std::string> parts;
};
Given give_parts(const std::string& part, std::size_t most, std::uint32_t number);

// Leaves that were marked and are not any more.
std::string take_back(const std::string& part, const std::vector<std::uint32_t>& numbers);

// All numbers of parts that were given away from this one.
std::vector<std::uint32_t> marks_of_part(const std::string& part);

// The part with what is in the place of its next leaf, and what it asks of those above itself by that. None: `merged`
// supposed something wrong.
std::optional<std::pair<std::string, std::string>> merge_part(const std::string& part, const std::string& merged,
                                                              const std::string& asks);

}  // namespace teetotal
