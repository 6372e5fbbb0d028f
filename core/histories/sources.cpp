// Which write a read saw: by address and value, in one pass over the writes and one over the reads.
#include "hash.hpp"
#include "histories/history.hpp"
#include "open_table.hpp"

namespace teetotal::histories {
namespace {

// By address and value; equal writes hang on a list behind the first of them.
class Writes {
 public:
  explicit Writes(const History& history) : history_(history), first_(count(history)) {
    for (Op op = 0; op < history.size(); ++op)
      if (history.writes(op)) add(op);
  }

  // The first write of that value, or nothing; the others follow by next().
  Op first(std::uint32_t address, std::int64_t value) const {
    return first_.at(hash(address, value), [=](const First& other) { return other.is(address, value); }).op;
  }

  Op next(Op op) const { return next_.empty() ? nothing : next_[op]; }
  std::size_t duplicates() const { return duplicates_; }

 private:
  struct First {
    std::int64_t value = 0;
    std::uint32_t address = nothing;
    Op op = nothing;
    bool free() const { return op == nothing; }
    bool is(std::uint32_t a, std::int64_t v) const { return address == a && value == v; }
  };

  static std::size_t count(const History& history) {
    std::size_t writes = 0;
    for (Op op = 0; op < history.size(); ++op) writes += history.writes(op);
    return writes;
  }

  static std::uint64_t hash(std::uint32_t address, std::int64_t value) {
    return mix(std::uint64_t{address} << 40U, static_cast<std::uint64_t>(value));
  }

  void add(Op op) {
    const std::uint32_t address = history_.address[op];
    const std::int64_t value = history_.value[op];
    First& first = first_.at(hash(address, value), [=](const First& other) { return other.is(address, value); });
    if (first.free()) {
      first = {value, address, op};
      return;
    }
    if (next_.empty()) {
      next_.assign(history_.size(), nothing);
      last_.assign(history_.size(), nothing);
    }
    Op& last = last_[first.op];
    next_[last == nothing ? first.op : last] = op;
    last = op;
    ++duplicates_;
  }

  const History& history_;
  OpenTable<First, 50> first_;
  std::size_t duplicates_ = 0;
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
