// Happens-before of a trace as a graph: its reduced edges, its strongly connected components, a shortest cycle.
//
// Burnim, Sen, Stergiou (TACAS 2011), section 4:
//   →_p                          `Relations::po_next`, the next event of the thread
//   src                          column `src`: the write that a read saw, -1 for the initial value
//   →_st                         column `co`: the position of a write among those of its address
//   Definition 2, →_c            `src`, `co` and `fr` edges (from a read to the first write after the one it saw)
//   Definition 3, →_hb           `Relations::successors`: at most three edges an event on average, whose transitive
//                                closure is that of the paper's relation
//   Proposition 1, SC iff acyclic  `is_acyclic`
//
// The components (components.hpp) take linear time. Where every edge points forward in the order of appearance, which
// is the case for every trace of an SC execution, a scan decides without them.
//
// Shortest cycle: one edge is one hop of po, src, co or fr, where po, co and fr may leap over events between. In a
// cycle the event that appeared last is left by an edge that points backward, so each such event u starts a
// breadth-first search among the events of its component that appeared before it, no deeper than the best cycle so
// far. Leaps are walked along the chains of a thread and of an address, and each piece of a chain once per search.
// The cost is the number of backward edges times what lies within reach below them: linear where stores are delayed
// for a bounded time, quadratic at worst.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "event.hpp"

namespace teetotal::graph {

using Node = std::int32_t;  // the number of an event, in the order of appearance
constexpr Node none = -1;

// The numbers are those of teetotal.traces.trace.REASONS.
enum class Reason : std::uint8_t { po = 0, src = 1, co = 2, fr = 3 };

// Called now and then in long loops; stops them by throwing.
using Poll = std::function<void()>;

// The columns of teetotal.traces.trace.Trace that order depends on.
struct Columns {
  std::span<const std::int32_t> thread;
  std::span<const std::uint8_t> kind;
  std::span<const std::int32_t> address;  // -1: none
  std::span<const bool> wrote;
  std::span<const std::int64_t> src;
  std::span<const std::int64_t> co;  // -1: not a write
  std::int32_t threads = 0;
  std::int32_t addresses = 0;

  std::size_t size() const { return thread.size(); }
  bool reads(Node e) const { return kind[e] == std::uint8_t(Kind::ld) || is_atomic(Kind(kind[e])); }
};

// Columns that no execution can have: which event, and what is wrong with it.
struct Malformed : std::runtime_error {
  Malformed(std::int64_t which, const std::string& what) : std::runtime_error(what), event(which) {}
  std::int64_t event;
};

// src and co of an SC execution, whose events are in the order in which they happened.
void order_of_sc(std::span<const std::uint8_t> kind, std::span<const std::int32_t> address, std::span<const bool> wrote,
                 std::int32_t addresses, std::span<std::int64_t> src, std::span<std::int64_t> co);

// The position of each event within its thread.
void positions_in_thread(std::span<const std::int32_t> thread, std::int32_t threads, std::span<std::int64_t> index);

// The relations of a trace, ready to be followed. Refuses malformed columns.
class Relations {
 public:
  explicit Relations(const Columns& columns);

  // Walks the reduced happens-before successors of one event.
  struct Cursor {
    Node node = none;
    std::int32_t stage = 0;
    Node reader = none;
    Reason reason = Reason::po;  // why the latest successor follows
  };
  Cursor at(Node e) const { return {e, 0, none, Reason::po}; }
  Node advance(Cursor& cursor) const;  // `none` at the end

  std::size_t size() const { return columns_.size(); }
  const Columns& columns() const { return columns_; }
  Node po_next(Node e) const { return po_next_[e]; }
  Node first_reader(Node write) const { return first_reader_.empty() ? none : first_reader_[write]; }
  Node next_reader(Node read) const { return next_reader_[read]; }

  // Writes of all addresses in one row, an address after the other, each in co: [slot, slot_end(address)).
  std::int64_t slot_end(std::int32_t address) const { return first_slot_[address + 1]; }
  std::int64_t slot_after_write(Node w) const { return first_slot_[columns_.address[w]] + columns_.co[w] + 1; }
  std::int64_t slot_after_source(Node r) const {
    return columns_.src[r] < 0 ? first_slot_[columns_.address[r]] : slot_after_write(Node(columns_.src[r]));
  }
  Node write_at(std::int64_t slot) const { return write_at_[slot]; }
  std::size_t writes() const { return write_at_.size(); }

  // Every edge points forward in the order of appearance.
  bool all_forward() const;

 private:
  Columns columns_;
  std::vector<std::int64_t> first_slot_;
  std::vector<Node> write_at_;
  std::vector<Node> po_next_;
  std::vector<Node> first_reader_;
  std::vector<Node> next_reader_;
};

// Compressed rows: the successors of event e are targets[offsets[e]] … targets[offsets[e + 1] - 1].
struct Edges {
  std::vector<std::int64_t> offsets;
  std::vector<Node> targets;
  std::vector<std::uint8_t> reasons;
};
Edges edges(const Relations& relations, bool with_po, const Poll& poll);

// The number of each event's component, `none` for an event that lies on no cycle.
std::vector<Node> components(const Relations& relations, const Poll& poll);

bool is_acyclic(const Relations& relations, const Poll& poll);

struct Step {
  Node source;
  Node target;
  Reason reason;
};

// Fewest edges; empty if there is no cycle. It starts at its event that appeared first.
std::vector<Step> shortest_cycle(const Relations& relations, const Poll& poll);

// From one event to another along happens-before with the fewest edges; empty if there is no way, or nowhere to go.
std::vector<Step> shortest_path(const Relations& relations, Node from, Node to, const Poll& poll);

}  // namespace teetotal::graph
