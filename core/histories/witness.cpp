#include "histories/witness.hpp"

#include <deque>
#include <unordered_map>

namespace teetotal::histories {
namespace {

class Machine {
 public:
  Machine(const History& history, Model model, bool rmw_flushes_all)
      : history_(history), model_(model), flush_all_(model == Model::tso || rmw_flushes_all) {
    memory_.assign(history.addresses.size(), 0);
    for (const Binding& binding : history.initial) memory_[binding.address] = binding.value;
    // Program order: the operation that each thread has to issue next.
    next_.assign(history.threads.size(), nothing);
    after_.assign(history.size(), nothing);
    std::vector<Op> last(history.threads.size(), nothing);
    for (Op op = 0; op < history.size(); ++op) {
      Op& previous = last[history.thread[op]];
      (previous == nothing ? next_[history.thread[op]] : after_[previous]) = op;
      previous = op;
    }
    buffers_.resize(history.threads.size());
    pending_.resize(history.threads.size());
    if (model != Model::sc) epoch_.resize(history.size());
  }

  std::string play(std::span<const Step> steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Step step = steps[i];
      if (step / 2 >= history_.size()) return "step " + std::to_string(i) + " names no operation";
      const auto op = static_cast<Op>(step / 2);
      const std::string wrong = step & 1 ? commit(op) : issue(op);
      if (!wrong.empty()) return "step " + std::to_string(i) + ", operation " + std::to_string(op) + ": " + wrong;
    }
    for (const Op next : next_)
      if (next != nothing) return "operation " + std::to_string(next) + " never issues";
    for (std::size_t t = 0; t < buffers_.size(); ++t)
      if (buffers_[t].stores > 0) return "a store of thread " + history_.threads[t] + " never becomes visible";
    for (const Binding& binding : history_.final)
      if (memory_[binding.address] != binding.value)
        return "the final value of " + history_.addresses[binding.address] + " is " +
               std::to_string(memory_[binding.address]);
    return "";
  }

 private:
  struct Buffer {
    std::size_t stores = 0;                // pending
    std::deque<Op> order;                  // under TSO: oldest first
    std::uint32_t epoch = 0;               // under PSO: how many sfences no longer hold anything back
    std::deque<std::size_t> epochs = {0};  // pending stores before the next sfence, between it and the next, …
  };

  std::string issue(Op op) {
    const std::uint32_t thread = history_.thread[op];
    if (next_[thread] != op) return "not the next of its thread";
    next_[thread] = after_[op];
    Buffer& buffer = buffers_[thread];
    const std::uint32_t address = history_.address[op];
    switch (history_.kind_of(op)) {
      case Kind::ld:
        return read(op, newest(thread, address));
      case Kind::st:
        if (model_ == Model::sc) {
          memory_[address] = history_.value[op];
        } else {
          ++buffer.stores;
          if (model_ == Model::tso) buffer.order.push_back(op);
          ++buffer.epochs.back();
          epoch_[op] = buffer.epoch + static_cast<std::uint32_t>(buffer.epochs.size() - 1);
          pending_[thread][address].push_back(op);
        }
        return "";
      case Kind::rmw: {
        if (flush_all_ ? buffer.stores > 0 : !pending_[thread][address].empty()) return "its stores are not flushed";
        if (buffer.epochs.size() > 1) return "an sfence holds it back";
        const std::string wrong = read(op, memory_[address]);
        if (wrong.empty() && history_.writes(op)) memory_[address] = history_.value[op];
        return wrong;
      }
      case Kind::mfence:
        return buffer.stores == 0 ? "" : "its stores are not flushed";
      case Kind::sfence:
        if (model_ == Model::pso && buffer.stores > 0) buffer.epochs.push_back(0);
        return "";
      default:
        return "no operation of a history";
    }
  }

  std::string read(Op op, std::int64_t value) const {
    if ((history_.flags[op] & result_unknown) || history_.value_read(op) == value) return "";
    return "it would read " + std::to_string(value);
  }

  // What a load of the thread sees: its own newest pending store, else memory.
  std::int64_t newest(std::uint32_t thread, std::uint32_t address) const {
    const auto own = pending_[thread].find(address);
    if (own == pending_[thread].end() || own->second.empty()) return memory_[address];
    return history_.value[own->second.back()];
  }

  std::string commit(Op op) {
    const std::uint32_t thread = history_.thread[op], address = history_.address[op];
    if (history_.kind_of(op) != Kind::st) return "no store";
    Buffer& buffer = buffers_[thread];
    const auto own = pending_[thread].find(address);
    if (own == pending_[thread].end() || own->second.empty() || own->second.front() != op)
      return "not the oldest pending store of its thread to its address";
    if (model_ == Model::tso) {
      if (buffer.order.front() != op) return "not the oldest pending store of its thread";
      buffer.order.pop_front();
    }
    if (epoch_[op] != buffer.epoch) return "an sfence holds it back";
    --buffer.stores;
    --buffer.epochs.front();
    while (buffer.epochs.size() > 1 && buffer.epochs.front() == 0) {
      buffer.epochs.pop_front();
      ++buffer.epoch;
    }
    own->second.pop_front();
    memory_[address] = history_.value[op];
    return "";
  }

  const History& history_;
  const Model model_;
  const bool flush_all_;
  std::vector<std::int64_t> memory_;
  std::vector<Op> next_, after_;
  std::vector<std::uint32_t> epoch_;
  std::vector<Buffer> buffers_;
  std::vector<std::unordered_map<std::uint32_t, std::deque<Op>>> pending_;
};

}  // namespace

std::string refute_witness(const History& history, std::span<const Step> steps, Model model, bool rmw_flushes_all) {
  return Machine(history, model, rmw_flushes_all).play(steps);
}

std::vector<Step> schedule(const History& history, std::span<const Op> order, Model model) {
  std::vector<Step> steps;
  if (model == Model::sc) {
    for (const Op op : order) steps.push_back(issue(op));
    return steps;
  }
  // Stores (and sfences) issue as late as possible: before the next load of their thread, or before they commit.
  std::vector<Op> next(history.threads.size(), nothing), after(history.size(), nothing);
  std::vector<Op> last(history.threads.size(), nothing);
  std::vector<bool> issued(history.size(), false);
  for (Op op = 0; op < history.size(); ++op) {
    Op& previous = last[history.thread[op]];
    (previous == nothing ? next[history.thread[op]] : after[previous]) = op;
    previous = op;
  }
  for (const Op op : order) {
    if (history.kind_of(op) == Kind::sfence) continue;  // it issues with what follows it
    Op& head = next[history.thread[op]];
    while (!issued[op]) {
      const Op first = head;
      head = after[first];
      issued[first] = true;
      steps.push_back(issue(first));
    }
    if (history.kind_of(op) == Kind::st) steps.push_back(commit(op));
  }
  for (Op head : next)  // sfences after everything
    for (; head != nothing; head = after[head]) steps.push_back(issue(head));
  return steps;
}

}  // namespace teetotal::histories
