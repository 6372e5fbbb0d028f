// One bind_* function per file in this folder, and what they share.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <cstdint>
#include <utility>

namespace teetotal {

namespace histories {
void bind_histories(nanobind::module_& m);
void bind_history_checker(nanobind::module_& m);
}  // namespace histories
namespace symbolic {
void bind_symbolic(nanobind::module_& m);
}  // namespace symbolic

void bind_graph(nanobind::module_& m);
void bind_isolation(nanobind::module_& m);
void bind_tracecheck(nanobind::module_& m);
void bind_program(nanobind::module_& m);
void bind_monitors(nanobind::module_& m);
void bind_outcomes(nanobind::module_& m);
void bind_overtakings(nanobind::module_& m);
void bind_parts(nanobind::module_& m);
void bind_search(nanobind::module_& m);
void bind_simulate(nanobind::module_& m);

// Asked now and then by a kernel that runs without the interpreter's lock: whether its time is up, or the user wants it
// to end. An interrupt is raised in the caller once the kernel has returned what it has. Whoever watches is told how
// far the work has come: a count, and the fraction done where it is known.
class Budget {
 public:
  explicit Budget(double seconds, nanobind::object watcher = nanobind::none())
      : end_(now() + seconds), watcher_(std::move(watcher)) {}
  bool spent(std::uint64_t count = 0, double fraction = 0) {
    if (!interrupted_) {
      nanobind::gil_scoped_acquire lock;
      if (!watcher_.is_none()) watcher_(count, fraction);
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
  nanobind::object watcher_;
  bool interrupted_ = false;
};

}  // namespace teetotal
