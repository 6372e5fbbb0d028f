// Execution traces of gem5: "tick: cpu Tn : @symbol : disassembly : OpClass : D=0x… A=0x…". Lines that touch no memory
// are skipped. The trace does not tell what memory held at first: a value that was read and that nobody wrote is taken
// for the initial one, if the address has only one such value. An atomic instruction is refused, because the trace
// does not tell what it wrote; so is memory that is accessed in different sizes.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "histories/readers.hpp"

namespace teetotal::histories {
namespace {

// Bytes that an instruction accesses, by its mnemonic (RISC-V and Arm); 0 where it does not tell.
unsigned access_size(std::string_view mnemonic) {
  static const std::map<std::string_view, unsigned> sizes = {
      {"lb", 1},   {"lbu", 1},  {"sb", 1},   {"ldrb", 1}, {"strb", 1}, {"lh", 2},  {"lhu", 2}, {"sh", 2},
      {"ldrh", 2}, {"strh", 2}, {"lw", 4},   {"lwu", 4},  {"sw", 4},   {"flw", 4}, {"fsw", 4}, {"fld", 8},
      {"fsd", 8},  {"sd", 8},   {"c.lw", 4}, {"c.sw", 4}, {"c.ld", 8}, {"c.sd", 8}};
  const auto found = sizes.find(mnemonic);
  return found == sizes.end() ? 0 : found->second;
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](auto b) { return text.starts_with(b); });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == ':')) text.remove_suffix(1);
  return text;
}

// What a fence keeps apart, of what the models know: mfence, where no load passes an earlier store; sfence, where no
// store does; nothing, where only loads are held back, or instructions are fetched anew.
std::optional<Kind> fence_of(std::string_view instruction, std::size_t line) {
  const std::size_t end = std::min(instruction.find_first_of(" \t"), instruction.size());
  const std::string_view mnemonic = instruction.substr(0, end), operands = trimmed(instruction.substr(end));
  if (mnemonic == "sfence" || mnemonic == "fence.tso") return Kind::sfence;
  if (mnemonic == "mfence") return Kind::mfence;
  if (starts_with_any(mnemonic,
                      {"dmb", "dsb"})) {  // Arm: sy, ish …; for stores alone: st, ishst …; for loads: ld, ishld …
    if (operands.ends_with("st")) return Kind::sfence;
    return operands.ends_with("ld") ? std::nullopt : std::optional(Kind::mfence);
  }
  if (mnemonic == "fence" && !operands.empty()) {  // RISC-V: what comes before, what comes after
    const std::size_t comma = operands.find(',');
    if (comma == std::string_view::npos || operands.find_first_not_of("iorw, \t") != std::string_view::npos)
      throw HistoryFault(line, "a fence of which is not told what it keeps apart");
    const auto before = operands.substr(0, comma), after = operands.substr(comma);
    if (before.find('w') == std::string_view::npos) return std::nullopt;
    if (after.find('r') != std::string_view::npos) return Kind::mfence;
    return after.find('w') == std::string_view::npos ? std::nullopt : std::optional(Kind::sfence);
  }
  return mnemonic == "fence" ? std::optional(Kind::mfence) : std::nullopt;
}

class Gem5Reader {
 public:
  Gem5Reader(std::string_view text, ReadOptions options) : in_(text), out_(0, options) {}

  std::vector<History> read() {
    while (!in_.done()) {
      out_.poll();
      const std::size_t number = in_.line();
      line(in_.rest_of_line(), number);
    }
    check_sizes();
    infer_initial();
    return out_.take();
  }

 private:
  struct Access {
    std::uint64_t start;
    unsigned size;
    std::size_t line;
  };

  void line(std::string_view text, std::size_t number) {
    if (trimmed(text).empty()) return;
    std::vector<std::string_view> fields;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(" : ", at), text.size());
      fields.push_back(trimmed(text.substr(at, end - at)));
      at = end + 3;
    }
    const std::string_view head = fields[0];
    const std::size_t colon = head.find(':');
    if (colon == std::string_view::npos || colon == 0 || head[0] < '0' || head[0] > '9')
      throw HistoryFault(number, "expected \"tick: cpu\"");
    if (fields.size() < 3) return;
    const std::string_view mnemonic = fields[2].substr(0, fields[2].find_first_of(" \t"));
    if (const auto fence = fence_of(fields[2], number)) {
      out_.fence(thread(head.substr(colon + 1)), *fence, number);
      return;
    }
    const std::string_view last = fields.back();
    const std::size_t at = last.find("A=0x");
    if (at == std::string_view::npos) return;
    const std::string_view operation = fields[fields.size() - 2];
    if (operation != "MemRead" && operation != "MemWrite" && operation != "FloatMemRead" &&
        operation != "FloatMemWrite")
      return;
    if (starts_with_any(mnemonic, {"amo", "lr.", "sc.", "swp", "cas", "ldadd", "ldxr", "stxr", "lock"}) ||
        text.find("LOCK") != std::string_view::npos)
      throw HistoryFault(number, "an atomic instruction: the trace does not tell what it wrote");
    const std::size_t data = last.find("D=0x");
    if (data == std::string_view::npos) throw HistoryFault(number, "an access without its data (D=)");
    const auto address = static_cast<std::uint64_t>(hexadecimal(last.substr(at + 4), number));
    const std::int64_t value = hexadecimal(last.substr(data + 4), number);
    const std::uint32_t location = out_.addresses.name(hexadecimal_name(address));
    accesses_.push_back({address, access_size(mnemonic), number});
    const std::uint32_t by = thread(head.substr(colon + 1));
    if (operation.ends_with("Read")) {
      out_.load(by, location, value, number);
      reads_[location].insert(value);
    } else {
      out_.store(by, location, value, number);
      writes_[location].insert(value);
    }
  }

  std::uint32_t thread(std::string_view who) {
    who = trimmed(who);
    const std::size_t space = who.find(' ');
    std::string name(trimmed(who.substr(0, space)));
    if (const std::size_t t = who.find(" T"); t != std::string_view::npos && trimmed(who.substr(t)) != "T0")
      name.append(".").append(trimmed(who.substr(t)));
    return out_.threads.name(name);
  }

  static std::int64_t hexadecimal(std::string_view text, std::size_t number) {
    try {
      return Scanner(text).hexadecimal();
    } catch (const HistoryFault& fault) {
      throw HistoryFault(number, fault.what());
    }
  }

  void check_sizes() {
    std::sort(accesses_.begin(), accesses_.end(), [](const Access& a, const Access& b) {
      return std::tie(a.start, a.size, a.line) < std::tie(b.start, b.size, b.line);
    });
    const Access* widest = nullptr;
    for (const Access& access : accesses_) {
      if (access.size == 0) continue;
      if (widest && access.start < widest->start + widest->size &&
          (access.start != widest->start || access.size != widest->size))
        throw HistoryFault(
            std::max(access.line, widest->line),
            "memory accessed in different sizes, also at line " + std::to_string(std::min(access.line, widest->line)));
      widest = &access;
    }
  }

  void infer_initial() {
    for (const auto& [address, values] : reads_) {
      std::vector<std::int64_t> unwritten;
      for (const std::int64_t value : values)
        if (!writes_[address].contains(value)) unwritten.push_back(value);
      if (unwritten.size() == 1) out_.initial(address, unwritten[0], 0);
    }
  }

  Scanner in_;
  Builder out_;
  std::vector<Access> accesses_;
  std::map<std::uint32_t, std::set<std::int64_t>> reads_, writes_;
};

}  // namespace

std::vector<History> read_gem5(std::string_view text, ReadOptions options) { return Gem5Reader(text, options).read(); }

}  // namespace teetotal::histories
