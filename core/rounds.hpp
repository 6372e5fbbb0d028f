// Rounds in which a thread changes nothing: what docs/explanation/waiting.md calls waiting, over local states.
//
//   there                        here
//   a step changes memory        changes
//   p, run on alone              run_alone
//   fences are looked through    comes_to
#pragma once

#include "locals.hpp"

namespace teetotal {

constexpr std::uint32_t kMostSteps = 10'000;  // of a thread in one execution: who takes more goes on for ever, perhaps

// Whether a thread's next step changes memory if it finds `seen` there. A store does whatever it stores: on a relaxed
// machine it may become visible late.
inline bool changes(const Locals& locals, std::uint32_t thread, LocalId id, Value seen) {
  switch (locals.at(thread, id).kind) {
    case Kind::ld:
    case Kind::mfence:
    case Kind::sfence:
      return false;
    case Kind::rmw:
      return locals.rmw(thread, id, seen).value_or(seen) != seen;
    default:
      return true;
  }
}

// Whether a thread whose next step changes nothing comes, with what it finds, to a state that `known` says yes to,
// perhaps through fences.
template <class Known>
bool comes_to(Locals& locals, std::uint32_t thread, LocalId id, Value seen, Known known) {
  LocalId next = locals.update(thread, id, seen);
  for (std::size_t left = locals.places(thread).size(); left > 0; --left) {  // fences alone may make a loop
    const Local& local = locals.at(thread, next);
    if (local.status != Status::running) return false;
    if (known(local.standing)) return true;
    if (!is_fence(local.kind)) return false;
    next = locals.update(thread, next, 0);
  }
  return false;
}

enum class Alone : std::uint8_t {
  leads_on,    // it changes memory, ends, fails, or learns something
  goes_round,  // for ever
  locked_out,  // by a mutex
  unknown,     // it changes nothing, and was never quite where it was before
};

// What a thread does if it runs on alone, while memory (address → its value, or nothing where that is not known) stays
// as it is. Whether it was there before is asked after 1, 2, 4, … steps (Brent). `restless` is told each state on the
// way, and says whether it is known that nothing comes of it.
template <class Memory, class Restless>
Alone run_alone(Locals& locals, std::uint32_t thread, LocalId id, Memory memory, Restless restless) {
  LocalId before = locals.at(thread, id).standing;
  for (std::uint32_t step = 1, mark = 2; step <= kMostSteps; ++step) {
    const Local local = locals.at(thread, id);
    if (local.status != Status::running) return Alone::leads_on;
    if (restless(id)) return Alone::unknown;
    Value seen = 0;
    if (!is_fence(local.kind)) {
      const std::optional<Value> value = memory(local.address);
      if (!value) return Alone::leads_on;
      seen = *value;
    }
    if (local.kind == Kind::lock && seen != 0) return Alone::locked_out;
    if (changes(locals, thread, id, seen)) return Alone::leads_on;
    id = locals.update(thread, id, seen);
    const LocalId standing = locals.at(thread, id).standing;
    if (locals.at(thread, id).status == Status::running && standing == before) return Alone::goes_round;
    if (step == mark) {
      before = standing;
      mark *= 2;
    }
  }
  return Alone::unknown;
}

template <class Memory>
Alone run_alone(Locals& locals, std::uint32_t thread, LocalId id, Memory memory) {
  return run_alone(locals, thread, id, memory, [](LocalId) { return false; });
}

}  // namespace teetotal
