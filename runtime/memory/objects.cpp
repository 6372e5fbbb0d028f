#include "objects.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "lifetimes.hpp"

namespace teetotal::runtime {

Objects objects;

namespace {

// -- state ------------------------------------------------------------------------------------------------------------

// The words of an object that its beginning sets, and the one that its end does.
struct Words {
  std::span<const std::uint8_t> all;
  std::uint8_t mark;
};

Words words_of(Tag tag) {
  static constexpr std::uint8_t kMutex[] = {0, 1, 4};  // who holds it, how often, its kind
  static constexpr std::uint8_t kRwlock[] = {0, 5, 12}, kCondition[] = {0};
  static constexpr std::uint8_t kBarrier[] = {0, 1, 2}, kSemaphore[] = {0, 2};
  switch (tag) {
    case Tag::mutex:
      return {kMutex, 0};
    case Tag::rwlock:
      return {kRwlock, 5};
    case Tag::condition:
      return {kCondition, 0};
    case Tag::barrier:
      return {kBarrier, 0};
    case Tag::semaphore:
      return {kSemaphore, 2};
    default:
      return {};
  }
}

template <typename Visit>
void each_word(const Operation& operation, Visit visit) {
  const auto [all, mark] = words_of(operation.tag);
  auto* words = reinterpret_cast<std::uint32_t*>(operation.address);
  if (operation.verb == Verb::destroy) return visit(words[mark], 0);
  int bits = 0;
  for (const std::uint8_t word : all) visit(words[word], 32 * bits++);
}

}  // namespace

Wide contents(const Operation& operation) {
  if (is_data(operation.tag)) return seen_by(operation);
  Wide value = 0;
  each_word(operation, [&](std::uint32_t word, int shift) { value |= Wide{word} << shift; });
  return value;
}

void put_more(const Operation& operation, Wide value) {
  if (is_data(operation.tag)) {
    std::memcpy(reinterpret_cast<void*>(operation.address), &value, size_of(operation.tag));  // little-endian
  } else {
    each_word(operation, [&](std::uint32_t& word, int shift) { word = static_cast<std::uint32_t>(value >> shift); });
  }
}

// -- use --------------------------------------------------------------------------------------------------------------

namespace {

std::optional<Fault> unusable(int mark, bool initialised, const std::string& does) {
  if (gone(mark))
    return Fault{Failure::misuse, does + " that was destroyed", "destroyed it",
                 objects.ended_by[static_cast<std::size_t>(mark & 0xFFFF)]};
  if (!initialised) return Fault{Failure::misuse, does + " that nobody initialised"};
  return std::nullopt;
}

bool has_kind(const pthread_mutex_t* mutex) {
  constexpr int kFlags = 0x3F0;  // beside its kind
  return (mutex->__data.__kind & ~(kFlags | 3)) == 0;
}

}  // namespace

void check_usable(Thread& self, int mark, bool initialised, const std::string& does, std::uintptr_t place) {
  if (const auto fault = unusable(mark, initialised, does)) fail(self, *fault, place);
}

void use(Thread& self, pthread_mutex_t* mutex, const char* does, std::uintptr_t place) {
  use(self, mutex, does, place, has_kind(mutex));
}

void note_held(const Thread& self, const void* object) {
  watch_locks(object);
  auto& held = objects.held.change();
  auto* const free = std::ranges::find(held, nullptr, &Held::object);
  if (free != held.end()) *free = {object, self.number};
}

void note_released(const void* object, bool in_memory) {
  auto& all = objects.held.change();
  auto* const held = std::ranges::find(all, object, &Held::object);
  if (held == all.end()) return;
  if (in_memory)
    *held = {};
  else
    held->left = true;
}

namespace {

std::string said(std::uint32_t number, const char* does) {
  return "T" + std::to_string(process.threads[number].born) + does;
}

// Who holds a lock ("T1 holds"), or waits at an object ("T1 waits on"); empty: nobody.
std::string held_by(const void* object) {
  const auto* const held = std::ranges::find(*objects.held, object, &Held::object);
  if (held != objects.held->end()) return said(held->thread, " holds");
  for (std::uint32_t number = 0; number < process.count; ++number) {
    const auto& rwlocks = *process.threads[number].rwlocks;
    if (std::ranges::find(rwlocks, object) != rwlocks.end()) return said(number, " holds");
  }
  return "";
}

std::string waited_on_by(const void* object) {
  for (std::uint32_t number = 0; number < process.count; ++number) {
    const Thread& thread = process.threads[number];
    if (thread.state == State::parked && thread.waits_on == object && thread.wait.signals == 0)
      return said(number, " waits on");
  }
  return "";
}

// -- beginning and end ------------------------------------------------------------------------------------------------

// Who takes a semaphore and finds nothing stands before its event, and has done nothing that others could see: nobody
// is said to wait there.
struct Sort {
  const char* name;
  std::string (*in_use)(const void* object);
};

Sort sort_of(Tag tag) {
  switch (tag) {
    case Tag::mutex:
      return {"a mutex", held_by};
    case Tag::rwlock:
      return {"a lock of readers and writers", held_by};
    case Tag::condition:
      return {"a condition", waited_on_by};
    case Tag::barrier:
      return {"a barrier", waited_on_by};
    case Tag::semaphore:
      return {"a semaphore", [](const void*) { return std::string(); }};
    default:
      return {"a spinlock", held_by};
  }
}

void store(Thread& self, Verb verb, Tag tag, const void* object, std::uintptr_t place) {
  const bool at_once = stores_at_once();
  synchronise(self, verb, Kind::st, tag, object, place);
  if (!at_once) return;
  if (const auto fault = fault_of_store(self.operation)) fail(self, *fault, place);
}

}  // namespace

std::optional<Fault> fault_of_store(const Operation& operation) {
  const bool ends = operation.verb == Verb::destroy;
  if (!ends && operation.verb != Verb::initialise) return std::nullopt;
  const auto* object = reinterpret_cast<const int*>(operation.address);
  const auto [name, in_use] = sort_of(operation.tag);
  const std::string does = std::string(ends ? "destroys " : "initialises ") + name;
  if (ends) {
    const auto* mutex = reinterpret_cast<const pthread_mutex_t*>(object);
    const int mark = object[words_of(operation.tag).mark];
    if (auto fault = unusable(mark, operation.tag != Tag::mutex || has_kind(mutex), does)) return fault;
  }
  if (const std::string by = in_use(object); !by.empty()) return Fault{Failure::misuse, does + " that " + by};
  return std::nullopt;
}

void note_stored(const Operation& operation) {
  if (operation.verb == Verb::unlock) note_released(reinterpret_cast<const void*>(operation.address));
}

void begin(Thread& self, Tag tag, const void* object, std::uintptr_t place) {
  store(self, Verb::initialise, tag, object, place);
}

int end(Thread& self, Tag tag, const void* object, std::uintptr_t place) {
  store(self, Verb::destroy, tag, object, place);
  return mark_end(self, callers.empty() ? place : callers.teller(place, __builtin_frame_address(0)));
}

int mark_end(const Thread& self, std::uintptr_t place) {
  const End end{self.number, place};
  const auto found = std::ranges::find(objects.ended_by, end);
  const auto number = static_cast<int>(found - objects.ended_by.begin());
  if (found == objects.ended_by.end() && number < 0xFFFF) objects.ended_by.push_back(end);
  return kGone | std::min(number, 0xFFFE);
}

void check_unused(Thread& self, std::uintptr_t begin, std::uintptr_t end, const char* does, std::uintptr_t place) {
  const auto inside = [&](const void* object) {
    return reinterpret_cast<std::uintptr_t>(object) - begin < end - begin;
  };
  if (std::ranges::any_of(*objects.held, [&](const Held& held) { return inside(held.object) && !held.left; }))
    fail(self, Failure::misuse, std::string(does) + " in which a lock is held", place);
  for (std::uint32_t number = 0; number < process.count; ++number) {
    const Thread& thread = process.threads[number];
    if (thread.state != State::parked) continue;
    if (inside(thread.waits_on) && thread.wait.signals == 0)
      fail(self, Failure::misuse, std::string(does) + " in which a thread waits", place);
    if (std::ranges::any_of(*thread.rwlocks, inside))
      fail(self, Failure::misuse, std::string(does) + " in which a lock is held", place);
  }
}

}  // namespace teetotal::runtime
