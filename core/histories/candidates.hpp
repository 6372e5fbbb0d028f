// Where a value was written more than once: which of its writes can a read have seen, as far as the rows tell?
#pragma once

#include "histories/saturation.hpp"

namespace teetotal::histories {

class Candidates {
 public:
  Candidates(const Problem& problem, const Saturation& saturation);
  // False only if the read cannot have seen that source (an operation, or initial_source).
  bool plausible(Op read, Op source) const;

 private:
  const Problem& problem_;
  const Saturation& saturation_;
  std::vector<Op> newest_own_;  // per read: its thread's newest earlier write to the address, or nothing
};

}  // namespace teetotal::histories
