// Our own text, the way teetotal prints operations:
//   history NAME     init x = 1     T0: st x = 2     T0: ld x -> 2     T1: rmw x: 2 -> 3     T1: rmw x: 3, unchanged
//   T0: mfence       T0: sfence     T1: ld y -> ?    final x = 3      # a comment
// A result that was not recorded is "?". The arrow may also be written →.
#include "histories/readers.hpp"

namespace teetotal::histories {
namespace {

class TextReader {
 public:
  TextReader(std::string_view text, ReadOptions options) : in_(text), out_(text.size() / 12 + 1, options) {}

  std::vector<History> read() {
    for (; !in_.done(); line()) {
    }
    if (has_nil_) in_.refuse_least_beside_nil();
    return out_.take();
  }

 private:
  void line() {
    in_.skip_blanks();
    if (in_.done() || in_.peek() == '\n' || in_.peek() == '#') return in_.expect_line_end();
    const std::string_view first = in_.word();
    in_.skip_blanks();
    if (in_.accept(':')) {
      operation(out_.threads.name(first));
    } else if (first == "history") {
      if (!out_.empty() || !out_.name.empty()) out_.finish_history();
      out_.name = in_.rest_of_line();
      return;
    } else if (first == "init" || first == "final") {
      const std::uint32_t address = out_.addresses.name(in_.word());
      in_.skip_blanks();
      in_.expect("=");
      in_.skip_blanks();
      const std::int64_t value = number_or_nil();
      first == "init" ? out_.initial(address, value, in_.line()) : out_.final(address, value, in_.line());
    } else {
      in_.fail("\":\" after the thread's name");
    }
    in_.expect_line_end();
  }

  void operation(std::uint32_t thread) {
    in_.skip_blanks();
    const std::string_view kind = in_.word();
    if (kind == "mfence") return out_.fence(thread, Kind::mfence, in_.line());
    if (kind == "sfence") return out_.fence(thread, Kind::sfence, in_.line());
    if (kind != "st" && kind != "ld" && kind != "rmw")
      in_.reject(quoted(kind) + " is no operation: st, ld, rmw, mfence or sfence");
    in_.skip_blanks();
    const std::uint32_t address = out_.addresses.name(in_.word());
    in_.skip_blanks();
    if (kind == "st") {
      in_.expect("=");
      in_.skip_blanks();
      out_.store(thread, address, in_.number(), in_.line());
    } else if (kind == "ld") {
      arrow();
      out_.load(thread, address, result(), in_.line());
    } else {
      in_.expect(":");
      in_.skip_blanks();
      const std::optional<std::int64_t> read = result();
      in_.skip_blanks();
      if (in_.accept(',')) {
        in_.skip_blanks();
        in_.expect("unchanged");
        out_.rmw(thread, address, read, std::nullopt, in_.line());
      } else {
        arrow();
        out_.rmw(thread, address, read, in_.number(), in_.line());
      }
    }
  }

  void arrow() {
    if (!in_.accept("->") && !in_.accept("→")) in_.fail("\"->\"");
    in_.skip_blanks();
  }

  std::optional<std::int64_t> result() {
    if (in_.accept('?')) return std::nullopt;
    return number_or_nil();
  }

  std::int64_t number_or_nil() {
    if (!in_.accept("nil")) return in_.number();
    has_nil_ = true;
    out_.has_nil();
    return nil;
  }

  Scanner in_;
  Builder out_;
  bool has_nil_ = false;
};

}  // namespace

std::vector<History> read_text(std::string_view text, ReadOptions options) { return TextReader(text, options).read(); }

}  // namespace teetotal::histories
