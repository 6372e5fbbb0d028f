// A program as teetotal.programs.program has it, with names replaced by numbers: threads of instructions over
// registers, and shared memory with initial values. Locations are numbered from 0; their addresses, as values, from 1.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "event.hpp"

namespace teetotal {

using Value = std::int64_t;

// An expression in postfix order. The operators from `add` on are numbered as in
// teetotal.programs.expressions.OPERATORS.
enum class Op : std::uint8_t {
  constant,  // operand: the value
  reg,       // operand: the register's number
  old,       // inside an rmw: the value that it read
  add,
  sub,
  mul,
  bit_and,
  bit_or,
  bit_xor,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  logical_and,
  logical_or,
  logical_not,
  bit_not,
  shl,
  shr,
  div,
  mod
};

struct Token {
  Op op;
  Value operand;
};
using Expression = std::vector<Token>;  // empty: absent

Value evaluate(std::span<const Token> expression, std::span<const Value> registers, Value old = 0);

enum class Opcode : std::uint8_t {
  load,
  store,
  rmw,
  mfence,
  sfence,
  lock,
  unlock,
  assign,
  branch,
  assertion,
  assume,
  fence  // of C11 alone
};

struct Instruction {
  Opcode opcode;
  std::int32_t reg = -1;      // load, rmw, assign: where the result goes; -1: nowhere
  std::uint32_t target = 0;   // branch
  Expression address;         // accesses
  Expression value;           // store, rmw, assign: the new value
  Expression when;            // rmw, branch: whether; assertion, assume: the condition
  Order order = Order::na;    // accesses and fences
  Order failure = Order::na;  // rmw: where it writes nothing
};

struct Thread {
  std::vector<Instruction> code;
  std::vector<Value> registers;        // initial values
  std::vector<std::uint32_t> lasting;  // registers that belong to an outcome
};

struct Program {
  std::vector<Thread> threads;
  std::vector<Value> memory;                // initial values
  std::optional<std::uint32_t> loop_bound;  // backward jumps that a thread may take before it is cut
};

// A thread computes for ever without touching memory.
struct EndlessLoop : std::runtime_error {
  EndlessLoop(std::uint32_t thread_number, std::uint32_t instruction_number)
      : std::runtime_error("thread " + std::to_string(thread_number) + " loops without touching memory"),
        thread(thread_number),
        instruction(instruction_number) {}
  std::uint32_t thread, instruction;
};

}  // namespace teetotal
