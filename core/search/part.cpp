#include "search/part.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace teetotal {

namespace {

constexpr std::uint64_t kVersion = 2;

enum class Who : std::uint8_t { thread, whole, location };  // of an agent

class Writer {
 public:
  explicit Writer(const System& system) : system_(system) {}

  void number(std::uint64_t value) {
    char digits[24];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
    text.append(digits, end).push_back(' ');
  }
  void agent(std::uint32_t number_here) {
    const Agent agent = system_.agent_of(number_here);
    const Who who = agent.buffer == Agent::kThread  ? Who::thread
                    : agent.buffer == Agent::kWhole ? Who::whole
                                                    : Who::location;
    number(std::uint64_t{agent.thread} << 2U | static_cast<std::uint64_t>(who));
    if (who == Who::location) address(static_cast<std::uint32_t>(agent.buffer));
  }
  void address(std::uint32_t number_here) {
    number(system_.holds_data(number_here));
    number(system_.address_name(number_here));
  }
  void event(const Event& event) {
    agent(event.thread);
    number(static_cast<std::uint64_t>(event.kind) << 1U | event.writes);
    number(static_cast<std::uint64_t>(event.order) << 8U | event.also);
    if (!is_fence(event.kind)) address(event.address);
    number(system_.location_name(event.location));
  }
  template <class Values, class Write>
  void list(const Values& values, Write write) {
    number(values.size());
    for (const auto& value : values) write(value);
  }
  void events(const std::vector<Event>& values) {
    list(values, [&](const Event& value) { event(value); });
  }
  void numbers(const std::vector<std::size_t>& values) {
    list(values, [&](std::uint64_t value) { number(value); });
  }
  void tree(const std::vector<Branch>& branches) {
    list(branches, [&](const Branch& branch) {
      event(branch.event);
      number(std::uint64_t{branch.mark} << 1U | branch.fresh);
      tree(branch.children);
    });
  }

  std::string text;

 private:
  const System& system_;
};

class Reader {
 public:
  Reader(std::string_view text, System& system) : at_(text.data()), end_(text.data() + text.size()), system_(system) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    const auto [next, error] = std::from_chars(at_, end_, value);
    if (error != std::errc{} || next == end_ || *next != ' ') throw std::invalid_argument("not a part of a search");
    at_ = next + 1;
    return value;
  }
  std::uint32_t agent() {
    const std::uint64_t value = number();
    const auto thread = static_cast<std::uint32_t>(value >> 2U);
    const auto who = static_cast<Who>(value & 3U);
    if (who == Who::location) return system_.number_of({thread, address()});
    return system_.number_of({thread, who == Who::whole ? Agent::kWhole : Agent::kThread});
  }
  std::uint32_t address() {
    const bool data = number() != 0;
    return system_.address_named(number(), data);
  }
  Event event() {
    Event event;
    event.thread = agent();
    const std::uint64_t kind = number(), order = number();
    event.kind = static_cast<Kind>(kind >> 1U);
    event.writes = (kind & 1U) != 0;
    event.order = static_cast<Order>(order >> 8U);
    event.also = static_cast<std::uint8_t>(order);
    event.address = is_fence(event.kind) ? 0 : address();
    event.location = system_.location_named(number());
    return event;
  }
  template <class Value, class Read>
  std::vector<Value> list(Read read) {
    const std::uint64_t size = number();
    if (size > static_cast<std::uint64_t>(end_ - at_)) throw std::invalid_argument("not a part of a search");
    std::vector<Value> values;
    values.reserve(size);
    for (std::uint64_t i = 0; i < size; ++i) values.push_back(read());
    return values;
  }
  std::vector<Event> events() {
    return list<Event>([&] { return event(); });
  }
  std::vector<std::size_t> numbers() {
    return list<std::size_t>([&] { return number(); });
  }
  std::vector<Branch> tree() {
    return list<Branch>([&] {
      Branch branch{event()};
      const std::uint64_t marks = number();
      branch.mark = static_cast<std::uint32_t>(marks >> 1U);
      branch.fresh = (marks & 1U) != 0;
      branch.children = tree();
      return branch;
    });
  }
  bool at_end() const { return at_ == end_; }

 private:
  const char* at_;
  const char* end_;
  System& system_;
};

}  // namespace

std::string to_text(const Part& part, const System& system) {
  Writer out(system);
  out.number(kVersion);
  out.number(static_cast<std::uint64_t>(part.buffers));
  out.number(part.finished);
  out.number(part.base);
  out.number(part.known);
  out.events(part.path);
  out.list(part.levels, [&](const Part::Level& level) {
    out.number(level.done);
    out.events(level.sleep);
    out.list(level.left, [&](std::uint32_t number) { out.agent(number); });
    out.tree(level.tree);
  });
  out.list(part.kept, [&](const Race& race) {
    out.number(race.first);
    out.number(race.second);
    out.event(race.reversed);
    out.numbers(race.also);
  });
  return std::move(out.text);
}

Part part_from(std::string_view text, System& system) {
  Reader in(text, system);
  if (in.number() != kVersion) throw std::invalid_argument("not a part of a search of this version");
  Part part;
  part.buffers = static_cast<Buffering>(in.number());
  part.finished = in.number() != 0;
  part.base = in.number();
  part.known = in.number();
  part.path = in.events();
  part.levels = in.list<Part::Level>([&] {
    Part::Level level;
    level.done = static_cast<std::uint32_t>(in.number());
    level.sleep = in.events();
    level.left = in.list<std::uint32_t>([&] { return in.agent(); });
    level.tree = in.tree();
    return level;
  });
  part.kept = in.list<Race>([&] {
    const std::size_t first = in.number(), second = in.number();
    const Event reversed = in.event();
    return Race{first, second, reversed, in.numbers()};
  });
  const std::size_t levels = part.finished ? 0 : part.path.size() + 1;
  const auto outside = [&](const Race& race) { return race.first >= race.second || race.second >= part.path.size(); };
  if (!in.at_end() || part.levels.size() != levels || part.base > part.path.size() || part.known > part.path.size() ||
      std::ranges::any_of(part.kept, outside))
    throw std::invalid_argument("not a part of a search");
  return part;
}

std::string to_text(const std::vector<Ask>& asks, const System& system) {
  Writer out(system);
  out.list(asks, [&](const Ask& ask) {
    out.number(ask.first);
    out.number(ask.second);
    out.number(ask.fixed);
    out.number(std::uint64_t{ask.once} << 1U | ask.settled);
    out.events(ask.sequence);
  });
  return std::move(out.text);
}

std::vector<Ask> asks_from(std::string_view text, System& system) {
  Reader in(text, system);
  std::vector<Ask> asks;
  while (!in.at_end()) {
    auto more = in.list<Ask>([&] {
      Ask ask{.first = in.number(), .second = in.number(), .fixed = in.number()};
      const std::uint64_t how = in.number();
      ask.once = (how & 2U) != 0;
      ask.settled = (how & 1U) != 0;
      ask.sequence = in.events();
      return ask;
    });
    asks.insert(asks.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return asks;
}

}  // namespace teetotal
