// The extension module teetotal._core: each kernel of core/ is bound in the file of the same name beside this one.
#include "module.hpp"

#include <nanobind/nanobind.h>

#include <new>

namespace {

// The first exception of a thread takes memory for what the C++ library keeps of it, or ends the process: it must not
// be the one that says that there is none.
void throw_once() {
  try {
    throw std::bad_alloc();
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace

NB_MODULE(_core, m) {
  throw_once();
  m.doc() = "The hot kernels of teetotal.";
  teetotal::bind_program(m);
  teetotal::bind_outcomes(m);
  teetotal::bind_parts(m);
  teetotal::bind_search(m);
  teetotal::bind_graph(m);
  teetotal::histories::bind_histories(m);
  teetotal::histories::bind_history_checker(m);
  teetotal::bind_monitors(m);
  teetotal::bind_overtakings(m);
  teetotal::bind_tracecheck(m);
  teetotal::bind_simulate(m);
  teetotal::bind_isolation(m);
  teetotal::symbolic::bind_symbolic(m);
}
