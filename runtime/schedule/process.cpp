#include "process.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "accesses.hpp"
#include "conditions.hpp"
#include "endings.hpp"
#include "given_stacks.hpp"
#include "lifetimes.hpp"
#include "records.hpp"
#include "symmetry.hpp"
#include "unwritten.hpp"

namespace teetotal::runtime {

Process process;
int teetotal_frames_up = 1;

void Process::reset() {
  memory.reset();
  for (std::uint32_t number = 0; number < count; ++number) clear(threads[number]);
  Records::begin_anew();
  keys.begin(threads[0]);
  put_lasting_back();
  program.begin();
}

void Process::clear_locals(const Thread& thread) {
  if (thread.tls != 0) {
    std::memcpy(reinterpret_cast<void*>(thread.tls), memory.tls_image, memory.tls_image_size);
    std::memset(reinterpret_cast<void*>(thread.tls + memory.tls_image_size), 0,
                memory.tls_size - memory.tls_image_size);
  }
  if (thread.exceptions != nullptr) std::memset(thread.exceptions, 0, kExceptionWords);
  if (thread.error != nullptr) *thread.error = 0;
}

void Process::clear(Thread& thread) {
  const std::uint32_t number = thread.number;
  clear_locals(thread);
  // What an execution leaves on a stack must not be seen by the next: see the hash of local states in system.cpp.
  const std::uintptr_t low = used_stack(thread);
  Memory::clear(low, stack_top(number) - low);
  ThreadRecord fresh;
  fresh.number = number;
  fresh.stack_low = stack_top(number);
  fresh.locals_private = (lifetimes.shared_locals & bit_of(number)) == 0;
  fresh.tls = thread.tls;
  fresh.tls_size = thread.tls_size;
  fresh.exceptions = thread.exceptions;
  fresh.error = thread.error;
  static_cast<ThreadRecord&>(thread) = fresh;
  thread.forget_words();
}

void Process::park(Thread& thread) {
  Operation& operation = thread.operation;
  if (!is_fence(operation.kind)) operation.cell = cells.number(operation.address, operation.tag);
  if (operation.verb == Verb::create) thread_pointer(reinterpret_cast<const Thread*>(operation.address)->number);
  operation.caller = caller_of(thread, static_cast<void* const*>(thread.fiber.stack_pointer)[kSavedFrame]);
  thread.stack_low = std::min(thread.stack_low, reinterpret_cast<std::uintptr_t>(thread.fiber.stack_pointer));
}

const Fiber& next_to_run() {
  Thread& self = *process.current;
  if (process.tape_next < process.tape.size()) {
    const Again& wanted = process.tape[process.tape_next];
    Thread& next = process.threads[wanted.thread];
    if (next.state == State::parked && process.as_before(next) && !wanted.fatal) {
      process.step = static_cast<std::int32_t>(process.tape_next++);
      if (&next != &self) process.park(self);
      process.current = &next;
      return next.fiber;
    }
  }
  process.park(self);
  return process.scheduler;
}

void stop(Thread& self, State state) {
  if (self.suspicion.address != 0) decide_suspicion(self, 0, 0);
  if (self.range.size != 0) settle(self);
  self.state = state;
  abandon_to(process.scheduler);
}

void fail(Thread& self, Failure failure, const char* message, std::uintptr_t place) {
  std::string words;
  {
    const Lasting lasting;
    words = message;
  }
  fail(self, failure, std::move(words), place);
}

void fail(Thread& self, Failure failure, std::string message, std::uintptr_t place) {
  if (self.range.size != 0) settle(self);
  self.failure = failure;
  self.failed_step = process.step;
  {
    const Lasting lasting;         // no snapshot has a thread that failed
    self.message.assign(message);  // anew: what is given may lie where a snapshot is put back
  }
  self.failed_at = callers.empty() ? place : callers.teller(place, __builtin_frame_address(0));
  stop(self, State::stopped);
}

void fail(Thread& self, const Fault& fault, std::uintptr_t place) {
  self.cause = fault.cause;
  self.done = fault.done;
  fail(self, fault.failure, fault.message, place);
}

void finish(Thread& self, void* result) {
  self.exiting = true;
  self.result = result;
  self.rounds.frames = nullptr;
  run_below(self, __builtin_frame_address(0), [&] {
    run_thread_destructors(self);
    run_key_destructors(self);
  });
  leave_if_last(self);
  leave_given_stack(self);
  end_all(self);
  if (rules.unlock_needs_fence) mfence(self, 0);
  synchronise(self, Verb::end, Kind::unlock, Tag::thread, &self, 0);
  self.end_step = process.step;
  stop(self, State::ended);
}

bool of_program(const void* object) {
  const auto address = reinterpret_cast<std::uintptr_t>(object);
  if (memory.in_object(address) || in_heap(address) || stack_owner(address) < kMaxThreads) return true;
  for (std::uint32_t number = 0; number < process.count; ++number) {
    const Thread& thread = process.threads[number];
    if (address - thread.tls < thread.tls_size) return true;
  }
  return false;
}

namespace {

void fence_of(Kind kind, Thread& self, std::uintptr_t place, Order order) {
  if (process.alone) return;
  // One of no order is a part of an access, or of a call, whose place is visited with that.
  self.operation = {.kind = kind, .part = order == Order::na, .order = order, .place = place};
  visible(self);
}

// What an operation on an object synchronises with: by what C11, C++ and POSIX say, not by what glibc does.
Order order_of(Verb verb) {
  switch (verb) {
    case Verb::create:
    case Verb::end:
    case Verb::unlock:
    case Verb::post:
    case Verb::leave_once:
    case Verb::leave_section:
      return Order::release;
    case Verb::begin:
    case Verb::join:
    case Verb::lock:
    case Verb::try_lock:
    case Verb::read_lock:
    case Verb::try_read_lock:
    case Verb::write_lock:
    case Verb::try_write_lock:
    case Verb::take:
    case Verb::try_take:
    case Verb::enter_section:
      return Order::acquire;
    case Verb::arrive:  // the last one goes on at once
    case Verb::leave:
    case Verb::enter_once:
      return Order::acq_rel;
    default:  // conditions and futexes order nothing by themselves
      return Order::relaxed;
  }
}

}  // namespace

void mfence(Thread& self, std::uintptr_t place, Order order) { fence_of(Kind::mfence, self, place, order); }
void fence_before_call(Thread& self, std::uintptr_t place) {
  self.calls = true;
  mfence(self, place);
  self.calls = false;
}
void sfence(Thread& self, std::uintptr_t place, Order order) { fence_of(Kind::sfence, self, place, order); }
void fence(Thread& self, std::uintptr_t place, Order order) { fence_of(Kind::fence, self, place, order); }

void synchronise(Thread& self, Verb verb, Kind kind, Tag tag, const void* object, std::uintptr_t place,
                 const Choice& choice) {
  const auto address = reinterpret_cast<std::uintptr_t>(object);
  // Waking those who wait at a word does not look at it: it may be gone by then, and be another's.
  const bool lies_in_memory = tag != Tag::thread && tag != Tag::futex && self.wait.bucket == nullptr;
  const bool of_programs = lies_in_memory && of_program(object);
  // Others' stacks and thread-local variables: their ends come in every order with this. On its own it is seen anyway.
  if (of_programs) static_cast<void>(hidden(self, address, place, sizeof(int)));
  self.single = false;
  self.operation = {.kind = kind,
                    .writes = choice.writes,
                    .tag = tag,
                    .waiting = choice.waiting,
                    .verb = verb,
                    .needs = choice.needs,
                    .part = choice.part,
                    .alone = choice.alone,
                    .order = unchecked(order_of(verb)),
                    .enabler = choice.enabler,
                    .address = address,
                    .place = place,
                    .enabled = choice.enabled,
                    .expected = choice.expected};
  visible(self);
  if (of_programs) check_memory(self, address, size_of(tag), place, tag);
}

void attempt(Thread& self, Verb verb, Tag tag, const void* object, std::uintptr_t place, const Choice& choice) {
  if (choice.writes == Writes::always || !rules.halves)
    return synchronise(self, verb, choice.writes == Writes::always ? Kind::rmw : Kind::ld, tag, object, place, choice);
  synchronise(self, verb, Kind::ld, tag, object, place, {.writes = Writes::never, .alone = choice.alone});
  const Wide seen = seen_by(self.operation);
  if (!matches(choice.writes, choice.expected, seen) && (choice.enabled == nullptr || choice.enabled(self))) return;
  Choice rest = choice;
  rest.part = true;
  synchronise(self, verb, Kind::rmw, tag, object, place, rest);
}

void release_store(Thread& self, Verb verb, Tag tag, const void* object, std::uintptr_t place) {
  sfence(self, place);
  synchronise(self, verb, Kind::st, tag, object, place);
}

Wide seen_of_object(const Operation& operation) {
  const auto at = [&]<typename T>(T) { return *reinterpret_cast<const T*>(operation.address); };
  switch (operation.tag) {
    case Tag::vector: {
      Wide value;
      std::memcpy(&value, reinterpret_cast<const void*>(operation.address), sizeof value);
      return value;
    }
    case Tag::semaphore:  // one that was destroyed lets everybody go on, and fail
      if (const int mark = mark_of(reinterpret_cast<sem_t*>(operation.address)); gone(mark)) return kGone;
      return at(std::uint32_t{});
    case Tag::mutex:
    case Tag::rwlock:
      return at(std::uint32_t{});
    case Tag::condition:
      return waiting_on(operation.address);
    case Tag::thread:  // whether it can be joined
      return reinterpret_cast<const Thread*>(operation.address)->state == State::ended ? 1 : 0;
    default:
      return 0;
  }
}

bool matches(Writes when, Wide expected, Wide seen) {
  switch (when) {
    case Writes::never:
      return false;
    case Writes::always:
      return true;
    case Writes::if_equal:
      return seen == expected;
    case Writes::if_different:
      return seen != expected;
  }
  return true;
}

bool satisfies(Needs needs, Wide seen) {
  switch (needs) {
    case Needs::nothing:
      return true;
    case Needs::zero:
      return seen == 0 || gone(static_cast<int>(seen));
    case Needs::not_zero:
      return seen != 0;
    case Needs::not_running:
      return seen != 1;
    case Needs::no_writer:
      return seen != ~std::uint32_t{0};
  }
  return true;
}

std::uint32_t next_thread(const Thread& self) {
  const auto [entry, fresh] = process.numbers.try_emplace({self.number, self.creations},
                                                          static_cast<std::uint32_t>(process.numbers.size() + 1));
  return entry->second;
}

void create_thread(Thread& self, void* (*routine)(void*), void* argument, bool detached, std::uintptr_t place) {
  const std::uint32_t number = next_thread(self);
  if (number >= kMaxThreads)
    fail(self, Failure::unsupported, "more than " + std::to_string(kMaxThreads) + " threads", place);
  Thread& child = process.threads[number];
  if (follows_rounds && process.alone && process.count > 1) note_memory(self);
  process.alone = false;
  find_twin(self, child, routine, argument, detached);
  if (rules.unlock_needs_fence) mfence(self, place);
  synchronise(self, Verb::create, Kind::unlock, Tag::thread, &child, place);
  ++self.creations;
  ++process.unjoined;
  child.locals_private = (lifetimes.shared_locals & bit_of(number)) == 0;
  ++endings.living;
  child.routine = routine;
  child.argument = argument;
  if (follows_rounds) begin_path(child);
  child.detached = detached;
  child.signals.blocked = self.signals.blocked;
  process.count = std::max(process.count, number + 1);
  std::uint32_t born = 0;
  for (std::uint32_t other = 0; other < process.count; ++other) born += process.threads[other].state != State::unborn;
  child.born = born;
  child.state = State::parked;
  child.operation = {.kind = Kind::lock,
                     .writes = Writes::never,  // whoever looks whether it has ended sees the same
                     .tag = Tag::thread,
                     .verb = Verb::begin,
                     .order = unchecked(order_of(Verb::begin)),
                     .cell = cells.number(reinterpret_cast<std::uintptr_t>(&child), Tag::thread),
                     .enabler = process.step,
                     .address = reinterpret_cast<std::uintptr_t>(&child),
                     .place = reinterpret_cast<std::uintptr_t>(routine) + 1};  // as if called from its first line
  try {
    prepare(child.fiber, number, thread_entry);
  } catch (const std::runtime_error& error) {
    fail(self, Failure::unsupported, std::string("more threads than there can be: ") + error.what(), place);
  }
}

}  // namespace teetotal::runtime
