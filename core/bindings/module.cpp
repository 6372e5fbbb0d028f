// The extension module teetotal._core: each kernel of core/ is bound in the file of the same name beside this one.
#include <nanobind/nanobind.h>

#include "module.hpp"

NB_MODULE(_core, m) {
  m.doc() = "The hot kernels of teetotal.";
  (void)m;
}
