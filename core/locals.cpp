#include "locals.hpp"

#include <algorithm>
#include <utility>

#include "hash.hpp"

namespace teetotal {

namespace {

constexpr std::uint32_t kLocalSteps = 100'000;  // teetotal.programs.program.LOCAL_STEPS

Kind kind_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::load:
      return Kind::ld;
    case Opcode::store:
      return Kind::st;
    case Opcode::rmw:
      return Kind::rmw;
    case Opcode::mfence:
      return Kind::mfence;
    case Opcode::sfence:
      return Kind::sfence;
    case Opcode::fence:
      return Kind::fence;
    case Opcode::lock:
      return Kind::lock;
    case Opcode::unlock:
      return Kind::unlock;
    default:
      throw std::logic_error("not an access");
  }
}

}  // namespace

Locals::Locals(const Program& program) : program_(program), tables_(program.threads.size()) {
  for (std::uint32_t thread = 0; thread < threads(); ++thread) {
    tables_[thread].places = places_of(program.threads[thread]);
    start_.push_back(settle(thread, 0, 0, program.threads[thread].registers));
  }
}

std::span<const Value> Locals::registers(std::uint32_t thread, LocalId id) const {
  const std::size_t count = program_.threads[thread].registers.size();
  return {tables_[thread].registers.data() + id * count, count};
}

LocalId Locals::update(std::uint32_t thread, LocalId id, Value response) {
  Table& table = tables_[thread];
  for (const auto& [value, successor] : table.successors[id])
    if (value == response) return successor;
  const bool many = table.successors[id].size() == kFewResponses;
  if (many)
    if (const auto found = table.further.find({id, response}); found != table.further.end()) return found->second;
  const Local local = at(thread, id);
  const auto before = registers(thread, id);
  std::vector<Value> after(before.begin(), before.end());
  const std::int32_t reg = program_.threads[thread].code[local.pc].reg;
  if (reg >= 0) after[static_cast<std::size_t>(reg)] = response;
  const LocalId successor = settle(thread, local.pc + 1, local.jumps, std::move(after));
  if (many)
    table.further.emplace(std::pair(id, response), successor);
  else
    table.successors[id].emplace_back(response, successor);
  return successor;
}

std::optional<Value> Locals::rmw(std::uint32_t thread, LocalId id, Value old) const {
  const Instruction& instruction = program_.threads[thread].code[at(thread, id).pc];
  const auto values = registers(thread, id);
  if (!instruction.when.empty() && !evaluate(instruction.when, values, old)) return std::nullopt;
  return evaluate(instruction.value, values, old);
}

std::size_t Locals::bytes() const {
  constexpr std::size_t kNode = 64;  // of a map, with what the allocator adds
  std::size_t bytes = 0;
  for (const Table& table : tables_)
    bytes += table.states.capacity() * sizeof(Local) + table.registers.capacity() * sizeof(Value) +
             table.successors.capacity() * sizeof(table.successors[0]) +
             (table.states.size() + table.further.size() + table.by_hash.size() + table.by_standing.size()) * kNode;
  return bytes;
}

LocalId Locals::settle(std::uint32_t thread, std::uint32_t pc, std::uint32_t jumps, std::vector<Value> registers) {
  const auto& code = program_.threads[thread].code;
  const auto stop = [&](Status status) {
    return intern(thread, Local{.status = status, .pc = pc, .jumps = jumps}, registers);
  };
  for (std::uint32_t step = 0; step < kLocalSteps; ++step) {
    if (pc == code.size()) return stop(Status::ended);
    const Instruction& instruction = code[pc];
    switch (instruction.opcode) {
      case Opcode::assign:
        registers[static_cast<std::size_t>(instruction.reg)] = evaluate(instruction.value, registers);
        ++pc;
        break;
      case Opcode::branch:
        if (!evaluate(instruction.when, registers)) {
          ++pc;
          break;
        }
        if (instruction.target <= pc && program_.loop_bound) {
          if (jumps == *program_.loop_bound) return stop(Status::cut);
          ++jumps;
        }
        pc = instruction.target;
        break;
      case Opcode::assertion:
        evaluated_.emplace(thread, pc);
        [[fallthrough]];
      case Opcode::assume:
        if (!evaluate(instruction.when, registers))
          return stop(instruction.opcode == Opcode::assertion ? Status::failed : Status::blocked);
        ++pc;
        break;
      case Opcode::mfence:
      case Opcode::sfence:
      case Opcode::fence:
        return intern(
            thread, Local{Status::running, kind_of(instruction.opcode), instruction.order, Order::na, 0, 0, pc, jumps},
            registers);
      default: {
        const Value address = evaluate(instruction.address, registers);
        if (address < 1 || address > static_cast<Value>(program_.memory.size())) return stop(Status::wild);
        const Value value = instruction.opcode == Opcode::store ? evaluate(instruction.value, registers) : 0;
        return intern(thread,
                      Local{Status::running, kind_of(instruction.opcode), instruction.order, instruction.failure,
                            static_cast<std::uint32_t>(address - 1), value, pc, jumps},
                      registers);
      }
    }
  }
  throw EndlessLoop(thread, pc);
}

LocalId Locals::intern(std::uint32_t thread, Local local, const std::vector<Value>& registers) {
  Table& table = tables_[thread];
  const auto id = static_cast<LocalId>(table.states.size());
  local.twin = id;
  const std::uint64_t hash = mix(mix(hash_words(registers), local.pc), std::uint64_t(local.status));
  const auto [first, last] = table.by_hash.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Local& known = table.states[it->second];
    if (known.pc != local.pc || known.status != local.status ||
        !std::ranges::equal(this->registers(thread, it->second), registers))
      continue;
    if (known.jumps == local.jumps) return it->second;
    local.twin = std::min(local.twin, it->second);
  }
  local.standing = standing(thread, local, id, registers);
  local.may_wait = local.status == Status::running && table.places[local.pc].may_wait;
  table.states.push_back(local);
  table.registers.insert(table.registers.end(), registers.begin(), registers.end());
  table.successors.emplace_back();
  table.by_hash.emplace(hash, id);
  return id;
}

LocalId Locals::standing(std::uint32_t thread, const Local& local, LocalId id, const std::vector<Value>& registers) {
  if (local.status != Status::running) return id;
  Table& table = tables_[thread];
  const auto& live = table.places[local.pc].live;
  std::uint64_t hash = local.pc;
  for (const std::uint32_t r : live) hash = mix(hash, static_cast<std::uint64_t>(registers[r]) + 1);
  const auto [first, last] = table.by_standing.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const auto known = this->registers(thread, it->second);
    const auto same = [&](std::uint32_t r) { return known[r] == registers[r]; };
    if (table.states[it->second].pc == local.pc && std::ranges::all_of(live, same)) return it->second;
  }
  table.by_standing.emplace(hash, id);
  return id;
}

}  // namespace teetotal
