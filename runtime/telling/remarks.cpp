#include "remarks.hpp"

#include <algorithm>

namespace teetotal::runtime {

Remarks remarks;

void Remarks::note(const std::string& oddity) {
  if (std::ranges::find(oddities, oddity) == oddities.end()) oddities.push_back(oddity);
}

}  // namespace teetotal::runtime
