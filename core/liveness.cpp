#include "liveness.hpp"

#include <utility>

namespace teetotal {

namespace {

using Registers = std::vector<bool>;

bool always(const Expression& when) { return when.size() == 1 && when[0].op == Op::constant && when[0].operand != 0; }

// Where the thread can be after an instruction; the code's size is its end.
std::vector<std::size_t> successors(const Thread& thread, std::size_t pc) {
  const Instruction& instruction = thread.code[pc];
  if (instruction.opcode != Opcode::branch) return {pc + 1};
  if (always(instruction.when)) return {instruction.target};
  return {pc + 1, instruction.target};
}

bool writes_register(Opcode opcode) {
  return opcode == Opcode::load || opcode == Opcode::rmw || opcode == Opcode::assign;
}

// live before = used, or live after and not written; until nothing changes.
std::vector<Registers> live_registers(const Thread& thread) {
  const std::size_t size = thread.code.size();
  std::vector<Registers> live(size + 1, Registers(thread.registers.size(), false));
  for (const std::uint32_t lasting : thread.lasting) live[size][lasting] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t pc = size; pc-- > 0;) {
      const Instruction& instruction = thread.code[pc];
      Registers before(thread.registers.size(), false);
      for (const std::size_t next : successors(thread, pc))
        for (std::size_t r = 0; r < before.size(); ++r) before[r] = before[r] || live[next][r];
      if (writes_register(instruction.opcode) && instruction.reg >= 0)
        before[static_cast<std::size_t>(instruction.reg)] = false;
      for (const Expression* expression : {&instruction.address, &instruction.value, &instruction.when})
        for (const Token& token : *expression)
          if (token.op == Op::reg) before[static_cast<std::size_t>(token.operand)] = true;
      if (before == live[pc]) continue;
      live[pc] = std::move(before);
      changed = true;
    }
  }
  return live;
}

bool changes_nothing(Opcode opcode) {
  return opcode != Opcode::store && opcode != Opcode::lock && opcode != Opcode::unlock;
}

// Whether a thread can come back to an instruction with none in between that always changes memory.
bool comes_back(const Thread& thread, std::size_t start) {
  std::vector<bool> passed(thread.code.size(), false);
  std::vector<std::size_t> todo = successors(thread, start);
  while (!todo.empty()) {
    const std::size_t pc = todo.back();
    todo.pop_back();
    if (pc == start) return true;
    if (pc >= thread.code.size() || passed[pc] || !changes_nothing(thread.code[pc].opcode)) continue;
    passed[pc] = true;
    for (const std::size_t next : successors(thread, pc)) todo.push_back(next);
  }
  return false;
}

bool is_read_or_fence(Opcode opcode) {
  return opcode == Opcode::load || opcode == Opcode::rmw || opcode == Opcode::mfence || opcode == Opcode::sfence ||
         opcode == Opcode::fence;
}

bool jumps_back(const Thread& thread) {
  for (std::size_t pc = 0; pc < thread.code.size(); ++pc)
    if (thread.code[pc].opcode == Opcode::branch && thread.code[pc].target <= pc) return true;
  return false;
}

}  // namespace

std::vector<Place> places_of(const Thread& thread) {
  std::vector<Place> places(thread.code.size());
  if (!jumps_back(thread)) return places;  // it is nowhere twice: nobody asks
  const auto live = live_registers(thread);
  for (std::size_t pc = 0; pc < places.size(); ++pc) {
    for (std::uint32_t r = 0; r < thread.registers.size(); ++r)
      if (live[pc][r]) places[pc].live.push_back(r);
    places[pc].may_wait = is_read_or_fence(thread.code[pc].opcode) && comes_back(thread, pc);
  }
  return places;
}

}  // namespace teetotal
