// Which write a read saw: by address and value, in one pass over the writes and one over the reads.
#include <algorithm>

#include "histories/history.hpp"

namespace teetotal::histories {
namespace {

// Open addressing over (address, value); equal writes hang on a list behind the first of them.
class Writes {
 public:
  explicit Writes(const History& history) : history_(history) {
    std::size_t writes = 0;
    for (Op op = 0; op < history.size(); ++op) writes += history.writes(op);
    std::size_t capacity = 16;
    while (capacity < 2 * writes) capacity *= 2;
    mask_ = capacity - 1;
    slots_.resize(capacity);
    for (Op op = 0; op < history.size(); ++op)
      if (history.writes(op)) add(op);
  }

  // The first write of that value, or nothing; the others follow by next().
  Op first(std::uint32_t address, std::int64_t value) const {
    const Slot& slot = slots_[find(address, value)];
    return slot.op;
  }

  Op next(Op op) const { return next_.empty() ? nothing : next_[op]; }
  std::size_t duplicates() const { return duplicates_; }

 private:
  struct Slot {
    std::int64_t value = 0;
    std::uint32_t address = nothing;
    Op op = nothing;
  };

  static std::size_t hash(std::uint32_t address, std::int64_t value) {
    std::uint64_t mixed = (static_cast<std::uint64_t>(value) ^ (std::uint64_t{address} << 40)) * 0x9e3779b97f4a7c15ULL;
    return static_cast<std::size_t>(mixed ^ (mixed >> 29));
  }

  std::size_t find(std::uint32_t address, std::int64_t value) const {
    std::size_t at = hash(address, value) & mask_;
    while (slots_[at].op != nothing && (slots_[at].address != address || slots_[at].value != value))
      at = (at + 1) & mask_;
    return at;
  }

  void add(Op op) {
    Slot& slot = slots_[find(history_.address[op], history_.value[op])];
    if (slot.op == nothing) {
      slot = {history_.value[op], history_.address[op], op};
      return;
    }
    if (next_.empty()) {
      next_.assign(history_.size(), nothing);
      last_.assign(history_.size(), nothing);
    }
    Op& last = last_[slot.op];
    next_[last == nothing ? slot.op : last] = op;
    last = op;
    ++duplicates_;
  }

  const History& history_;
  std::vector<Slot> slots_;
  std::size_t mask_ = 0, duplicates_ = 0;
  std::vector<Op> next_, last_;
};

}  // namespace

Sources resolve(const History& history) {
  Sources sources;
  const std::size_t n = history.size();
  sources.of.assign(n, unknown_source);
  std::vector<std::int64_t> initial(history.addresses.size(), 0);
  for (const Binding& binding : history.initial) initial[binding.address] = binding.value;

  const Writes writes(history);
  sources.duplicates = writes.duplicates();
  for (std::uint32_t a = 0; a < initial.size(); ++a)
    for (Op w = writes.first(a, initial[a]); w != nothing; w = writes.next(w)) ++sources.duplicates;

  std::vector<Op> found;
  const auto look_up = [&](std::uint32_t address, std::int64_t value, Op reader) {
    found.clear();
    if (initial[address] == value) found.push_back(initial_source);
    for (Op w = writes.first(address, value); w != nothing; w = writes.next(w))
      if (w != reader) found.push_back(w);
  };
  for (Op op = 0; op < n; ++op) {
    if (!history.reads(op) || (history.flags[op] & result_unknown)) continue;
    look_up(history.address[op], history.value_read(op), op);
    if (found.empty()) {
      sources.unwritten.push_back(op);
    } else if (found.size() == 1) {
      sources.of[op] = found[0];
    } else {
      sources.of[op] = ambiguous_source;
      sources.ambiguous.push_back(op);
      sources.first.push_back(static_cast<std::uint32_t>(sources.candidates.size()));
      sources.candidates.insert(sources.candidates.end(), found.begin(), found.end());
    }
  }
  sources.first.push_back(static_cast<std::uint32_t>(sources.candidates.size()));

  sources.final.assign(initial.size(), unknown_source);
  for (std::uint32_t i = 0; i < history.final.size(); ++i) {
    const Binding& binding = history.final[i];
    look_up(binding.address, binding.value, nothing);
    if (found.empty()) {
      sources.unwritten_final.push_back(i);
    } else if (found.size() == 1) {
      sources.final[binding.address] = found[0];
    } else {
      sources.final[binding.address] = ambiguous_source;
      sources.final_ambiguous.push_back(binding.address);
      sources.final_first.push_back(static_cast<std::uint32_t>(sources.final_candidates.size()));
      sources.final_candidates.insert(sources.final_candidates.end(), found.begin(), found.end());
    }
  }
  sources.final_first.push_back(static_cast<std::uint32_t>(sources.final_candidates.size()));
  return sources;
}

}  // namespace teetotal::histories
