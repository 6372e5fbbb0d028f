#include "tracecheck.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "columns.hpp"
#include "module.hpp"

namespace nb = nanobind;

namespace teetotal {

namespace {}  // namespace

void bind_tracecheck(nb::module_& m) {
  nb::class_<TraceCheck>(m, "TraceCheck", "Whether a stream of events can be an SC execution.")
      .def(nb::init<std::int32_t>())
      .def("feed",
           [](TraceCheck& self, Input<std::int32_t> thread, Input<std::uint8_t> kind, Input<std::int32_t> address,
              Input<std::int32_t> location, Input<bool> wrote, Input<std::int64_t> read, Input<std::int64_t> written,
              Input<bool> valued, std::int32_t addresses, std::int32_t locations) {
             const std::size_t n = thread.shape(0);
             const TraceCheck::Columns events{{thread.data(), n},     of_length(kind, n),  of_length(address, n),
                                              of_length(location, n), of_length(wrote, n), of_length(read, n),
                                              of_length(written, n),  of_length(valued, n)};
             TraceCheck::Problem problem;
             {
               nb::gil_scoped_release unlocked;
               problem = self.feed(events, addresses, locations);
             }
             return nb::make_tuple(problem.event, int(problem.fault), problem.other, problem.expected);
           });
}

}  // namespace teetotal
