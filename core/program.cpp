#include "program.hpp"

#include <array>

namespace teetotal {

namespace {

// Python's floor division and modulo.
Value floor_div(Value a, Value b) {
  if (b == -1) return static_cast<Value>(0 - static_cast<std::uint64_t>(a));  // wraps where INT64_MIN / -1 would trap
  const Value quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

Value floor_mod(Value a, Value b) {
  if (b == -1) return 0;
  const Value remainder = a % b;
  return (remainder != 0 && (remainder < 0) != (b < 0)) ? remainder + b : remainder;
}

// Arithmetic on unsigned numbers wraps, as the specification does.
Value apply(Op op, Value a, Value b) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  switch (op) {
    case Op::add:
      return static_cast<Value>(ua + ub);
    case Op::sub:
      return static_cast<Value>(ua - ub);
    case Op::mul:
      return static_cast<Value>(ua * ub);
    case Op::bit_and:
      return a & b;
    case Op::bit_or:
      return a | b;
    case Op::bit_xor:
      return a ^ b;
    case Op::eq:
      return a == b;
    case Op::ne:
      return a != b;
    case Op::lt:
      return a < b;
    case Op::le:
      return a <= b;
    case Op::gt:
      return a > b;
    case Op::ge:
      return a >= b;
    case Op::logical_and:
      return a && b;
    case Op::logical_or:
      return a || b;
    case Op::shl:
      return static_cast<Value>(ua << (ub & 63));
    case Op::shr:
      return a >> (ub & 63);
    case Op::div:
      return floor_div(a, b);
    case Op::mod:
      return floor_mod(a, b);
    default:
      throw std::logic_error("not a binary operator");
  }
}

}  // namespace

Value evaluate(std::span<const Token> expression, std::span<const Value> registers, Value old) {
  if (expression.size() == 1 && expression[0].op == Op::constant) return expression[0].operand;
  std::array<Value, 32> small{};
  std::vector<Value> large;
  Value* stack = small.data();
  if (expression.size() > small.size()) {
    large.resize(expression.size());
    stack = large.data();
  }
  std::size_t height = 0;
  for (const Token& token : expression) {
    switch (token.op) {
      case Op::constant:
        stack[height++] = token.operand;
        break;
      case Op::reg:
        stack[height++] = registers[static_cast<std::size_t>(token.operand)];
        break;
      case Op::old:
        stack[height++] = old;
        break;
      case Op::logical_not:
        stack[height - 1] = !stack[height - 1];
        break;
      case Op::bit_not:
        stack[height - 1] = ~stack[height - 1];
        break;
      default:
        --height;
        stack[height - 1] = apply(token.op, stack[height - 1], stack[height]);
    }
  }
  return stack[0];
}

}  // namespace teetotal
