#include "histories/ccm.hpp"

#include <algorithm>
#include <deque>
#include <memory>

namespace teetotal::histories {
namespace {

constexpr std::size_t no_entry = static_cast<std::size_t>(-1);

// pww on the writes of one address: for each write and each chain that writes the address, how many of that chain's
// writes come before it, itself included.
class StoreOrder {
 public:
  StoreOrder(const ChainGraph& graph, std::uint32_t address)
      : graph_(graph), first_(graph.first_writers[address]), entries_(graph.first_writers[address + 1] - first_) {
    for (std::size_t e = 0; e < entries_; ++e)
      for (std::uint32_t i = writers(e).first; i < writers(e).last; ++i) {
        writes_.push_back(graph.write_node[i]);
        entry_.push_back(e);
        rank_.push_back(i - writers(e).first);
      }
    rows_.assign(writes_.size() * entries_, 0);
    successors_.resize(writes_.size());
    for (std::size_t w = 0; w < writes_.size(); ++w) {
      row(w)[entry_[w]] = rank_[w] + 1;
      if (w + 1 < writes_.size() && entry_[w + 1] == entry_[w]) successors_[w].push_back(w + 1);
    }
  }

  // Everything of these chains up to the given counts is before the write.
  void add_all_before(const std::uint32_t* row_of_graph, Node reader, Node write) {
    const std::size_t to = index(write);
    for (std::size_t e = 0; e < entries_; ++e) {
      const std::uint32_t chain = writers(e).chain;
      const std::uint32_t limit = chain == graph_.chain[reader] ? graph_.position[reader] : row_of_graph[chain];
      const std::size_t last = last_before(e, limit);
      if (last != no_entry && last != to) successors_[last].push_back(to);
    }
  }
  void add(Node from, Node to) { successors_[index(from)].push_back(index(to)); }

  bool close() {  // false if cyclic
    std::deque<std::size_t> queue;
    std::vector<bool> queued(writes_.size(), true);
    for (std::size_t w = 0; w < writes_.size(); ++w) queue.push_back(w);
    while (!queue.empty()) {
      const std::size_t w = queue.front();
      queue.pop_front();
      queued[w] = false;
      for (const std::size_t to : successors_[w]) {
        if (row(w)[entry_[to]] > rank_[to]) return false;
        bool grew = false;
        for (std::size_t e = 0; e < entries_; ++e)
          if (row(w)[e] > row(to)[e]) {
            row(to)[e] = row(w)[e];
            grew = true;
          }
        if (grew && !queued[to]) {
          queue.push_back(to);
          queued[to] = true;
        }
      }
    }
    return true;
  }

  // The last write of each chain that is before `w`.
  template <typename Function>
  void each_last(Function&& function) {
    for (std::size_t w = 0; w < writes_.size(); ++w)
      for (std::size_t e = 0; e < entries_; ++e) {
        const std::uint32_t count = row(w)[e] - (e == entry_[w]);
        if (count > 0) function(graph_.write_node[writers(e).first + count - 1], writes_[w]);
      }
  }
  template <typename Function>
  void each_pair(Function&& function) {
    for (std::size_t w = 0; w < writes_.size(); ++w)
      for (std::size_t e = 0; e < entries_; ++e)
        for (std::uint32_t i = 0; i < row(w)[e] - (e == entry_[w]); ++i)
          function(graph_.write_node[writers(e).first + i], writes_[w]);
  }

 private:
  const ChainGraph::Writers& writers(std::size_t e) const { return graph_.writers[first_ + e]; }
  std::uint32_t* row(std::size_t w) { return rows_.data() + w * entries_; }
  std::size_t place(std::size_t e) const { return writers(e).first - writers(0).first; }

  std::size_t last_before(std::size_t e, std::uint32_t limit) const {
    const auto begin = graph_.write_position.begin() + writers(e).first;
    const auto end = graph_.write_position.begin() + writers(e).last;
    const auto found = std::lower_bound(begin, end, limit);
    return found == begin ? no_entry : place(e) + static_cast<std::size_t>(found - begin) - 1;
  }
  std::size_t index(Node write) const {
    for (std::size_t e = 0; e < entries_; ++e)
      if (writers(e).chain == graph_.chain[write]) return last_before(e, graph_.position[write] + 1);
    return no_entry;
  }

  const ChainGraph& graph_;
  std::size_t first_, entries_;
  std::vector<Node> writes_;
  std::vector<std::size_t> entry_;
  std::vector<std::uint32_t> rank_, rows_;
  std::vector<std::vector<std::size_t>> successors_;
};

class CausalMemoryCheck {
 public:
  CausalMemoryCheck(const ChainGraph& graph, const Budget& budget) : graph_(graph), budget_(budget), causal_(graph) {
    causal_.edges.clear();  // the initial value's edges are conflicts, not causes
  }

  CausalMemory run(bool list_pairs) {
    CausalMemory result;
    result.consistent = !graph_.impossible && local_happens_before() && converge(result, list_pairs);
    return result;
  }

 private:
  bool local_happens_before() {
    std::vector<Saturation::Link> found;
    for (std::uint32_t thread = 0; thread < graph_.chains; ++thread) {
      if (budget_.over()) throw OutOfBudget{};
      Saturation local(causal_, budget_, {.write_rule = false, .read_rule = true, .reads_of_thread = thread});
      if (!local.run() || reads_overwritten_initial(local, thread)) return false;
      found.insert(found.end(), local.links().begin(), local.links().end());
    }
    all_ = std::make_unique<Saturation>(causal_, budget_, Saturation::Rules{.write_rule = false, .read_rule = false});
    for (const Saturation::Link& link : found)
      if (!all_->add(link.from, link.to, link.why, link.reason)) return false;
    return all_->run();
  }

  // A write that is locally before a read of the initial value would have to be older than the initial value.
  bool reads_overwritten_initial(const Saturation& local, std::uint32_t thread) const {
    for (std::uint32_t i = 0; i < graph_.length(thread); ++i)
      if (const Node o = graph_.at(thread, i); graph_.source[o] == initial_source && some_write_before(local, o))
        return true;
    return false;
  }

  bool some_write_before(const Saturation& rows, Node o) const {
    const std::uint32_t address = graph_.address[o];
    for (std::uint32_t e = graph_.first_writers[address]; e < graph_.first_writers[address + 1]; ++e) {
      const Node first = graph_.write_node[graph_.writers[e].first];
      if (rows.before(first, o)) return true;
    }
    return false;
  }

  bool converge(CausalMemory& result, bool list_pairs) {
    Saturation last(graph_, budget_, {.write_rule = false, .read_rule = false});
    std::vector<std::vector<Node>> reads(graph_.first_writers.size()), writes(graph_.first_writers.size());
    for (Node o = 0; o < graph_.size; ++o) {
      if (graph_.source[o] == initial_source && some_write_before(*all_, o)) return false;
      if (is_operation(graph_.source[o])) reads[graph_.address[o]].push_back(o);
      if (graph_.role[o] & ChainGraph::writes) writes[graph_.address[o]].push_back(o);
    }
    for (std::uint32_t address = 0; address + 1 < graph_.first_writers.size(); ++address) {
      if (budget_.over()) throw OutOfBudget{};
      StoreOrder order(graph_, address);
      for (const Node write : writes[address]) order.add_all_before(all_->row(write), write, write);
      for (const Node read : reads[address]) order.add_all_before(all_->row(read), read, graph_.source[read]);
      for (const Edge& edge : graph_.edges)
        if (edge.reason == Reason::final && graph_.address[edge.to] == address) order.add(edge.from, edge.to);
      if (!order.close()) return false;
      bool acyclic = true;
      order.each_last([&](Node from, Node to) {
        acyclic = acyclic && last.add(from, to, nothing, Reason::assumed);
        for (const Node reader : graph_.readers_of(from))
          if (reader != to) acyclic = acyclic && last.add(reader, to, from, Reason::overwrites);
      });
      if (!acyclic) return false;
      if (list_pairs) order.each_pair([&](Node from, Node to) { result.store_order.emplace_back(from, to); });
    }
    return last.run();
  }

  const ChainGraph& graph_;
  const Budget& budget_;
  ChainGraph causal_;
  std::unique_ptr<Saturation> all_;
};

}  // namespace

CausalMemory check_ccm(const ChainGraph& graph, const Budget& budget, bool list_pairs) {
  return CausalMemoryCheck(graph, budget).run(list_pairs);
}

}  // namespace teetotal::histories
