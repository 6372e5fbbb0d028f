// What the readers share: scanning, names to numbers, and the filling of columns.
#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "histories/readers.hpp"

namespace teetotal::histories {
namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

}  // namespace

std::string quoted(std::string_view text) {
  std::string result;
  result.push_back('"');
  for (const char c : text) result.push_back(c >= ' ' && c < 127 ? c : '?');
  result.push_back('"');
  return result;
}

// ---- Names

std::uint32_t Names::number(std::int64_t value) {
  if (value >= 0 && value < (1 << 16)) {
    const auto at = static_cast<std::size_t>(value);
    if (at >= small_.size()) small_.resize(std::max(at + 1, 2 * small_.size()), nothing);
    if (small_[at] == nothing) small_[at] = count_++;
    return small_[at];
  }
  const auto [entry, added] = large_.try_emplace(value, count_);
  count_ += added;
  return entry->second;
}

std::uint32_t Names::name(std::string_view name) {
  const auto [entry, added] = named_.try_emplace(std::string(name), count_);
  count_ += added;
  return entry->second;
}

std::vector<std::string> Names::take(const char* prefix, const char* suffix) {
  std::vector<std::string> names(count_);
  const auto show = [&](std::int64_t value) { return prefix + std::to_string(value) + suffix; };
  for (std::size_t value = 0; value < small_.size(); ++value)
    if (small_[value] != nothing) names[small_[value]] = show(static_cast<std::int64_t>(value));
  for (const auto& [value, index] : large_) names[index] = show(value);
  for (const auto& [name, index] : named_) names[index] = name;
  clear();
  return names;
}

void Names::clear() {
  count_ = 0;
  small_.clear();
  large_.clear();
  named_.clear();
}

// ---- Builder

Builder::Builder(std::size_t expected, ReadOptions options) : options_(options) {
  history_.thread.reserve(expected);
  history_.address.reserve(expected);
  history_.line.reserve(expected);
  history_.kind.reserve(expected);
  history_.flags.reserve(expected);
  history_.value.reserve(expected);
}

void Builder::add(std::uint32_t thread, Kind kind, std::uint32_t address, std::int64_t value, std::uint8_t flags,
                  std::size_t line) {
  poll();
  if (history_.size() >= ambiguous_source) throw HistoryFault(line, "more operations than can be numbered");
  history_.thread.push_back(thread);
  history_.kind.push_back(static_cast<std::uint8_t>(kind));
  history_.address.push_back(address);
  history_.value.push_back(value);
  history_.flags.push_back(flags);
  history_.line.push_back(static_cast<std::uint32_t>(line));
  if (!history_.begin.empty()) times(-1, -1);
}

void Builder::load(std::uint32_t thread, std::uint32_t address, std::optional<std::int64_t> value, std::size_t line) {
  add(thread, Kind::ld, address, value.value_or(0), value ? 0 : result_unknown, line);
}

void Builder::store(std::uint32_t thread, std::uint32_t address, std::int64_t value, std::size_t line) {
  add(thread, Kind::st, address, value, 0, line);
}

void Builder::rmw(std::uint32_t thread, std::uint32_t address, std::optional<std::int64_t> read,
                  std::optional<std::int64_t> value, std::size_t line) {
  const int flags = (read ? 0 : result_unknown) | (value ? 0 : writes_nothing);
  add(thread, Kind::rmw, address, value.value_or(0), static_cast<std::uint8_t>(flags), line);
  history_.read.resize(history_.size(), 0);
  history_.read.back() = read.value_or(0);
}

void Builder::fence(std::uint32_t thread, Kind kind, std::size_t line) { add(thread, kind, nothing, 0, 0, line); }

void Builder::times(std::int64_t begin, std::int64_t end) {
  history_.begin.resize(history_.size(), -1);
  history_.end.resize(history_.size(), -1);
  history_.begin.back() = begin;
  history_.end.back() = end;
}

void Builder::bind(std::vector<Binding>& bindings, std::vector<bool>& bound, Binding binding, const char* what) {
  if (binding.address >= bound.size()) bound.resize(2 * std::size_t{binding.address} + 1);
  if (bound[binding.address])
    throw HistoryFault(binding.line, std::string("a second ") + what + " value for the same address");
  bound[binding.address] = true;
  bindings.push_back(binding);
}

void Builder::initial(std::uint32_t address, std::int64_t value, std::size_t line) {
  bind(history_.initial, initial_bound_, {address, value, static_cast<std::uint32_t>(line)}, "initial");
}

void Builder::final(std::uint32_t address, std::int64_t value, std::size_t line) {
  bind(history_.final, final_bound_, {address, value, static_cast<std::uint32_t>(line)}, "final");
}

void Builder::rmws_read(const std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t>& read) {
  for (std::size_t op = 0; op < history_.size(); ++op) {
    if (history_.kind[op] != static_cast<std::uint8_t>(Kind::rmw) || !(history_.flags[op] & result_unknown)) continue;
    const auto found = read.find({history_.address[op], history_.value[op]});
    if (found == read.end()) continue;
    history_.read[op] = found->second;
    history_.flags[op] = static_cast<std::uint8_t>(history_.flags[op] & ~result_unknown);
  }
}

void Builder::finish_history() {
  history_.name = name;
  history_.threads = threads.take(thread_prefix, "");
  history_.addresses = addresses.take(address_prefix, address_suffix);
  if (!history_.read.empty()) history_.read.resize(history_.size(), 0);
  finished_.push_back(std::move(history_));
  history_ = {};
  initial_bound_.clear();
  final_bound_.clear();
  name.clear();
}

std::vector<History> Builder::take() {
  if (!empty() || !name.empty()) finish_history();
  return std::move(finished_);
}

std::string hexadecimal_name(std::uint64_t address) {
  char digits[16];
  return std::string("0x").append(digits, std::to_chars(digits, digits + 16, address, 16).ptr);
}

// ---- Transaction

void Transaction::read(std::uint32_t address, std::optional<std::int64_t> value, std::size_t line) {
  accesses_.push_back({Kind::ld, address, value, line});
}

void Transaction::write(std::uint32_t address, std::int64_t value, std::size_t line) {
  accesses_.push_back({Kind::st, address, value, line});
}

void Transaction::append(std::uint32_t address, std::int64_t value, std::size_t line) {
  accesses_.push_back({Kind::rmw, address, value, line});
}

void Transaction::finish(Builder& out, std::uint32_t thread, ReadOptions options) {
  const bool is_rmw = accesses_.size() == 2 && accesses_[0].kind == Kind::ld && accesses_[1].kind != Kind::ld &&
                      accesses_[0].address == accesses_[1].address;
  if (is_rmw) {
    out.rmw(thread, accesses_[0].address, accesses_[0].value, accesses_[1].value, accesses_[0].line);
  } else {
    if (accesses_.size() > 1 && !options.split_transactions)
      throw HistoryFault(accesses_[1].line,
                         "a transaction of several operations: whether it is serialisable is another question than "
                         "whether it is sequentially consistent (--transactions split takes each operation by itself)");
    for (const Access& access : accesses_)
      if (access.kind == Kind::ld)
        out.load(thread, access.address, access.value, access.line);
      else if (access.kind == Kind::st)
        out.store(thread, access.address, *access.value, access.line);
      else
        out.rmw(thread, access.address, std::nullopt, access.value, access.line);
  }
  accesses_.clear();
}

// ---- Scanner

std::string_view Scanner::rest_of_line() {
  const char* start = at_;
  while (at_ != end_ && *at_ != '\n') ++at_;
  std::string_view rest(start, static_cast<std::size_t>(at_ - start));
  if (at_ != end_) take();
  while (!rest.empty() && (rest.back() == '\r' || rest.back() == ' ')) rest.remove_suffix(1);
  return rest;
}

void Scanner::expect(std::string_view word) {
  if (!accept(word)) fail(quoted(word));
}

void Scanner::expect_line_end() {
  skip_blanks();
  if (peek() == '#') {
    rest_of_line();
    return;
  }
  if (!done() && !accept('\n')) fail("the end of the line");
}

std::int64_t Scanner::number() {
  const bool negative = accept('-');
  if (accept("0x") || accept("0X")) {
    const std::int64_t value = hexadecimal();
    if (!negative) return value;
    if (value < 0 && value != least) reject("a number below -2^63");
    return static_cast<std::int64_t>(-static_cast<std::uint64_t>(value));
  }
  if (!at_digit()) fail("a number");
  const std::uint64_t most = std::uint64_t{std::numeric_limits<std::int64_t>::max()} + negative;
  std::uint64_t value = 0;
  while (at_digit()) {
    const auto digit = static_cast<std::uint64_t>(*at_ - '0');
    if (value > (most - digit) / 10) reject("a number that does not fit into 64 bits: -2^63 to 2^63 - 1 do");
    value = 10 * value + digit;
    ++at_;
  }
  if (negative) value = -value;
  if (static_cast<std::int64_t>(value) == least) least_line_ = line_;
  return static_cast<std::int64_t>(value);
}

void Scanner::refuse_least_beside_nil() const {
  if (least_line_ > 0) throw HistoryFault(least_line_, "-2^63 in a file that has nil: they cannot be told apart here");
}

std::int64_t Scanner::hexadecimal() {
  std::uint64_t value = 0;
  int digits = 0;
  for (; at_ != end_; ++at_, ++digits) {
    const char c = *at_;
    std::uint64_t digit;
    if (c >= '0' && c <= '9')
      digit = static_cast<std::uint64_t>(c - '0');
    else if (c >= 'a' && c <= 'f')
      digit = static_cast<std::uint64_t>(c - 'a') + 10;
    else if (c >= 'A' && c <= 'F')
      digit = static_cast<std::uint64_t>(c - 'A') + 10;
    else
      break;
    if (value >> 60) reject("a number of more than 64 bits");
    value = value << 4 | digit;
  }
  if (digits == 0) fail("a hexadecimal number");
  if (static_cast<std::int64_t>(value) == least) least_line_ = line_;
  return static_cast<std::int64_t>(value);
}

std::string_view Scanner::word() {
  const char* start = at_;
  while (at_ != end_) {
    const auto c = static_cast<unsigned char>(*at_);
    const bool part = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80 ||
                      c == '_' || c == '.' || c == '$' || c == '[' || c == ']' || c == '/' || c == '+';
    if (!part) break;
    if (c == 0xe2 && end_ - at_ >= 3 && at_[1] == '\x86' && at_[2] == '\x92') break;  // the arrow
    ++at_;
  }
  if (at_ == start) fail("a name");
  return since(start);
}

void Scanner::fail(const std::string& expected) const {
  std::string found;
  if (at_ == end_) {
    found = "the end of the file";
  } else if (*at_ == '\n' || (*at_ == '\r' && at_ + 1 != end_ && at_[1] == '\n')) {
    found = "the end of the line";
  } else {
    const char* stop = at_;
    while (stop != end_ && stop - at_ < 20 && *stop != '\n' && *stop != '\r') ++stop;
    found = quoted({at_, static_cast<std::size_t>(stop - at_)});
  }
  reject("expected " + expected + ", found " + found);
}

void Scanner::reject(const std::string& message) const {
  const char* start = at_;
  while (start != begin_ && start[-1] != '\n') --start;
  throw HistoryFault(line_, message + " (column " + std::to_string(at_ - start + 1) + ")");
}

}  // namespace teetotal::histories
