// Readers of histories, one format per file. Each takes the whole text and gives every history in it, or throws a
// HistoryFault with the line. None of them recurses, so that no input can exhaust the stack.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "histories/budget.hpp"
#include "histories/history.hpp"

namespace teetotal::histories {

struct ReadOptions {
  bool split_transactions = false;  // take the operations of a transaction one by one
  const Budget* budget = nullptr;   // OutOfBudget is thrown where it is over
};

std::vector<History> read_axe(std::string_view text, ReadOptions options);
std::vector<History> read_text(std::string_view text, ReadOptions options);  // our own
std::vector<History> read_dbcop_json(std::string_view text, ReadOptions options);
std::vector<History> read_dbcop_text(std::string_view text, ReadOptions options);
std::vector<History> read_polysi(std::string_view text, ReadOptions options);
std::vector<History> read_edn(std::string_view text, ReadOptions options);
std::vector<History> read_jepsen_log(std::string_view text, ReadOptions options);
std::vector<History> read_tracegen(std::string_view text, ReadOptions options);
std::vector<History> read_gem5(std::string_view text, ReadOptions options);

std::vector<History> read_histories(std::string_view text, std::string_view format, ReadOptions options);

// "No value yet", which is how databases show an initial state. A history in which it occurs says so (History::nil),
// and has no operation on that number itself.
constexpr std::int64_t nil = INT64_MIN;

std::string quoted(std::string_view text);

// Names or numbers to dense indices, in order of appearance.
class Names {
 public:
  std::uint32_t number(std::int64_t value);
  std::uint32_t name(std::string_view name);
  std::vector<std::string> take(const char* prefix, const char* suffix);  // how a bare number is to be shown
  std::size_t size() const { return count_; }
  void clear();

 private:
  std::uint32_t count_ = 0;
  std::vector<std::uint32_t> small_;
  std::unordered_map<std::int64_t, std::uint32_t> large_;
  std::unordered_map<std::string, std::uint32_t> named_;
};

// Fills the columns of one history after the other.
class Builder {
 public:
  Builder(std::size_t expected_operations, ReadOptions options);

  Names threads, addresses;
  std::string name;
  void load(std::uint32_t thread, std::uint32_t address, std::optional<std::int64_t> value, std::size_t line);
  void store(std::uint32_t thread, std::uint32_t address, std::int64_t value, std::size_t line);
  void rmw(std::uint32_t thread, std::uint32_t address, std::optional<std::int64_t> read,
           std::optional<std::int64_t> value, std::size_t line);
  void fence(std::uint32_t thread, Kind kind, std::size_t line);
  void times(std::int64_t begin, std::int64_t end);  // of the operation added last
  void initial(std::uint32_t address, std::int64_t value, std::size_t line);
  void final(std::uint32_t address, std::int64_t value, std::size_t line);
  void has_nil() { history_.nil = true; }
  // What an rmw of which that is not known read, by its address and what it wrote.
  void rmws_read(const std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t>& read);
  void poll() {  // for readers to call at each line, or piece, of the input
    if (options_.budget && (++polls_ & 0xfff) == 0 && options_.budget->over()) throw OutOfBudget{};
  }
  bool empty() const { return history_.size() == 0 && history_.final.empty() && history_.initial.empty(); }
  std::size_t size() const { return history_.size(); }
  void finish_history();  // the next operation starts a new one
  std::vector<History> take();
  const char *thread_prefix = "", *address_prefix = "", *address_suffix = "";

 private:
  void add(std::uint32_t thread, Kind kind, std::uint32_t address, std::int64_t value, std::uint8_t flags,
           std::size_t line);
  void bind(std::vector<Binding>& bindings, std::vector<bool>& bound, Binding binding, const char* what);
  const ReadOptions options_;
  std::size_t polls_ = 0;
  History history_;
  std::vector<History> finished_;
  std::vector<bool> initial_bound_, final_bound_;
};

std::string hexadecimal_name(std::uint64_t address);  // the same however many zeros and capitals a file writes

// The operations of a database's transaction. One operation is itself; a read and a write of the same key are an rmw;
// more would need serialisability, which is another question, so they are refused or, if so asked, split.
class Transaction {
 public:
  void read(std::uint32_t address, std::optional<std::int64_t> value, std::size_t line);
  void write(std::uint32_t address, std::int64_t value, std::size_t line);
  void append(std::uint32_t address, std::int64_t value, std::size_t line);  // to a list: reads, and writes
  void finish(Builder& out, std::uint32_t thread, ReadOptions options);
  void clear() { accesses_.clear(); }

 private:
  struct Access {
    Kind kind;
    std::uint32_t address;
    std::optional<std::int64_t> value;
    std::size_t line;
  };
  std::vector<Access> accesses_;
};

// Walks over a text, and knows the line.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}
  // Over the rest of a line, from a place in it.
  Scanner(std::string_view line, std::size_t from, std::size_t number)
      : begin_(line.data()), at_(begin_ + from), end_(begin_ + line.size()), line_(number) {}

  bool done() const { return at_ == end_; }
  char peek() const { return at_ == end_ ? '\0' : *at_; }
  char take() {
    const char c = *at_++;
    line_ += c == '\n';
    return c;
  }
  std::size_t line() const { return line_; }
  const char* position() const { return at_; }
  std::string_view since(const char* start) const { return {start, static_cast<std::size_t>(at_ - start)}; }
  std::string_view rest_of_line();  // without its end, which is consumed
  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  void skip_space() {  // and line ends
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) take();
  }
  bool accept(char c) {
    if (at_ == end_ || *at_ != c) return false;
    take();
    return true;
  }
  bool accept(std::string_view word) {
    if (static_cast<std::size_t>(end_ - at_) < word.size() || std::string_view(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void expect(std::string_view word);
  void expect_line_end();  // blanks and a comment may stand before it
  bool at_digit() const { return at_ != end_ && *at_ >= '0' && *at_ <= '9'; }
  std::int64_t number();                 // decimal or 0x, with an optional minus
  void refuse_least_beside_nil() const;  // to be asked where both may occur, at the end
  void note_least_of(const Scanner& part) { least_line_ = least_line_ > 0 ? least_line_ : part.least_line_; }
  std::int64_t hexadecimal();                                 // without 0x
  std::string_view word();                                    // letters, digits, and what names are made of
  [[noreturn]] void fail(const std::string& expected) const;  // "expected ..., found ..."
  [[noreturn]] void reject(const std::string& message) const;

 private:
  const char* begin_;  // of a line, at least of the first one
  const char* at_;
  const char* end_;
  std::size_t line_ = 1;
  std::size_t least_line_ = 0;  // where number() met -2⁶³
};

}  // namespace teetotal::histories
