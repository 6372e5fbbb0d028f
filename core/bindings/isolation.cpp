#include "isolation.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <unistd.h>

#include "module.hpp"

namespace teetotal {
namespace {

long ask(long number, long a, long b, long c, long d, long e, long f) { return syscall(number, a, b, c, d, e, f); }

}  // namespace

void bind_isolation(nanobind::module_& m) {
  m.def("isolate", [](const std::string& own, std::uint64_t megabytes) {
    const Isolation isolation = isolate(own, megabytes, ask);
    return isolation.network && isolation.files;
  });
}

}  // namespace teetotal
