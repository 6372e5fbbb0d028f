// What the bindings of histories share: budgets.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "columns.hpp"
#include "histories/saturation.hpp"

namespace teetotal {

// A budget that ends at the deadline, or when Python has a signal to handle; looked at twenty times a second.
inline histories::Budget make_budget(std::optional<double> seconds) {
  histories::Budget budget;
  const auto now = std::chrono::steady_clock::now();
  if (seconds && *seconds < 1e8)
    budget.deadline =
        now + std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(*seconds));
  budget.interrupted = [next = now]() mutable {
    const auto at = std::chrono::steady_clock::now();
    if (at < next) return false;
    next = at + std::chrono::milliseconds(50);
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return false;
  };
  return budget;
}

}  // namespace teetotal
