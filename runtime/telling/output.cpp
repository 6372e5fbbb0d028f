#include "output.hpp"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "channel.hpp"
#include "choices.hpp"
#include "lifetimes.hpp"

namespace teetotal::runtime {

namespace {

constexpr int kCommit = 8;  // beside the kinds of events

std::string number(Wide value) {
  if (value == 0) return "0";
  std::string digits;
  for (; value != 0; value /= 10) digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
  return digits;
}

// What a wait came to is known once it is over.
Verb verb_of(const Step& step) {
  const Verb verb = step.operation.verb;
  const bool signalled = (step.signalled >> step.thread & 1U) != 0;
  if (verb == Verb::wake && !signalled) return Verb::wake_idly;
  if (verb == Verb::wake_or_not) return signalled ? Verb::wake : Verb::give_up;
  return verb;
}

}  // namespace

const char* word_for(Failure failure) {
  switch (failure) {
    case Failure::assertion:
      return "assertion";
    case Failure::crash:
      return "crash";
    case Failure::freed:
      return "use after free";
    case Failure::overflow:
      return "heap overflow";
    case Failure::returned:
      return "use after return";
    case Failure::misuse:
      return "misuse";
    case Failure::aborted:
      return "abort";
    case Failure::hang:
      return "hang";
    case Failure::unsupported:
      return "unsupported";
    case Failure::waits:
      return "waits";
    case Failure::too_large:
      return "memory";
    case Failure::corruption:
      return "corruption";
    case Failure::none:
      break;
  }
  return "none";
}

void Output::line(const std::string& text) const {
  if (file_ == kNowhere) return;
  if (file_ == kChannel) {
    channel.tell(text);
    return;
  }
  std::string whole = text + "\n";
  for (std::size_t sent = 0; sent < whole.size();) {
    const ssize_t count = write(file_, whole.data() + sent, whole.size() - sent);
    if (count <= 0) _exit(71);  // nobody listens any more
    sent += static_cast<std::size_t>(count);
  }
}

std::string Output::quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (const auto byte = static_cast<unsigned char>(c); byte < 0x20 || byte >= 0x7F) {  // any bytes, lossless
      constexpr char kDigits[] = "0123456789abcdef";
      result += {'\\', 'u', '0', '0', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string Output::base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k)
      three = three << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) result += i + k > bytes.size() ? '=' : kDigits[three >> (18 - 6 * k) & 63U];
  }
  return result;
}

std::string Output::cause(const Fault& fault) {
  return '[' + quoted(fault.done) + ',' + std::to_string(process.threads[fault.cause.thread].born) + ',' +
         std::to_string(fault.cause.place) + ']';
}

std::string Output::context() {
  std::ostringstream text;
  const std::uint64_t threads = lifetimes.shared_stacks | std::uint64_t{lifetimes.shared_locals} << 32;
  const std::vector<std::uint64_t> ended = ended_cells();
  if (threads != 0 || !lifetimes.touched.empty() || !ended.empty()) {
    text << 'k' << std::hex << threads;
    for (const std::uint32_t grain : lifetimes.touched) text << '.' << grain;
    for (const auto cell : ended) text << '.' << cell;
  }
  if (const std::string chosen = choices.told(); !chosen.empty()) text << 'n' << chosen;
  return '"' + text.str() + '"';
}

std::string Output::violation(const Controlled& system, const std::string& monitor, const monitors::Report& report,
                              const Frames& frames) {
  const auto end = static_cast<std::size_t>(report.deciding) + 1;
  const auto place = [&](std::uint32_t location) {  // a race is of two events alone
    return std::to_string(location == ~std::uint32_t{0} ? 0 : system.place(location));
  };
  return R"({"type":"violation","monitor":)" + quoted(monitor) + ",\"report\":[" + std::to_string(report.delayed) +
         ',' + std::to_string(report.previous) + ',' + std::to_string(report.deciding) +
         ((report.models & monitors::Report::race) != 0 ? "],\"race\":true" : "]") + ",\"at\":[" +
         place(report.delayed_location) + ',' + place(report.previous_location) + ',' +
         place(report.deciding_location) + "],\"context\":" + context() + ",\"steps\":" + steps(system, end) +
         ",\"cells\":" + cells(system, end, frames) + '}';
}

std::string Output::steps(const Controlled& system, std::size_t end) {
  std::string result = "[";
  for (std::size_t i = 0; i < end; ++i) {
    const Step& step = system.steps()[i];
    const Operation& operation = step.operation;
    if (system.first_half(i)) continue;
    if (result.size() > 1) result += ',';
    result += '[' + std::to_string(process.threads[step.thread].born) + ',' +
              std::to_string(step.commit ? kCommit : static_cast<int>(step.kind())) + ',' +
              std::to_string(static_cast<int>(operation.tag)) + ',' +
              (is_fence(operation.kind) ? "-1" : std::to_string(operation.cell)) + ',' +
              std::to_string(operation.told_place()) + ',' + (step.event.writes || step.writes() ? "1" : "0") + ',' +
              number(step.before) + ',' + number(step.after) + ',' + std::to_string(static_cast<int>(verb_of(step))) +
              ',' + (operation.told_place() == operation.place ? "0" : std::to_string(operation.place)) + ',' +
              std::to_string(static_cast<int>(step.event.effective())) + ']';
  }
  return result + ']';
}

std::string Output::unseen() {
  std::string told;
  for (const auto& [what, place] : remarks.unseen)
    told += (told.empty() ? "[" : ",[") + quoted(what) + ',' + std::to_string(place) + ']';
  return told;
}

std::string Output::divergence(const Nondeterministic& found) {
  const auto told = [](const Operation& operation) {
    return '[' + std::to_string(static_cast<int>(operation.kind)) + ',' +
           std::to_string(static_cast<int>(operation.tag)) + ',' + std::to_string(operation.address) + ',' +
           std::to_string(operation.told_place()) + ']';
  };
  return "\"thread\":" + std::to_string(found.thread) + ",\"then\":" + told(found.then) +
         ",\"now\":" + (found.now ? told(*found.now) : "null") + ",\"saw\":[" + number(found.seen_then) + ',' +
         number(found.seen_now) + "],\"unseen\":[" + unseen() + ']';
}

std::string Output::cells(const Controlled& system, std::size_t end, const Frames& frames) {
  std::set<std::uint32_t> used;
  for (std::size_t i = 0; i < end; ++i)
    if (!is_fence(system.steps()[i].operation.kind)) used.insert(system.steps()[i].operation.cell);
  for (std::uint32_t thread = 0; thread < process.count; ++thread) {  // what they stand before
    const Thread& standing = process.threads[thread];
    if (standing.state == State::parked && !is_fence(standing.operation.kind)) used.insert(standing.operation.cell);
  }
  std::string result = "{";
  for (const std::uint32_t cell_number : used) {
    const Cell& cell = runtime::cells[cell_number];
    const char* region = "other";
    Block block;
    std::uintptr_t address = cell.address;
    if (cell.tag == Tag::thread) {
      region = "thread";
      address =
          process.threads[(cell.address - reinterpret_cast<std::uintptr_t>(process.threads.data())) / sizeof(Thread)]
              .born;
    } else if (memory.in_object(address)) {
      region = "object";
    } else if (in_heap(address)) {
      region = "heap";
      block = memory.block(address);
    } else if (stack_owner(address) < kMaxThreads) {
      region = "stack";
      block.address = process.threads[stack_owner(address)].born;
      if (const auto frame = frames.find(cell_number); frame != frames.end()) {
        block.size = frame->second.top;
        block.place = frame->second.place;
      }
    } else if (of_program(reinterpret_cast<const void*>(address))) {
      region = "thread-local";
      if (const Thread* owner = owner_of_local(address)) {
        block.address = owner->born;
        block.size = address - owner->tls;
      }
    } else if (address == reinterpret_cast<std::uintptr_t>(&endings.lock)) {
      region = "exit handlers";
    } else if (address == reinterpret_cast<std::uintptr_t>(&signals.lock)) {
      region = "signal actions";
    } else if (const Block mapping = memory.mapping(address); mapping.size != 0) {
      region = "mapped";
      block = mapping;
    }
    if (result.size() > 1) result += ',';
    result += '"' + std::to_string(cell_number) + "\":[" + std::to_string(static_cast<int>(cell.tag)) + ',' +
              std::to_string(address) + ',' + std::to_string(cell.size) + ",\"" + region + "\"," +
              std::to_string(block.address) + ',' + std::to_string(block.size) + ',' + std::to_string(block.place) +
              ',' + (cell.mixed ? "1" : "0") + ']';
  }
  return result + '}';
}

}  // namespace teetotal::runtime
