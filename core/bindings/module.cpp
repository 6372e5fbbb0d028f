// The extension module teetotal._core: each kernel of core/ is bound in the file of the same name beside this one.
#include "module.hpp"

#include <nanobind/nanobind.h>

NB_MODULE(_core, m) {
  m.doc() = "The hot kernels of teetotal.";
  teetotal::bind_monitors(m);
}
