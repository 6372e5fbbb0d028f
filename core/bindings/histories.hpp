// What the bindings of histories share: columns to and from numpy, and budgets.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <vector>

#include "histories/saturation.hpp"

namespace teetotal {

namespace nb = nanobind;

template <typename T>
using Column = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <typename T>
using Given = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
Column<T> view(std::vector<T>& column, nb::handle owner) {
  return Column<T>(column.data(), {column.size()}, owner);
}

template <typename T>
Column<T> give(std::vector<T> column) {
  auto* kept = new std::vector<T>(std::move(column));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Column<T>(kept->data(), {kept->size()}, owner);
}

template <typename T>
std::vector<T> taken(const Given<T>& column) {
  return std::vector<T>(column.data(), column.data() + column.size());
}

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
