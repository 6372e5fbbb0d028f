// teetotal._core.Program, built by teetotal.engines.encoding.
#include "program.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <utility>

#include "module.hpp"

namespace nb = nanobind;

namespace teetotal {

namespace {

using Encoded = std::vector<Value>;  // an expression: opcode, operand, opcode, operand, …
using Code = std::vector<std::tuple<int, std::int32_t, std::uint32_t, Encoded, Encoded, Encoded, int, int>>;

Expression expression(const Encoded& words) {
  Expression tokens;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) tokens.push_back({static_cast<Op>(words[i]), words[i + 1]});
  return tokens;
}

}  // namespace

void bind_program(nb::module_& m) {
  nb::class_<Program>(m, "Program")
      .def(
          "__init__",
          [](Program* self, const std::vector<std::tuple<Code, Encoded, std::vector<std::uint32_t>>>& threads,
             Encoded memory, std::optional<std::uint32_t> loop_bound) {
            new (self) Program{{}, std::move(memory), loop_bound};
            for (const auto& [code, registers, lasting] : threads) {
              Thread thread{{}, registers, lasting};
              for (const auto& [opcode, reg, target, address, value, when, order, failure] : code)
                thread.code.push_back({static_cast<Opcode>(opcode), reg, target, expression(address), expression(value),
                                       expression(when), static_cast<Order>(order), static_cast<Order>(failure)});
              self->threads.push_back(std::move(thread));
            }
          },
          nb::arg("threads"), nb::arg("memory"), nb::arg("loop_bound").none());

  nb::class_<Semantics>(m, "Semantics")
      .def(nb::init<bool, bool, bool>(), nb::arg("rmw_flushes_all"), nb::arg("unlock_is_fence"),
           nb::arg("failed_cas_writes"));

  nb::exception<EndlessLoop>(m, "EndlessLoop");
}

}  // namespace teetotal
