// What a checked program may say to the checker (__VERIFIER_*).
#include "choices.hpp"
#include "synchronisation.hpp"
#include "verifier.hpp"

namespace teetotal::runtime {

Verifier verifier;

}  // namespace teetotal::runtime

using namespace teetotal;           // NOLINT: the hooks below are the whole rest of the file
using namespace teetotal::runtime;  // NOLINT

extern "C" {

void __VERIFIER_assume(int condition) {
  if (condition == 0 && process.current != nullptr) stop(*process.current, State::stopped);
}
void __VERIFIER_error() {
  if (process.current != nullptr) fail(*process.current, Failure::assertion, "__VERIFIER_error", TEETOTAL_PLACE);
}
void reach_error() {
  if (process.current != nullptr) fail(*process.current, Failure::assertion, "reach_error", TEETOTAL_PLACE);
}
int __VERIFIER_nondet_int() {
  if (process.current == nullptr) return 0;
  Thread& self = *process.current;
  return static_cast<int>(choices.chosen(self.number, self.asked.nondet++));
}
unsigned __VERIFIER_nondet_uint() { return static_cast<unsigned>(__VERIFIER_nondet_int()); }
bool __VERIFIER_nondet_bool() { return __VERIFIER_nondet_int() != 0; }
}

// An atomic section excludes other atomic sections: a mutex that they share.
extern "C" {
void __VERIFIER_atomic_begin() {
  Thread* self = process.current;
  if (self == nullptr || self->atomic_section++ != 0) return;
  remarks.note("an atomic section excludes other atomic sections only, not accesses outside of any");
  synchronise(*self, Verb::enter_section, Kind::lock, Tag::mutex, &verifier.atomic_section, TEETOTAL_PLACE,
              {.enabled = [](const Thread&) { return verifier.atomic_section == 0; }, .waiting = Waiting::lock});
  verifier.atomic_section = 1;
}
void __VERIFIER_atomic_end() {
  Thread* self = process.current;
  if (self == nullptr || self->atomic_section == 0 || --self->atomic_section != 0) return;
  synchronise(*self, Verb::leave_section, Kind::unlock, Tag::mutex, &verifier.atomic_section, TEETOTAL_PLACE);
  verifier.atomic_section = 0;
}
}
