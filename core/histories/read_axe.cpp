// axe's traces: "0: M[1] := 2", "1: v1 == 2 @ 10:20", "0: sync", "0: { M[1] == 2; M[1] := 3 }", "final M[1] == 2",
// and "check" after each trace. Values are 0 at first. A trace is named by the comment above it.
#include "histories/readers.hpp"

namespace teetotal::histories {
namespace {

class AxeReader {
 public:
  AxeReader(std::string_view text, ReadOptions options) : in_(text), out_(text.size() / 12 + 1, options) {
    out_.address_prefix = "M[";
    out_.address_suffix = "]";
  }

  std::vector<History> read() {
    for (; !in_.done(); line()) {
    }
    if (out_.empty()) out_.name.clear();  // a comment at the end names nothing
    return out_.take();
  }

 private:
  void line() {
    in_.skip_blanks();
    if (in_.at_digit()) {
      operation();
    } else if (in_.accept('#')) {
      in_.skip_blanks();
      const std::string_view comment = in_.rest_of_line();
      if (out_.size() == 0 && !comment.empty()) out_.name = comment;
      return;
    } else if (in_.accept("check")) {
      out_.finish_history();
    } else if (in_.accept("final")) {
      in_.skip_blanks();
      const std::uint32_t address = this->address();
      in_.skip_blanks();
      in_.expect("==");
      in_.skip_blanks();
      out_.final(address, in_.number(), in_.line());
    } else if (in_.peek() != '\n' && !in_.done()) {
      in_.fail("an operation, \"final\" or \"check\"");
    }
    in_.expect_line_end();
  }

  void operation() {
    const std::uint32_t thread = out_.threads.number(in_.number());
    in_.skip_blanks();
    in_.expect(":");
    in_.skip_blanks();
    if (in_.accept("sync")) {
      out_.fence(thread, Kind::mfence, in_.line());
    } else if (in_.accept('{')) {
      atomic(thread);
    } else {
      const std::uint32_t address = this->address();
      in_.skip_blanks();
      const bool writes = in_.accept(":=");
      if (!writes && !in_.accept("==")) in_.fail("\":=\" or \"==\"");
      in_.skip_blanks();
      if (writes)
        out_.store(thread, address, in_.number(), in_.line());
      else if (in_.accept('?'))
        out_.load(thread, address, std::nullopt, in_.line());
      else
        out_.load(thread, address, in_.number(), in_.line());
    }
    in_.skip_blanks();
    if (in_.accept('@')) times();
  }

  void atomic(std::uint32_t thread) {
    in_.skip_blanks();
    const std::uint32_t address = this->address();
    in_.skip_blanks();
    in_.expect("==");
    in_.skip_blanks();
    const std::int64_t read = in_.number();
    in_.skip_blanks();
    in_.expect(";");
    in_.skip_blanks();
    if (this->address() != address) in_.reject("an atomic operation on two different addresses");
    in_.skip_blanks();
    in_.expect(":=");
    in_.skip_blanks();
    const std::int64_t value = in_.number();
    in_.skip_blanks();
    in_.expect("}");
    out_.rmw(thread, address, read, value, in_.line());
  }

  void times() {
    in_.skip_blanks();
    const std::int64_t begin = in_.at_digit() ? in_.number() : -1;
    in_.skip_blanks();
    in_.expect(":");
    in_.skip_blanks();
    out_.times(begin, in_.at_digit() ? in_.number() : -1);
  }

  std::uint32_t address() {
    if (in_.accept("M[")) {
      in_.skip_blanks();
      const std::uint32_t address = out_.addresses.number(in_.number());
      in_.skip_blanks();
      in_.expect("]");
      return address;
    }
    if (!in_.accept('v')) in_.fail("an address");
    return out_.addresses.number(in_.number());
  }

  Scanner in_;
  Builder out_;
};

}  // namespace

std::vector<History> read_axe(std::string_view text, ReadOptions options) { return AxeReader(text, options).read(); }

}  // namespace teetotal::histories
