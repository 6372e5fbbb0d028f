// One bind_* function per file in this folder, and what they share.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>

namespace teetotal {

void bind_graph(nanobind::module_& m);
void bind_histories(nanobind::module_& m);
void bind_tracecheck(nanobind::module_& m);
void bind_program(nanobind::module_& m);
void bind_monitors(nanobind::module_& m);
void bind_outcomes(nanobind::module_& m);
void bind_search(nanobind::module_& m);

// Asked now and then by a kernel that runs without the interpreter's lock: whether its time is up, or the user wants it
// to end. An interrupt is raised in the caller once the kernel has returned what it has.
class Budget {
 public:
  explicit Budget(double seconds) : end_(now() + seconds) {}
  bool spent() {
    if (!interrupted_) {
      nanobind::gil_scoped_acquire lock;
      interrupted_ = PyErr_CheckSignals() != 0;
      if (interrupted_) PyErr_Clear();
    }
    return interrupted_ || now() >= end_;
  }
  bool interrupted() const { return interrupted_; }

 private:
  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  double end_;
  bool interrupted_ = false;
};
}  // namespace teetotal
