#include "histories/parts.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <unordered_map>
#include <utility>

#include "components.hpp"
#include "hash.hpp"

namespace teetotal::histories {
namespace {

using Part = std::uint32_t;

std::vector<bool> shared_addresses(const History& history) {
  std::vector<std::uint32_t> user(history.addresses.size(), nothing);
  std::vector<bool> several(user.size()), written(user.size()), seen(user.size());
  for (Op op = 0; op < history.size(); ++op) {
    const std::uint32_t a = history.address[op];
    if (a == nothing) continue;
    if (user[a] == nothing) user[a] = history.thread[op];
    if (user[a] != history.thread[op]) several[a] = true;
    if (history.writes(op)) written[a] = true;
    if (history.reads(op) && !(history.flags[op] & result_unknown)) seen[a] = true;
  }
  for (const Binding& binding : history.final) seen[binding.address] = true;
  for (std::size_t a = 0; a < several.size(); ++a) several[a] = several[a] && written[a] && seen[a];
  return several;
}

// Whether every other address is read as its thread wrote it, or as it was in the beginning, and ends so, if at all.
bool others_hold(const History& history, const std::vector<bool>& shared) {
  std::vector<std::int64_t> memory(history.addresses.size(), 0);
  for (const Binding& binding : history.initial) memory[binding.address] = binding.value;
  for (Op op = 0; op < history.size(); ++op) {
    const std::uint32_t a = history.address[op];
    if (a == nothing || shared[a]) continue;
    if (history.reads(op) && !(history.flags[op] & result_unknown) && history.value_read(op) != memory[a]) return false;
    if (history.writes(op)) memory[a] = history.value[op];
  }
  return std::ranges::all_of(history.final, [&](const Binding& binding) {
    return shared[binding.address] || memory[binding.address] == binding.value;
  });
}

// Which shared address a thread goes to from which.
struct Edges {
  std::vector<std::size_t> first;  // per address its edges; one entry more
  std::vector<std::uint32_t> to;

  Edges(const History& history, const std::vector<bool>& shared) {
    std::vector<std::uint64_t> edges, seen(std::size_t{1} << 16, 0);  // most repeat soon
    std::vector<std::uint32_t> last(history.threads.size(), nothing);
    for (Op op = 0; op < history.size(); ++op) {
      const std::uint32_t a = history.address[op];
      if (a == nothing || !shared[a]) continue;
      const std::uint32_t before = std::exchange(last[history.thread[op]], a);
      if (before == nothing || before == a) continue;
      const std::uint64_t edge = std::uint64_t{before} << 32U | a;
      std::uint64_t& known = seen[mix(edge, 0) % seen.size()];
      if (known != edge) edges.push_back(known = edge);
    }
    std::ranges::sort(edges);
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    first.assign(history.addresses.size() + 1, 0);
    to.reserve(edges.size());
    for (const std::uint64_t edge : edges) {
      ++first[(edge >> 32U) + 1];
      to.push_back(static_cast<std::uint32_t>(edge));
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
  }
};

// Per address the number of its component.
std::vector<std::uint32_t> components(const Edges& edges) {
  struct Cursor {
    std::size_t at, end;
  };
  const auto found = strong_components(
      static_cast<std::int32_t>(edges.first.size() - 1), -1,
      [&](std::int32_t address) {
        const auto a = static_cast<std::size_t>(address);
        return Cursor{edges.first[a], edges.first[a + 1]};
      },
      [&](Cursor& cursor) {
        return cursor.at < cursor.end ? static_cast<std::int32_t>(edges.to[cursor.at++]) : std::int32_t{-1};
      });
  std::int32_t following = found.empty() ? 0 : std::ranges::max(found) + 1;
  std::vector<std::uint32_t> component;
  component.reserve(found.size());
  for (const std::int32_t number : found)
    component.push_back(static_cast<std::uint32_t>(number < 0 ? following++ : number));
  return component;
}

// The components along the edges; of those that could come next, the one that the file has first. `begins`: the first
// access to each, or nothing.
std::vector<std::uint32_t> in_order(const std::vector<std::uint32_t>& component, const Edges& edges,
                                    const std::vector<Op>& begins) {
  std::vector<std::uint32_t> waits_for(begins.size(), 0), order;
  std::vector<std::vector<std::uint32_t>> after(begins.size());
  for (std::size_t a = 0; a < component.size(); ++a)
    for (std::size_t i = edges.first[a]; i < edges.first[a + 1]; ++i)
      if (const std::uint32_t other = component[edges.to[i]]; other != component[a]) {
        after[component[a]].push_back(other);
        ++waits_for[other];
      }
  using Entry = std::pair<Op, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (std::uint32_t c = 0; c < begins.size(); ++c)
    if (waits_for[c] == 0 && begins[c] != nothing) ready.emplace(begins[c], c);
  while (!ready.empty()) {
    const std::uint32_t c = ready.top().second;
    ready.pop();
    order.push_back(c);
    for (const std::uint32_t other : after[c])
      if (--waits_for[other] == 0) ready.emplace(begins[other], other);
  }
  return order;
}

// Per address its part, and how many there are.
std::pair<std::vector<Part>, std::size_t> parts_of(const History& history, const std::vector<bool>& shared,
                                                   std::size_t fewest) {
  const Edges edges(history, shared);
  std::vector<std::uint32_t> component = components(edges);
  std::vector<Op> begins(component.size(), nothing);
  std::vector<std::size_t> size(component.size(), 0);
  for (Op op = 0; op < history.size(); ++op) {
    const std::uint32_t a = history.address[op];
    if (a != nothing && shared[a] && size[component[a]]++ == 0) begins[component[a]] = op;
  }
  std::vector<Part> part(component.size(), 0);
  std::size_t parts = 1, filled = 0;
  for (const std::uint32_t c : in_order(component, edges, begins)) {
    if (filled >= fewest && filled > 0) {
      ++parts;
      filled = 0;
    }
    part[c] = static_cast<Part>(parts - 1);
    filled += size[c];
  }
  for (std::uint32_t& number : component) number = part[number];
  return {std::move(component), parts};
}

}  // namespace

Parts::Parts(const History& history, std::size_t fewest)
    : history_(history), shared_(shared_addresses(history)), first_{0, history.size()}, operations_(history.size()) {
  std::iota(operations_.begin(), operations_.end(), Op{0});
  if (!others_hold(history, shared_)) return;
  const auto [part_of, parts] = parts_of(history, shared_, fewest);
  if (parts == 1) return;
  for (std::uint32_t i = 0; i < history.initial.size(); ++i) initial_[history.initial[i].address] = i;
  for (std::uint32_t i = 0; i < history.final.size(); ++i) final_[history.final[i].address] = i;
  // Whatever is no access to a shared address stays with the one before it, or else with the thread's first.
  const auto is_shared = [&](Op op) { return history.address[op] != nothing && shared_[history.address[op]]; };
  std::vector<Part> now(history.threads.size(), nothing), part(history.size());
  for (Op op = 0; op < history.size(); ++op)
    if (Part& first = now[history.thread[op]]; first == nothing && is_shared(op)) first = part_of[history.address[op]];
  std::ranges::replace(now, nothing, Part{0});
  first_.assign(parts + 1, 0);
  for (Op op = 0; op < history.size(); ++op) {
    Part& own = now[history.thread[op]];
    if (is_shared(op)) own = part_of[history.address[op]];
    part[op] = own;
    ++first_[own + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<std::size_t> fill(first_.begin(), first_.end() - 1);
  for (Op op = 0; op < history.size(); ++op) operations_[fill[part[op]]++] = op;
}

History Parts::history(std::size_t part) const {
  History result;
  result.name = history_.name;
  result.nil = history_.nil;
  const auto own = operations(part);
  const auto copy = [&](auto& column, const auto& whole) {
    if (whole.empty()) return;
    column.reserve(own.size());
    for (const Op op : own) column.push_back(whole[op]);
  };
  copy(result.line, history_.line);
  copy(result.kind, history_.kind);
  copy(result.flags, history_.flags);
  copy(result.value, history_.value);
  copy(result.read, history_.read);
  copy(result.begin, history_.begin);
  copy(result.end, history_.end);

  std::unordered_map<std::uint32_t, std::uint32_t> threads, addresses;
  const auto numbered = [](auto& numbers, std::uint32_t of_whole, auto& names, const auto& all_names) {
    const auto [entry, added] = numbers.try_emplace(of_whole, static_cast<std::uint32_t>(names.size()));
    if (added) names.push_back(all_names[of_whole]);
    return entry->second;
  };
  result.thread.reserve(own.size());
  result.address.reserve(own.size());
  for (Op op = 0; op < own.size(); ++op) {
    result.thread.push_back(numbered(threads, history_.thread[own[op]], result.threads, history_.threads));
    const std::uint32_t a = history_.address[own[op]];
    result.address.push_back(a == nothing ? nothing : numbered(addresses, a, result.addresses, history_.addresses));
    if (a != nothing && !shared_[a] && result.reads(op)) result.flags[op] |= result_unknown;
  }
  const auto bind = [&](std::vector<Binding>& kept, const std::vector<Binding>& all, const auto& places) {
    for (const auto& [of_whole, number] : addresses)
      if (const auto place = places.find(of_whole); place != places.end() && shared_[of_whole])
        kept.push_back({number, all[place->second].value, all[place->second].line});
  };
  bind(result.initial, history_.initial, initial_);
  bind(result.final, history_.final, final_);
  return result;
}

}  // namespace teetotal::histories
