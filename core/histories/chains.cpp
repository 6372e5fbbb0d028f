#include "histories/chains.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace teetotal::histories {
namespace {

class ChainMaker {
 public:
  ChainMaker(const Problem& problem, Model model, bool rmw_flushes_all)
      : history_(*problem.history), problem_(problem), flush_all_(model == Model::tso || rmw_flushes_all) {
    graph_.model = model;
    graph_.size = history_.size();
  }

  ChainGraph make() {
    group_by_thread();
    for (std::uint32_t t = 0; t < history_.threads.size(); ++t) {
      const std::span<const Op> program(by_thread_.data() + thread_first_[t], by_thread_.data() + thread_first_[t + 1]);
      switch (graph_.model) {
        case Model::sc:
          sequential(program);
          break;
        case Model::tso:
          total_store_order(program);
          break;
        case Model::pso:
          partial_store_order(program);
          break;
      }
    }
    finish_chains();
    list_writes();
    own_stores();
    initial_reads();
    final_writes();
    number();
    return std::move(graph_);
  }

 private:
  void group_by_thread() {
    thread_first_.assign(history_.threads.size() + 1, 0);
    for (const std::uint32_t t : history_.thread) ++thread_first_[t + 1];
    for (std::size_t t = 1; t < thread_first_.size(); ++t) thread_first_[t] += thread_first_[t - 1];
    by_thread_.resize(history_.size());
    std::vector<std::uint32_t> fill(thread_first_.begin(), thread_first_.end() - 1);
    for (Op op = 0; op < history_.size(); ++op) by_thread_[fill[history_.thread[op]]++] = op;
    chain_.resize(history_.size());
    position_.resize(history_.size());
  }

  std::uint32_t new_chain() {
    lengths_.push_back(0);
    return static_cast<std::uint32_t>(lengths_.size() - 1);
  }
  void place(Op op, std::uint32_t chain) {
    chain_[op] = chain;
    position_[op] = lengths_[chain]++;
  }
  void keep(Op from, Op to) {
    if (from != nothing) graph_.edges.push_back({from, to, nothing, Reason::program});
  }

  void sequential(std::span<const Op> program) {
    const std::uint32_t chain = new_chain();
    for (const Op op : program) place(op, chain);
  }

  // Everything but store → load. Loads and stores are chains; an edge is needed only from the newest of the other side.
  void total_store_order(std::span<const Op> program) {
    const std::uint32_t loads = new_chain(), stores = new_chain();
    Op load = nothing, load_kept = nothing, store = nothing, store_kept = nothing, atomic = nothing;
    for (const Op op : program) {
      const Kind kind = history_.kind_of(op);
      if (kind == Kind::st || kind == Kind::rmw) {
        place(op, stores);
        if (load != load_kept) keep(load_kept = load, op);
        store = op;
        if (kind == Kind::rmw) atomic = op;
      } else {
        place(op, loads);
        if (kind == Kind::mfence) {
          if (store != store_kept) keep(store_kept = store, op);
        } else if (atomic != nothing && atomic != store_kept) {
          keep(store_kept = atomic, op);
        }
        atomic = nothing;
        load = op;
      }
    }
  }

  struct StoreChain {
    std::uint32_t chain;
    Op last = nothing;       // its newest store
    Op synced = nothing;     // the newest load or rmw that it is already kept behind
    Op separated = nothing;  // the newest sfence that it is already kept behind
    Op flushed = nothing;    // the newest store that a later fence or rmw is already kept behind
    Op marked = nothing;     // the same for an sfence
  };

  // A store is kept behind all that executed before it: loads, fences and rmws, of which the newest is `sync`.
  void partial_store_order(std::span<const Op> program) {
    const std::uint32_t loads = new_chain();
    std::uint32_t separators = nothing;
    std::unordered_map<std::uint32_t, StoreChain> stores;
    std::vector<std::uint32_t> used;
    Op sync = nothing, atomic = nothing, separator = nothing;
    for (const Op op : program) {
      const Kind kind = history_.kind_of(op);
      if (kind == Kind::st || kind == Kind::rmw) {
        const auto [entry, added] = stores.try_emplace(history_.address[op]);
        StoreChain& own = entry->second;
        if (added) {
          own.chain = new_chain();
          used.push_back(history_.address[op]);
        }
        place(op, own.chain);
        if (sync != own.synced) keep(own.synced = sync, op);
        if (separator != own.separated) keep(own.separated = separator, op);
        if (kind == Kind::rmw && flush_all_) {
          for (const std::uint32_t address : used) {
            StoreChain& other = stores.at(address);
            if (address != history_.address[op] && other.last != other.flushed) keep(other.flushed = other.last, op);
          }
        }
        own.last = op;
        if (kind == Kind::rmw) {
          sync = atomic = own.synced = op;
          if (flush_all_) own.flushed = op;
        }
      } else if (kind == Kind::sfence) {
        if (separators == nothing) separators = new_chain();
        place(op, separators);
        for (const std::uint32_t address : used) {
          StoreChain& other = stores.at(address);
          if (other.last != other.marked) keep(other.marked = other.last, op);
        }
        separator = op;
      } else {
        place(op, loads);
        if (atomic != nothing) keep(atomic, op);
        atomic = nothing;
        if (kind == Kind::mfence)
          for (const std::uint32_t address : used) {
            StoreChain& other = stores.at(address);
            if (other.last != other.flushed) keep(other.flushed = other.last, op);
          }
        sync = op;
      }
    }
  }

  void finish_chains() {
    graph_.chains = lengths_.size();
    graph_.chain_first.assign(graph_.chains + 1, 0);
    for (std::size_t c = 0; c < graph_.chains; ++c) graph_.chain_first[c + 1] = graph_.chain_first[c] + lengths_[c];
    graph_.chain_nodes.resize(history_.size());
    for (Op op = 0; op < history_.size(); ++op) graph_.chain_nodes[graph_.chain_first[chain_[op]] + position_[op]] = op;
  }

  // Writes by address and chain. Still by operation; number() translates.
  void list_writes() {
    const std::size_t addresses = history_.addresses.size();
    std::vector<std::uint32_t> count(addresses + 1, 0);
    for (Op op = 0; op < history_.size(); ++op)
      if (history_.writes(op)) ++count[history_.address[op] + 1];
    for (std::size_t a = 1; a < count.size(); ++a) count[a] += count[a - 1];
    graph_.write_node.resize(count[addresses]);
    graph_.write_position.resize(count[addresses]);
    std::vector<std::uint32_t> fill(count.begin(), count.end() - 1);
    for (const Op op : graph_.chain_nodes)  // by chain, by position
      if (history_.writes(op)) {
        const std::uint32_t at = fill[history_.address[op]]++;
        graph_.write_node[at] = op;
        graph_.write_position[at] = position_[op];
      }
    graph_.first_writers.push_back(0);
    for (std::size_t a = 0; a < addresses; ++a) {
      for (std::uint32_t i = count[a]; i < count[a + 1]; ++i) {
        const std::uint32_t chain = chain_[graph_.write_node[i]];
        if (graph_.writers.size() == graph_.first_writers.back() || graph_.writers.back().chain != chain)
          graph_.writers.push_back({chain, i, i});
        graph_.writers.back().last = i + 1;
      }
      graph_.first_writers.push_back(static_cast<std::uint32_t>(graph_.writers.size()));
    }
  }

  std::span<const ChainGraph::Writers> writers_of(std::uint32_t address) const {
    return {graph_.writers.data() + graph_.first_writers[address],
            graph_.writers.data() + graph_.first_writers[address + 1]};
  }

  void refute(Op from, Op to, Op why, Reason reason) {
    if (graph_.impossible) return;
    graph_.impossible = true;
    graph_.refuted = {from, to, why, reason};
  }

  // No load sees a later store of its own thread. Under TSO and PSO it sees its thread's newest store to the address,
  // or something newer; under SC this follows from program order.
  void own_stores() {
    std::vector<Op> newest(history_.addresses.size(), nothing);
    std::vector<std::uint32_t> place_in_program(history_.size());
    for (std::uint32_t t = 0; t < history_.threads.size(); ++t) {
      for (std::uint32_t i = thread_first_[t]; i < thread_first_[t + 1]; ++i) place_in_program[by_thread_[i]] = i;
      for (std::uint32_t i = thread_first_[t]; i < thread_first_[t + 1]; ++i) {
        const Op op = by_thread_[i];
        const Op source = problem_.source[op];
        if (source != unknown_source) {
          const Op own = newest[history_.address[op]];
          if (is_operation(source) && history_.thread[source] == t && place_in_program[source] > i)
            refute(source, op, nothing, Reason::reads_from);
          else if (graph_.model == Model::sc || own == nothing)
            ;
          else if (source == initial_source)
            refute(op, own, nothing, Reason::initial);
          else if (own != source)
            graph_.edges.push_back({own, source, op, Reason::location});
        }
        if (history_.writes(op)) newest[history_.address[op]] = op;
      }
      for (std::uint32_t i = thread_first_[t]; i < thread_first_[t + 1]; ++i)
        if (history_.writes(by_thread_[i])) newest[history_.address[by_thread_[i]]] = nothing;
    }
  }

  // A read of the initial value is before every write of the address: from the last such read of each chain.
  void initial_reads() {
    std::unordered_map<std::uint64_t, Op> last;
    for (const Op op : graph_.chain_nodes)
      if (problem_.source[op] == initial_source) last[std::uint64_t{history_.address[op]} << 32 | chain_[op]] = op;
    std::vector<std::pair<std::uint64_t, Op>> reads(last.begin(), last.end());
    std::sort(reads.begin(), reads.end());
    for (const auto& [key, op] : reads)
      for (const ChainGraph::Writers& writers : writers_of(static_cast<std::uint32_t>(key >> 32))) {
        const Op write = graph_.write_node[writers.first];
        if (write != op) graph_.edges.push_back({op, write, nothing, Reason::initial});
      }
  }

  void final_writes() {
    for (std::uint32_t a = 0; a < problem_.final.size(); ++a) {
      const Op final = problem_.final[a];
      if (final == unknown_source) continue;
      for (const ChainGraph::Writers& writers : writers_of(a)) {
        const Op write = graph_.write_node[writers.last - 1];
        if (final == initial_source)
          refute(write, write, nothing, Reason::final);
        else if (write != final)
          graph_.edges.push_back({write, final, nothing, Reason::final});
      }
    }
  }

  bool is_external(Op op) const {
    const Op source = problem_.source[op];
    return is_operation(source) && history_.thread[source] != history_.thread[op];
  }

  Precedence precedence() const {
    const std::size_t n = history_.size();
    Precedence result;
    result.first.assign(n + 1, 0);
    const auto each = [&](auto&& emit) {
      for (std::size_t c = 0; c < graph_.chains; ++c)
        for (std::uint32_t i = graph_.chain_first[c]; i + 1 < graph_.chain_first[c + 1]; ++i)
          emit(graph_.chain_nodes[i], graph_.chain_nodes[i + 1]);
      for (Op op = 0; op < n; ++op)
        if (is_external(op)) emit(problem_.source[op], op);
      for (const Edge& edge : graph_.edges) emit(edge.from, edge.to);
    };
    each([&](Op from, Op) { ++result.first[from + 1]; });
    for (std::size_t i = 1; i <= n; ++i) result.first[i] += result.first[i - 1];
    result.successors.resize(result.first[n]);
    std::vector<std::uint32_t> fill(result.first.begin(), result.first.end() - 1);
    each([&](Op from, Op to) { result.successors[fill[from]++] = to; });
    return result;
  }

  // From operations to nodes.
  void number() {
    const std::size_t n = history_.size();
    graph_.op = likely_order(history_, problem_.source, precedence());
    graph_.node.resize(n);
    for (Node node = 0; node < n; ++node) graph_.node[graph_.op[node]] = node;
    const auto translate = [&](Op& op) {
      if (is_operation(op)) op = graph_.node[op];
    };
    graph_.chain.resize(n);
    graph_.position.resize(n);
    graph_.address.resize(n);
    graph_.source.resize(n);
    graph_.role.resize(n);
    graph_.first_reader.assign(n + 1, 0);
    for (Node node = 0; node < n; ++node) {
      const Op op = graph_.op[node];
      graph_.chain[node] = chain_[op];
      graph_.position[node] = position_[op];
      graph_.address[node] = history_.address[op];
      graph_.source[node] = problem_.source[op];
      translate(graph_.source[node]);
      graph_.role[node] = static_cast<std::uint8_t>((history_.reads(op) ? ChainGraph::reads : 0) |
                                                    (history_.writes(op) ? ChainGraph::writes : 0) |
                                                    (is_external(op) ? ChainGraph::external : 0));
      if (is_operation(graph_.source[node])) ++graph_.first_reader[graph_.source[node] + 1];
    }
    for (Node& node : graph_.chain_nodes) translate(node);
    for (Node& node : graph_.write_node) translate(node);
    for (std::size_t i = 1; i <= n; ++i) graph_.first_reader[i] += graph_.first_reader[i - 1];
    graph_.readers.resize(graph_.first_reader[n]);
    std::vector<std::uint32_t> fill(graph_.first_reader.begin(), graph_.first_reader.end() - 1);
    for (const Node node : graph_.chain_nodes)
      if (is_operation(graph_.source[node])) graph_.readers[fill[graph_.source[node]]++] = node;
    for (Edge& edge : graph_.edges) {
      translate(edge.from);
      translate(edge.to);
      translate(edge.why);
    }
    if (!graph_.impossible) return;  // `refuted` is only set with it
    translate(graph_.refuted.from);
    translate(graph_.refuted.to);
    translate(graph_.refuted.why);
  }

  const History& history_;
  const Problem& problem_;
  const bool flush_all_;
  ChainGraph graph_;
  std::vector<Op> by_thread_;
  std::vector<std::uint32_t> thread_first_, chain_, position_, lengths_;
};

}  // namespace

ChainGraph make_chains(const Problem& problem, Model model, bool rmw_flushes_all) {
  return ChainMaker(problem, model, rmw_flushes_all).make();
}

}  // namespace teetotal::histories
