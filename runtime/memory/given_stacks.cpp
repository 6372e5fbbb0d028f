#include "given_stacks.hpp"

#include "accesses.hpp"

namespace teetotal::runtime {

namespace {

// The word at its top, where any thread has something.
void change(Thread& self) {
  const std::uintptr_t top = self.given.end - sizeof(std::uint64_t);
  if (hidden(self, top, self.given.place, sizeof(std::uint64_t))) return;
  operate(self, Kind::rmw, Writes::always, top, Tag::oct, self.given.place);
}

const Thread* others_stack(const Thread& self, std::uintptr_t begin, std::uintptr_t end) {
  for (std::uint32_t number = 0; number < process.count; ++number) {
    const Thread& other = process.threads[number];
    if (&other != &self && other.given.end != 0 && other.given.meets(begin, end)) return &other;
  }
  return nullptr;
}

}  // namespace

void enter_given_stack(Thread& self) {
  if (self.given.end == 0) return;
  change(self);
  if (const Thread* other = others_stack(self, self.given.begin, self.given.end))
    fail(self, Failure::misuse, "runs on the stack that T" + std::to_string(other->born) + " still has",
         self.given.place);
}

void leave_given_stack(Thread& self) {
  if (self.given.end == 0) return;
  change(self);
  self.given = {};
}

void check_no_stack(Thread& self, std::uintptr_t begin, std::uintptr_t end, std::uintptr_t place) {
  if (const Thread* other = others_stack(self, begin, end))
    fail(self, Failure::misuse, "frees the stack that T" + std::to_string(other->born) + " still has", place);
}

}  // namespace teetotal::runtime
