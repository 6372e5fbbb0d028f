#include "histories/extended.hpp"

#include <algorithm>
#include <utility>

namespace teetotal::histories {
namespace {

class Extension {
 public:
  Extension(Saturation& saturation, Rule rule, const Budget& budget)
      : saturation_(saturation), graph_(saturation.graph()), rule_(rule), budget_(budget) {}

  bool run() {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t address = 0; address + 1 < graph_.first_writers.size(); ++address) {
        const std::vector<Node> writes = writes_of(address);
        for (const Node first : writes)
          for (const Node second : writes) {
            if (first == second || saturation_.before(first, second) || saturation_.before(second, first)) continue;
            if ((++asked_ & 0xf) == 0 && budget_.over()) throw OutOfBudget{};
            if (rule_ == Rule::six ? !six_writes(first, second) : can_guess(first, second)) continue;
            again = true;
            if (!saturation_.add(second, first, nothing, Reason::assumed) || !saturation_.run()) return false;
          }
      }
    }
    return true;
  }

 private:
  std::vector<Node> writes_of(std::size_t address) const {
    std::vector<Node> writes;
    for (std::size_t e = graph_.first_writers[address]; e < graph_.first_writers[address + 1]; ++e)
      for (std::uint32_t i = graph_.writers[e].first; i < graph_.writers[e].last; ++i)
        writes.push_back(graph_.write_node[i]);
    return writes;
  }

  bool can_guess(Node first, Node second) {
    saturation_.mark();
    const bool possible = saturation_.add(first, second, nothing, Reason::assumed) && saturation_.run();
    saturation_.undo();
    return possible;
  }

  // If `first` were before `second`, whoever reads a write that is before `first` would be before every write of its
  // address that is after `second`: readers[y] before overwriting[y]. Two such pairs that close a cycle exclude it.
  bool six_writes(Node first, Node second) {
    list_ends(first, second);
    for (std::size_t y = 0; y < readers_.size(); ++y)
      for (std::size_t z = y; z < readers_.size(); ++z)
        if (cycle_between(y, z)) return true;
    return false;
  }

  void list_ends(Node first, Node second) {
    readers_.clear();
    overwriting_.clear();
    for (std::size_t address = 0; address + 1 < graph_.first_writers.size(); ++address) {
      std::vector<Node> readers, overwriting;
      for (std::size_t e = graph_.first_writers[address]; e < graph_.first_writers[address + 1]; ++e) {
        const ChainGraph::Writers& writers = graph_.writers[e];
        bool met = false;
        for (std::uint32_t i = writers.first; i < writers.last; ++i) {
          const Node write = graph_.write_node[i];
          if (saturation_.before(write, first)) last_readers(write, readers);
          if (!met && saturation_.before(second, write)) overwriting.push_back(write), met = true;
        }
      }
      if (readers.empty() || overwriting.empty()) continue;
      readers_.push_back(std::move(readers));
      overwriting_.push_back(std::move(overwriting));
    }
  }

  // The last reader on each chain, over all writes that were added.
  void last_readers(Node write, std::vector<Node>& readers) const {
    for (const Node reader : graph_.readers_of(write)) {
      const auto same = [&](Node other) { return graph_.chain[other] == graph_.chain[reader]; };
      const auto found = std::find_if(readers.begin(), readers.end(), same);
      if (found == readers.end())
        readers.push_back(reader);
      else if (graph_.position[*found] < graph_.position[reader])
        *found = reader;
    }
  }

  bool cycle_between(std::size_t y, std::size_t z) const {
    for (const Node reader_y : readers_[y])
      for (const Node write_z : overwriting_[z]) {
        if (!saturation_.before(write_z, reader_y)) continue;
        for (const Node write_y : overwriting_[y])
          for (const Node reader_z : readers_[z])
            if (write_y != reader_y && write_z != reader_z && saturation_.before(write_y, reader_z)) return true;
      }
    return false;
  }

  Saturation& saturation_;
  const ChainGraph& graph_;
  const Rule rule_;
  const Budget& budget_;
  std::size_t asked_ = 0;
  std::vector<std::vector<Node>> readers_, overwriting_;  // per address that has both
};

}  // namespace

bool extend(Saturation& saturation, Rule rule, const Budget& budget) {
  return Extension(saturation, rule, budget).run();
}

}  // namespace teetotal::histories
