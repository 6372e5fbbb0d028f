// The text of PolySI and Plume: "r(key,value,session,transaction)" or "w(…)" per line.
#include <unordered_set>

#include "histories/readers.hpp"

namespace teetotal::histories {

std::vector<History> read_polysi(std::string_view text, ReadOptions options) {
  Scanner in(text);
  Builder out(text.size() / 12 + 1, options);
  out.address_prefix = "x";
  struct Session {
    Transaction transaction;
    std::optional<std::int64_t> number;
    std::unordered_set<std::int64_t> before;  // the transactions that have ended
  };
  std::vector<Session> sessions;
  const auto separator = [&] {
    in.skip_blanks();
    in.expect(",");
    in.skip_blanks();
  };
  for (in.skip_space(); !in.done(); in.skip_space()) {
    if (in.peek() == '#') {
      in.rest_of_line();
      continue;
    }
    const bool writes = in.accept("w(");
    if (!writes && !in.accept("r(")) in.fail("\"r(\" or \"w(\"");
    in.skip_blanks();
    const std::uint32_t address = out.addresses.number(in.number());
    separator();
    const std::int64_t value = in.number();
    separator();
    const std::uint32_t thread = out.threads.number(in.number());
    separator();
    const std::int64_t number = in.number();
    in.skip_blanks();
    in.expect(")");
    if (thread >= sessions.size()) sessions.resize(thread + std::size_t{1});
    Session& session = sessions[thread];
    if (session.number != number) {
      session.transaction.finish(out, thread, options);
      if (session.number) session.before.insert(*session.number);
      if (session.before.contains(number)) in.reject("a transaction goes on after another one of its session");
      session.number = number;
    }
    writes ? session.transaction.write(address, value, in.line()) : session.transaction.read(address, value, in.line());
    in.expect_line_end();
  }
  for (std::uint32_t thread = 0; thread < sessions.size(); ++thread)
    sessions[thread].transaction.finish(out, thread, options);
  return out.take();
}

}  // namespace teetotal::histories
