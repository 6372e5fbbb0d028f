// One bind_* function per file in this folder.
#pragma once

#include <nanobind/nanobind.h>

namespace teetotal {

void bind_monitors(nanobind::module_& m);

}  // namespace teetotal
