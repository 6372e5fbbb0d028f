#include "histories/saturation.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace teetotal::histories {
namespace {

// Joins eight lanes: the greater of each. Gives a bit for each lane of `into` that grew.
inline unsigned join_block_plain(std::uint32_t* into, const std::uint32_t* from) {
  unsigned grew = 0;
  for (unsigned i = 0; i < 8; ++i) {
    const bool greater = from[i] > into[i];
    grew |= static_cast<unsigned>(greater) << i;
    into[i] = greater ? from[i] : into[i];
  }
  return grew;
}

using JoinBlock = unsigned (*)(std::uint32_t*, const std::uint32_t*);

#if defined(__x86_64__)
using Lanes = std::int32_t __attribute__((vector_size(32)));  // counts stay far below 2³¹
using Floats = float __attribute__((vector_size(32)));

__attribute__((target("avx2"))) unsigned join_block_wide(std::uint32_t* into, const std::uint32_t* from) {
  Lanes a, b;
  std::memcpy(&a, into, sizeof a);
  std::memcpy(&b, from, sizeof b);
  const Lanes greater = b > a;
  const auto grew = static_cast<unsigned>(__builtin_ia32_movmskps256((Floats)greater));
  if (grew) {
    a = (b & greater) | (a & ~greater);
    std::memcpy(into, &a, sizeof a);
  }
  return grew;
}
const JoinBlock join_block = __builtin_cpu_supports("avx2") ? join_block_wide : join_block_plain;
#else
constexpr JoinBlock join_block = join_block_plain;
#endif

}  // namespace

// ---- SmallestFirst

SmallestFirst::SmallestFirst(std::size_t size) {
  do {
    size = (size + 63) / 64;
    levels_.emplace_back(std::max<std::size_t>(size, 1), 0);
  } while (size > 1);
}

void SmallestFirst::add(std::uint32_t element) {
  for (auto& level : levels_) {
    std::uint64_t& word = level[element >> 6];
    const std::uint64_t old = word;
    word |= std::uint64_t{1} << (element & 63);
    if (old) return;
    element >>= 6;
  }
}

std::uint32_t SmallestFirst::take() {
  std::uint32_t at = 0;
  for (std::size_t level = levels_.size(); level-- > 0;)
    at = at << 6 | static_cast<std::uint32_t>(std::countr_zero(levels_[level][at]));
  std::uint32_t element = at;
  for (auto& level : levels_) {
    std::uint64_t& word = level[element >> 6];
    word &= ~(std::uint64_t{1} << (element & 63));
    if (word) break;
    element >>= 6;
  }
  return at;
}

// ---- Saturation

namespace {

std::size_t lanes_for(std::size_t chains) { return (chains + 7) / 8 * 8; }

}  // namespace

std::size_t memory_to_saturate(const History& history, Model model) {
  const std::size_t threads = history.threads.size();
  std::size_t chains = threads;
  if (model == Model::tso) chains *= 2;
  if (model == Model::pso) {  // and one for the stores of a thread to an address
    std::vector<bool> seen(threads * history.addresses.size());
    for (Op op = 0; op < history.size(); ++op)
      if (history.writes(op)) seen[history.thread[op] * history.addresses.size() + history.address[op]] = true;
    chains += static_cast<std::size_t>(std::ranges::count(seen, true));
  }
  // For each operation: the graph; the links that saturation finds, which are more where there are more chains, up to a
  // point; and the row.
  constexpr std::size_t kSc = 70, kOthers = 100, kLinks = 64;
  const std::size_t lanes = lanes_for(chains);
  return history.size() *
         ((model == Model::sc ? kSc : kOthers) + std::min(lanes, kLinks) + lanes * sizeof(std::uint32_t));
}

Saturation::Saturation(const ChainGraph& graph, const Budget& budget, Rules rules)
    : graph_(graph),
      budget_(budget),
      rules_(rules),
      stride_(lanes_for(graph.chains)),
      rows_(affordable(graph.size * stride_ * sizeof(std::uint32_t)) / sizeof(std::uint32_t), 0),
      changed_(graph.size, ~Mask{0}),
      hint_(graph.writers.size()),
      dirty_(graph.size),
      first_link_(graph.size, nothing) {
  while ((stride_ - (stride_ > 0)) >> shift_ > 63) ++shift_;
  for (std::size_t e = 0; e < hint_.size(); ++e) hint_[e] = graph.writers[e].first;
  for (Node o = 0; o < graph.size; ++o) {
    lanes(o)[graph.chain[o]] = graph.position[o] + 1;
    dirty_.add(o);
  }
  for (const Edge& edge : graph.edges) link(edge.from, edge.to, edge.why, edge.reason);
}

bool Saturation::run() {
  if (graph_.impossible) {
    contradiction_ = graph_.refuted;
    return false;
  }
  while (!dirty_.empty()) {
    if ((++visits_ & 0xfff) == 0 && budget_.over()) throw OutOfBudget{};
    if (!visit(dirty_.take())) return false;
  }
  return true;
}

bool Saturation::add(Node from, Node to, Node why, Reason reason) {
  if (before(from, to)) return true;
  Mask grown = 0;
  if (!join(from, to, why, reason, grown)) return false;
  link(from, to, why, reason);
  changed_[to] |= grown;
  dirty_.add(to);
  return true;
}

bool Saturation::visit(Node o) {
  Mask grown = changed_[o];
  changed_[o] = 0;
  const std::uint8_t role = graph_.role[o];
  if ((role & ChainGraph::writes) && rules_.write_rule && !write_rule(o, grown)) return false;
  if ((role & ChainGraph::reads) && rules_.read_rule && !read_rule(o, grown)) return false;
  return push(o);
}

// rw[st]: the readers of every write that is before o, on o's address, are before o. The last readers of the last such
// write of each chain are enough: the others are before them.
bool Saturation::write_rule(Node o, Mask& grown) {
  const std::uint32_t address = graph_.address[o], own = graph_.chain[o];
  for (Mask todo = grown; todo != 0;) {
    Mask more = 0;
    for (std::size_t e = graph_.first_writers[address]; e < graph_.first_writers[address + 1]; ++e) {
      const std::uint32_t lane = graph_.writers[e].chain;
      if (!(todo >> (lane >> shift_) & 1)) continue;
      const std::uint32_t at = last_write(e, lane == own ? graph_.position[o] : row(o)[lane]);
      if (at == nothing) continue;
      const Node write = graph_.write_node[at];
      const std::span<const Node> readers = graph_.readers_of(write);
      for (std::size_t i = 0; i < readers.size(); ++i) {
        Node reader = readers[i];
        const bool last = i + 1 == readers.size() || graph_.chain[readers[i + 1]] != graph_.chain[reader];
        if (!last) continue;
        if (reader == o) {  // an rmw: the reader before it on its chain, if any
          if (i == 0 || graph_.chain[readers[i - 1]] != own) continue;
          reader = readers[i - 1];
        }
        if (before(reader, o)) continue;
        if (!join(reader, o, write, Reason::overwrites, more)) return false;
        link(reader, o, write, Reason::overwrites);
      }
    }
    grown |= more;
    todo = more;
  }
  return true;
}

// hb_WR ∘ wr⁻¹: o reads s, so every other write of the address that is before o is before s.
bool Saturation::read_rule(Node o, Mask grown) {
  const Node s = graph_.source[o];
  if (!is_operation(s)) return true;  // the initial value has static edges
  if (rules_.reads_of_thread != nothing && graph_.chain[o] != rules_.reads_of_thread) return true;
  const std::uint32_t address = graph_.address[o], own = graph_.chain[o], home = graph_.chain[s];
  for (std::size_t e = graph_.first_writers[address]; e < graph_.first_writers[address + 1]; ++e) {
    const std::uint32_t lane = graph_.writers[e].chain;
    if (!(grown >> (lane >> shift_) & 1)) continue;
    const std::uint32_t limit = lane == own ? graph_.position[o] : row(o)[lane];
    if (limit == 0 || (lane != home && row(s)[lane] >= limit)) continue;
    const std::uint32_t at = last_write(e, limit);
    if (at == nothing) continue;
    const Node w = graph_.write_node[at];
    if (w == s || before(w, s)) continue;
    if (before(s, w)) return contradict(o, w, s, Reason::overwrites);
    if (!add(w, s, o, Reason::store)) return false;
  }
  return true;
}

bool Saturation::push(Node o) {
  if (graph_.has_next(o) && !flow(o, graph_.next(o), nothing, Reason::program)) return false;
  if (graph_.role[o] & ChainGraph::writes) {
    std::uint32_t chain = nothing;
    for (const Node reader : graph_.readers_of(o)) {  // the first of each chain
      if (graph_.chain[reader] == chain) continue;
      if (!(graph_.role[reader] & ChainGraph::external)) continue;
      chain = graph_.chain[reader];
      if (!flow(o, reader, nothing, Reason::reads_from)) return false;
    }
  }
  for (std::uint32_t at = first_link_[o]; at != nothing; at = links_[at].next)
    if (!flow(o, links_[at].to, links_[at].why, links_[at].reason)) return false;
  return true;
}

bool Saturation::flow(Node from, Node to, Node why, Reason reason) {
  Mask grown = 0;
  if (!join(from, to, why, reason, grown)) return false;
  if (grown) {
    changed_[to] |= grown;
    dirty_.add(to);
  }
  return true;
}

bool Saturation::join(Node from, Node to, Node why, Reason reason, Mask& grown) {
  const std::uint32_t* source = row(from);
  std::uint32_t* target = lanes(to);
  if (source[graph_.chain[to]] > graph_.position[to]) return contradict(from, to, why, reason);
  for (std::size_t block = 0; block < stride_ / 8; ++block) {
    std::uint32_t* const into = target + 8 * block;
    Saved saved;
    if (!marks_.empty()) std::memcpy(saved.lanes, into, sizeof saved.lanes);
    const unsigned grew = join_block(into, source + 8 * block);
    if (!grew) continue;
    if (!marks_.empty()) {
      saved.node = to;
      saved.block = static_cast<std::uint32_t>(block);
      make_room(saved_);
      saved_.push_back(saved);
    }
    if (shift_ == 0)
      grown |= Mask{grew} << (8 * block);
    else
      for (unsigned i = 0; i < 8; ++i)
        if (grew >> i & 1) grown |= Mask{1} << ((8 * block + i) >> shift_);
  }
  return true;
}

bool Saturation::contradict(Node from, Node to, Node why, Reason reason) {
  contradiction_ = {from, to, why, reason};
  return false;
}

void Saturation::link(Node from, Node to, Node why, Reason reason) {
  make_room(links_);
  links_.push_back({from, to, why, first_link_[from], reason});
  first_link_[from] = static_cast<std::uint32_t>(links_.size() - 1);
}

// The last write of that entry before the limit, galloping from where the last search ended.
std::uint32_t Saturation::last_write(std::size_t entry, std::uint32_t limit) {
  const ChainGraph::Writers& writers = graph_.writers[entry];
  const std::uint32_t* positions = graph_.write_position.data();
  std::uint32_t low = writers.first, high = writers.last, at = hint_[entry];
  if (at < high && positions[at] < limit) {
    std::uint32_t step = 1;
    low = at + 1;
    while (at + step < high && positions[at + step] < limit) {
      low = at + step + 1;
      step *= 2;
    }
    high = std::min(at + step, high);
  } else {
    std::uint32_t step = 1;
    high = at;
    while (high - low > step && positions[high - step] >= limit) {
      high -= step;
      step *= 2;
    }
    low = high - low > step ? high - step : low;
  }
  const std::uint32_t* found = std::lower_bound(positions + low, positions + high, limit);
  const auto end = static_cast<std::uint32_t>(found - positions);
  hint_[entry] = end == writers.first ? end : end - 1;
  return end == writers.first ? nothing : end - 1;
}

void Saturation::clear_worklist() {
  while (!dirty_.empty()) changed_[dirty_.take()] = 0;
}

void Saturation::mark() { marks_.push_back({saved_.size(), links_.size()}); }

void Saturation::undo() {
  clear_worklist();
  const Mark mark = marks_.back();
  marks_.pop_back();
  while (saved_.size() > mark.saved) {
    const Saved& saved = saved_.back();
    std::memcpy(lanes(saved.node) + 8 * std::size_t{saved.block}, saved.lanes, sizeof saved.lanes);
    saved_.pop_back();
  }
  while (links_.size() > mark.links) {
    first_link_[links_.back().from] = links_.back().next;
    links_.pop_back();
  }
}

void Saturation::forget() {
  marks_.pop_back();
  if (marks_.empty()) saved_.clear();
}

}  // namespace teetotal::histories
