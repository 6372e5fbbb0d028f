// Columns to and from numpy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <span>
#include <utility>
#include <vector>

namespace teetotal {

namespace nb = nanobind;

template <typename T>
using Column = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <typename T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
Column<T> view(std::vector<T>& column, nb::handle owner) {
  return Column<T>(column.data(), {column.size()}, owner);
}

// The column owns what the vector held.
template <typename T>
Column<T> give(std::vector<T> column) {
  auto* kept = new std::vector<T>(std::move(column));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Column<T>(kept->data(), {kept->size()}, owner);
}

template <typename T>
std::vector<T> taken(const Input<T>& column) {
  return std::vector<T>(column.data(), column.data() + column.size());
}

template <typename T>
std::span<const T> of_length(const Input<T>& column, std::size_t size) {
  if (column.shape(0) != size) throw nb::value_error("columns that belong together have one length");
  return {column.data(), size};
}

}  // namespace teetotal
