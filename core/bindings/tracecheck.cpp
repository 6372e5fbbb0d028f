#include "tracecheck.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "module.hpp"

namespace nb = nanobind;

namespace teetotal {

namespace {

template <typename T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
std::span<const T> view(const Column<T>& column, std::size_t size) {
  if (column.shape(0) != size) throw nb::value_error("the columns of a batch have one length");
  return {column.data(), size};
}

}  // namespace

void bind_tracecheck(nb::module_& m) {
  nb::class_<TraceCheck>(m, "TraceCheck", "Whether a stream of events can be an SC execution.")
      .def(nb::init<std::int32_t>())
      .def("feed",
           [](TraceCheck& self, Column<std::int32_t> thread, Column<std::uint8_t> kind, Column<std::int32_t> address,
              Column<std::int32_t> location, Column<bool> wrote, Column<std::int64_t> read,
              Column<std::int64_t> written, Column<bool> valued, std::int32_t addresses, std::int32_t locations) {
             const std::size_t n = thread.shape(0);
             const TraceCheck::Columns events{{thread.data(), n}, view(kind, n), view(address, n), view(location, n),
                                              view(wrote, n),     view(read, n), view(written, n), view(valued, n)};
             TraceCheck::Problem problem;
             {
               nb::gil_scoped_release unlocked;
               problem = self.feed(events, addresses, locations);
             }
             return nb::make_tuple(problem.event, int(problem.fault), problem.other, problem.expected);
           });
}

}  // namespace teetotal
