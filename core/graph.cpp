#include "graph.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "components.hpp"

namespace teetotal::graph {

namespace {

constexpr std::uint32_t poll_interval = 1 << 20;

// Counts work and polls after each interval.
class Patience {
 public:
  explicit Patience(const Poll& poll) : poll_(poll) {}
  void spend() {
    if (++spent_ % poll_interval == 0 && poll_) poll_();
  }

 private:
  const Poll& poll_;
  std::uint32_t spent_ = 0;
};

}  // namespace

void order_of_sc(std::span<const std::uint8_t> kind, std::span<const std::int32_t> address, std::span<const bool> wrote,
                 std::int32_t addresses, std::span<std::int64_t> src, std::span<std::int64_t> co) {
  struct Latest {
    std::int64_t write = none;
    std::int64_t count = 0;
  };
  std::vector<Latest> latest(addresses);
  for (std::size_t e = 0; e < kind.size(); ++e) {
    src[e] = co[e] = none;
    if (is_fence(Kind(kind[e]))) continue;
    if (address[e] < 0 || address[e] >= addresses) throw Malformed(e, "its address is not in the table of addresses");
    Latest& here = latest[address[e]];
    if (kind[e] != std::uint8_t(Kind::st)) src[e] = here.write;
    if (wrote[e]) {
      here.write = std::int64_t(e);
      co[e] = here.count++;
    }
  }
}

void positions_in_thread(std::span<const std::int32_t> thread, std::int32_t threads, std::span<std::int64_t> index) {
  std::vector<std::int64_t> count(threads, 0);
  for (std::size_t e = 0; e < thread.size(); ++e) index[e] = count[thread[e]]++;
}

Relations::Relations(const Columns& columns) : columns_(columns) {
  const auto& c = columns_;
  const std::size_t n = c.size();
  if (n > std::size_t(std::numeric_limits<Node>::max())) throw Malformed(none, "more than 2^31 - 1 events");

  // One pass for what each event says by itself, counting the writes of each address.
  std::vector<std::int64_t> count(std::size_t(c.addresses) + 1, 0);
  bool any_source = false;
  for (std::size_t i = 0; i < n; ++i) {
    const Node e = Node(i);
    if (c.thread[e] < 0 || c.thread[e] >= c.threads) throw Malformed(e, "its thread is not a thread of the trace");
    if (c.kind[e] > std::uint8_t(Kind::fence)) throw Malformed(e, "its kind is not one of the eight");
    const Kind kind = Kind(c.kind[e]);
    if (is_fence(kind)) {
      if (c.address[e] != none) throw Malformed(e, "a fence has no address");
    } else if (c.address[e] < 0 || c.address[e] >= c.addresses) {
      throw Malformed(e, "its address is not in the table of addresses");
    }
    if (c.wrote[e] ? (kind == Kind::ld || is_fence(kind)) : kind == Kind::st)
      throw Malformed(e, c.wrote[e] ? "a load or a fence cannot write" : "a store writes");
    if (c.wrote[e] != (c.co[e] >= 0)) throw Malformed(e, "the writes, and only they, have a position in co");
    if (c.wrote[e]) ++count[c.address[e]];
    if (c.src[e] < none || c.src[e] >= std::int64_t(n)) throw Malformed(e, "its source is not an event of the trace");
    if (c.src[e] != none) {
      if (!c.reads(e)) throw Malformed(e, "it does not read, yet has a source");
      any_source = true;
    }
  }

  first_slot_.assign(std::size_t(c.addresses) + 1, 0);
  for (std::int32_t a = 0; a < c.addresses; ++a) first_slot_[a + 1] = first_slot_[a] + count[a];
  write_at_.assign(first_slot_.back(), none);
  po_next_.assign(n, none);
  if (any_source) {
    first_reader_.assign(n, none);
    next_reader_.assign(n, none);
  }
  std::vector<Node> later(c.threads, none);
  for (Node e = Node(n) - 1; e >= 0; --e) {  // from the end, so that the readers of a write are listed in order
    po_next_[e] = later[c.thread[e]];
    later[c.thread[e]] = e;
    if (c.wrote[e]) {
      const std::int32_t a = c.address[e];
      const std::int64_t slot = first_slot_[a] + c.co[e];
      if (slot >= first_slot_[a + 1]) throw Malformed(e, "its position in co is beyond the writes of its address");
      if (write_at_[slot] != none) throw Malformed(e, "another write of its address has the same position in co");
      write_at_[slot] = e;
    }
    if (const std::int64_t w = c.src[e]; w != none) {
      if (w == e) throw Malformed(e, "it is its own source");
      if (!c.wrote[w] || c.address[w] != c.address[e]) throw Malformed(e, "its source is not a write to its address");
      next_reader_[e] = first_reader_[w];
      first_reader_[w] = e;
    }
  }
}

Node Relations::advance(Cursor& cursor) const {
  const Node e = cursor.node;
  switch (cursor.stage) {
    case 0:
      cursor.stage = 1;
      cursor.reason = Reason::po;
      if (po_next_[e] != none) return po_next_[e];
      [[fallthrough]];
    case 1:
      cursor.stage = 2;
      if (columns_.wrote[e]) {
        cursor.reason = Reason::co;
        const std::int64_t slot = slot_after_write(e);
        if (slot < slot_end(columns_.address[e])) return write_at_[slot];
      }
      [[fallthrough]];
    case 2:
      cursor.stage = 3;
      if (columns_.reads(e)) {
        cursor.reason = Reason::fr;
        const std::int64_t slot = slot_after_source(e);
        // An event does not conflict with itself; what follows an rmw that comes right after its source is in co.
        if (slot < slot_end(columns_.address[e]) && write_at_[slot] != e) return write_at_[slot];
      }
      [[fallthrough]];
    case 3:
      cursor.stage = 4;
      cursor.reason = Reason::src;
      cursor.reader = columns_.wrote[e] ? first_reader(e) : none;
      return cursor.reader;
    default:
      if (cursor.reader != none) cursor.reader = next_reader_[cursor.reader];
      return cursor.reader;
  }
}

bool Relations::all_forward() const {
  for (std::int32_t a = 0; a < columns_.addresses; ++a)
    if (!std::is_sorted(write_at_.begin() + first_slot_[a], write_at_.begin() + first_slot_[a + 1])) return false;
  for (Node e = 0; e < Node(size()); ++e) {
    if (!columns_.reads(e)) continue;
    if (columns_.src[e] > e) return false;
    const std::int64_t slot = slot_after_source(e);
    if (slot < slot_end(columns_.address[e]) && write_at_[slot] < e) return false;
  }
  return true;
}

Edges edges(const Relations& relations, bool with_po, const Poll& poll) {
  Edges result;
  Patience patience(poll);
  const Node n = Node(relations.size());
  result.offsets.reserve(std::size_t(n) + 1);
  result.targets.reserve(std::size_t(n) * 2);
  result.reasons.reserve(std::size_t(n) * 2);
  result.offsets.push_back(0);
  for (Node e = 0; e < n; ++e) {
    patience.spend();
    auto cursor = relations.at(e);
    for (Node f = relations.advance(cursor); f != none; f = relations.advance(cursor)) {
      if (cursor.reason == Reason::po && !with_po) continue;
      result.targets.push_back(f);
      result.reasons.push_back(std::uint8_t(cursor.reason));
    }
    result.offsets.push_back(std::int64_t(result.targets.size()));
  }
  return result;
}

std::vector<Node> components(const Relations& relations, const Poll& poll) {
  Patience patience(poll);
  const auto from = [&](Node e) {
    patience.spend();
    return relations.at(e);
  };
  return strong_components(Node(relations.size()), none, from,
                           [&](Relations::Cursor& cursor) { return relations.advance(cursor); });
}

bool is_acyclic(const Relations& relations, const Poll& poll) {
  if (relations.all_forward()) return true;
  const auto component = components(relations, poll);
  return std::all_of(component.begin(), component.end(), [](Node c) { return c == none; });
}

namespace {

// One breadth-first search at a time: from an event to itself among the events that appeared before it, or to another.
class Search {
 public:
  Search(const Relations& relations, std::vector<Node> component, const Poll& poll)
      : relations_(relations),
        component_(std::move(component)),
        earliest_(relations.writes()),
        reached_(relations.size(), none),
        walked_po_(relations.size(), none),
        walked_co_(relations.writes(), none),
        arrival_(relations.size()),
        patience_(poll) {
    for (std::int32_t a = 0; a < relations.columns().addresses; ++a) {
      Node earliest = std::numeric_limits<Node>::max();
      const std::int64_t first = a == 0 ? 0 : relations.slot_end(a - 1);
      for (std::int64_t slot = relations.slot_end(a) - 1; slot >= first; --slot)
        earliest_[slot] = earliest = std::min(earliest, relations.write_at(slot));
    }
  }

  std::vector<Step> cycle() {
    for (Node u = 0; u < Node(relations_.size()) && best_.size() != 2; ++u)
      if (component_[u] != none && points_backward(u)) search(u, u, u);
    if (!best_.empty()) {
      const auto first = std::min_element(best_.begin(), best_.end(),
                                          [](const Step& x, const Step& y) { return x.source < y.source; });
      std::rotate(best_.begin(), first, best_.end());
    }
    return best_;
  }

  // Where all edges point forward, nothing that appeared after the goal leads there.
  std::vector<Step> path(Node from, Node to) {
    search(from, to, relations_.all_forward() ? to : Node(relations_.size()) - 1);
    return best_;
  }

 private:
  bool points_backward(Node u) const {
    const auto& c = relations_.columns();
    const Node reader = c.wrote[u] ? relations_.first_reader(u) : none;
    return (reader != none && reader < u) || (c.wrote[u] && leaps_back(u, relations_.slot_after_write(u))) ||
           (c.reads(u) && leaps_back(u, relations_.slot_after_source(u)));
  }
  bool leaps_back(Node u, std::int64_t slot) const {
    return slot < relations_.slot_end(relations_.columns().address[u]) && earliest_[slot] < u;
  }

  // One search for each goal at most: what it marks, it marks with that.
  void search(Node from, Node goal, Node limit) {
    const auto& c = relations_.columns();
    start_ = from;
    goal_ = goal;
    limit_ = limit;
    closed_ = false;
    next_ = {from};
    for (std::size_t length = 1; !next_.empty() && (best_.empty() || length < best_.size()); ++length) {
      frontier_.swap(next_);
      next_.clear();
      for (const Node e : frontier_) {
        walk_po(e);
        if (c.wrote[e]) {
          walk_co(e, relations_.slot_after_write(e), Reason::co);
          for (Node r = relations_.first_reader(e); r != none && r <= limit_; r = relations_.next_reader(r))
            arrive(e, r, Reason::src);
        }
        if (c.reads(e)) walk_co(e, relations_.slot_after_source(e), Reason::fr);
        if (closed_) return keep();
      }
    }
  }

  void walk_po(Node e) {
    for (Node f = relations_.po_next(e); f != none && f <= limit_; f = relations_.po_next(f)) {
      if (walked_po_[f] == goal_ || component_[f] != component_[goal_]) break;
      walked_po_[f] = goal_;
      arrive(e, f, Reason::po);
    }
  }

  // Every write from this slot on. Those of one component lie next to each other in co, as they do in po: what lies
  // between two events of a cycle is on a cycle too.
  void walk_co(Node e, std::int64_t slot, Reason reason) {
    const std::int64_t end = relations_.slot_end(relations_.columns().address[e]);
    for (; slot < end && earliest_[slot] <= limit_ && walked_co_[slot] != goal_; ++slot) {
      const Node f = relations_.write_at(slot);
      if (component_[f] != component_[goal_]) break;
      if (e != goal_) walked_co_[slot] = goal_;  // the goal may pass itself here, and others must still close there
      if (f != e && f <= limit_) arrive(e, f, reason);
    }
  }

  void arrive(Node e, Node f, Reason reason) {
    patience_.spend();
    if (closed_ || component_[f] != component_[goal_]) return;
    if (f == goal_) {
      closed_ = true;
      arrival_[f] = {e, f, reason};
    } else if (reached_[f] != goal_) {
      reached_[f] = goal_;
      arrival_[f] = {e, f, reason};
      next_.push_back(f);
    }
  }

  void keep() {
    best_.clear();
    Node e = goal_;
    do {
      best_.push_back(arrival_[e]);
      e = arrival_[e].source;
    } while (e != start_);
    std::reverse(best_.begin(), best_.end());
  }

  const Relations& relations_;
  std::vector<Node> component_;
  std::vector<Node> earliest_;   // by slot: the event that appeared first among this write and those after it
  std::vector<Node> reached_;    // by event: the latest search that reached it
  std::vector<Node> walked_po_;  // by event, by slot: the latest search that walked the chain from here on
  std::vector<Node> walked_co_;
  std::vector<Step> arrival_;  // by event: the edge by which the search came
  std::vector<Node> frontier_, next_;
  std::vector<Step> best_;
  Node start_ = none, goal_ = none, limit_ = none;
  bool closed_ = false;
  Patience patience_;
};

}  // namespace

std::vector<Step> shortest_cycle(const Relations& relations, const Poll& poll) {
  if (relations.all_forward()) return {};
  auto component = components(relations, poll);
  if (std::all_of(component.begin(), component.end(), [](Node c) { return c == none; })) return {};
  return Search(relations, std::move(component), poll).cycle();
}

std::vector<Step> shortest_path(const Relations& relations, Node from, Node to, const Poll& poll) {
  if (from == to) return {};
  return Search(relations, std::vector<Node>(relations.size(), 0), poll).path(from, to);
}

}  // namespace teetotal::graph
