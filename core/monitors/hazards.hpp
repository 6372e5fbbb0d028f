// Load buffering, the hazard that RC11 leaves out (docs/explanation/c11.md): in an SC execution, a relaxed load of x, a
// later store of the same thread that nothing keeps behind it, and a write of x by another thread that comes of that
// store. Where the store goes first, as processors and compilers may have it, the load may see that write.
//
//   pending   a thread's relaxed loads since its last fence
//   taint     what a store that stands open behind such a load hands to who reads it, and on to what that thread writes
//
// Conservative: no dependency is known to be kept. A load and a store of one location are in order anyway.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "event.hpp"

namespace teetotal::monitors {

class Hazards {
 public:
  // `shared`: how many events are those of the execution seen before. Tells positions: the load, its thread's store,
  // the other thread's write.
  template <class Tell>
  void see(std::span<const Event> execution, std::size_t shared, Tell tell) {
    if (first_ >= shared)  // before the first relaxed load there is nothing
      first_ = static_cast<std::size_t>(
          std::find_if(execution.begin() + static_cast<std::ptrdiff_t>(shared), execution.end(), is_relaxed_load) -
          execution.begin());
    if (first_ == execution.size()) return;
    for (Thread& thread : threads_) {  // and keep the room that they have
      thread.pending.clear();
      thread.known.clear();
    }
    handed_count_ = 0;
    for (std::size_t i = first_; i < execution.size(); ++i) step(execution[i], i, tell);
  }

 private:
  struct Taint {
    std::uint32_t thread, address;
    std::size_t load, store;
  };
  using Taints = std::vector<Taint>;
  struct Thread {
    std::vector<std::pair<std::uint32_t, std::size_t>> pending;  // address, and which event
    Taints known;
  };

  static bool is_relaxed_load(const Event& e) {
    return reads(e) && e.checked() && e.effective() != Order::na && !acquires(e.effective());
  }

  static void join(Taints& into, const Taint& taint) {
    const auto same = [&](const Taint& t) { return t.thread == taint.thread && t.address == taint.address; };
    if (std::none_of(into.begin(), into.end(), same)) into.push_back(taint);
  }
  static void join(Taints& into, const Taints& more) {
    for (const Taint& taint : more) join(into, taint);
  }

  void hand(std::uint32_t address) {
    if (handed_count_ == handed_.size()) handed_.emplace_back();
    auto& [where, taints] = handed_[handed_count_++];
    where = address;
    taints.swap(fresh_);
  }

  template <class Tell>
  void step(const Event& e, std::size_t at, Tell& tell) {
    if (e.thread >= threads_.size()) threads_.resize(e.thread + std::size_t{1});
    Thread& thread = threads_[e.thread];
    if (is_fence(e.kind)) {
      if (e.order > Order::relaxed) thread.pending.clear();
      return;
    }
    const auto end = handed_.begin() + static_cast<std::ptrdiff_t>(handed_count_);
    const auto known = std::find_if(handed_.begin(), end, [&](const auto& h) { return h.first == e.address; });
    if (reads(e) && known != end) join(thread.known, known->second);
    if (e.writes) {
      for (const Taint& taint : thread.known)
        if (taint.address == e.address && taint.thread != e.thread) tell(taint.load, taint.store, at);
      Taints& out = known != end ? known->second : fresh_;
      out = thread.known;
      if (e.checked() && e.order != Order::na && !releases(e.order))
        for (const auto& [address, load] : thread.pending)
          if (address != e.address) join(out, Taint{e.thread, address, load, at});
      if (known == end && !out.empty()) hand(e.address);
    }
    if (is_relaxed_load(e)) {
      const auto same = [&](const auto& p) { return p.first == e.address; };
      if (std::none_of(thread.pending.begin(), thread.pending.end(), same)) thread.pending.emplace_back(e.address, at);
    }
  }

  std::size_t first_ = ~std::size_t{0};
  std::vector<Thread> threads_;
  std::vector<std::pair<std::uint32_t, Taints>> handed_;  // by the last write of an address
  std::size_t handed_count_ = 0;                          // of these; the others are room
  Taints fresh_;
};

}  // namespace teetotal::monitors
