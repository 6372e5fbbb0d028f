// The parts of a history that can be decided by themselves: whoever runs one after the other runs the whole.
//
// An address is shared if several threads access it, one of them writes it, and somebody saw what it holds (a read, or
// a final value). Shared addresses are vertices, and x → y is an edge if some thread accesses y as its next shared
// address after x. A part is a strongly connected component, or several that follow each other in an order along the
// edges: all accesses to its addresses, and with them what else a thread does (fences, other addresses) up to its next
// part. So a thread does each part in one go and never comes back to it, and no two parts have a shared address in
// common.
//
// Lemma 10 of docs/explanation/histories.md: the history is consistent (SC, TSO, PSO) if and only if each part is. What
// is read from addresses that are not shared is looked at here, once, and is no question in a part (result_unknown).
// Where it is not what the thread wrote there, nothing is divided: whoever decides the whole tells what is wrong.
#pragma once

#include <span>
#include <unordered_map>

#include "histories/history.hpp"

namespace teetotal::histories {

class Parts {
 public:
  // Each of at least so many accesses to shared addresses, but for the last. The history must outlive them.
  Parts(const History& history, std::size_t fewest);

  std::size_t size() const { return first_.size() - 1; }
  std::span<const Op> operations(std::size_t part) const {  // in the order of the file
    return {operations_.data() + first_[part], operations_.data() + first_[part + 1]};
  }
  History history(std::size_t part) const;

 private:
  const History& history_;
  std::vector<bool> shared_;        // per address
  std::vector<std::size_t> first_;  // per part its operations; one entry more
  std::vector<Op> operations_;
  std::unordered_map<std::uint32_t, std::uint32_t> initial_, final_;  // by address: the places in the history's
};

}  // namespace teetotal::histories
