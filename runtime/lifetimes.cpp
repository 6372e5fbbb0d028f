#include "lifetimes.hpp"

#include <link.h>

#include <algorithm>
#include <optional>

#include "accesses.hpp"

namespace teetotal::runtime {

std::uint8_t teetotal_frames_watched = 0;

namespace {

std::bitset<kMaxThreads * kStackStride / 16> touched;

std::size_t grain_of(std::uintptr_t address) { return (address - kStacks) / 16; }

// From now on frames that end are looked at; what ended before was not.
void watch(Watched why) {
  if ((teetotal_frames_watched & why) != 0) return;
  teetotal_frames_watched |= why;
  process.restart = true;
}

struct Frame {
  const Frame* caller;
  std::uintptr_t returns_to;
};

// The lowest address of a stack that belongs to a frame of the program. Hooks keep frame pointers, so they are followed
// to the one that the program called. From a library's own code nothing is known about the frames above; then what is
// above the hooks counts as live.
std::uintptr_t live_from(const Frame* at, std::uintptr_t lowest, std::uintptr_t top) {
  while (reinterpret_cast<std::uintptr_t>(at) > lowest && reinterpret_cast<std::uintptr_t>(at) < top - sizeof *at) {
    lowest = reinterpret_cast<std::uintptr_t>(at);
    if (process.memory.in_object(at->returns_to)) return lowest + sizeof *at;
    if (!of_executable(at->returns_to)) break;
    at = at->caller;
  }
  return lowest;
}

std::uintptr_t live_from(const Thread& parked) {
  const auto* at = static_cast<const Frame* const*>(parked.fiber.stack_pointer)[kSavedFrame];
  const std::uintptr_t top = stack_top(parked.number);
  if (at == nullptr) return top;  // it has not begun
  return live_from(at, reinterpret_cast<std::uintptr_t>(parked.fiber.stack_pointer), top);
}

// Who ended the latest frame around an address, as far as that is known.
End frame_end(const Thread& owner, std::uintptr_t address) {
  for (std::uint32_t back = 1; back <= owner.ended.size(); ++back) {
    const auto& [below, place] = owner.ended[(owner.ended_next - back) % owner.ended.size()];
    if (address < below) return {owner.number, place};
  }
  return {owner.number, 0};
}

// Whose thread-local variables an address is among.
Thread* owner_of_local(std::uintptr_t address) {
  for (std::uint32_t number = 0; number < process.count; ++number)
    if (address - process.threads[number].tls < process.threads[number].tls_size) return &process.threads[number];
  return nullptr;
}

struct Use {
  const char* message;
  const char* done;
  End end;
  Failure failure = Failure::returned;
};

Use dead_stack(const Thread& owner, std::uintptr_t address) {
  if (owner.over) return {"uses the stack of a thread that has ended", "ended", {owner.number, 0}};
  return {"uses a variable of a function that has returned", "returned", frame_end(owner, address)};
}

// A use of memory that is not a variable's, if that memory's time is over.
std::optional<Use> use_of_dead(const Thread& self, std::uintptr_t address, std::uintptr_t frame) {
  if (const std::uint32_t owner = stack_owner(address); owner < kMaxThreads) {
    if (on_dead_stack(self, address, frame)) return dead_stack(process.threads[owner], address);
  } else if (in_heap(address)) {
    const Block block = process.memory.block(address);
    if (block.freed) return Use{"", "freed it", process.ends[block.end], Failure::freed};
  } else if (const Thread* local = owner_of_local(address); local != nullptr && local->over) {
    return Use{"uses a thread-local variable of a thread that has ended", "ended", {local->number, 0}};
  }
  return std::nullopt;
}

}  // namespace

void fail_since(Thread& self, Failure failure, std::string message, std::uintptr_t place, const std::string& done,
                const End& end) {
  self.cause = end;
  self.done = done;
  fail(self, failure, std::move(message), place);
}

bool on_dead_stack(const Thread& self, std::uintptr_t address, std::uintptr_t frame) {
  const Thread& owner = process.threads[stack_owner(address)];
  if (&owner == &self) return address < frame;
  if (owner.over) return true;
  return address < (owner.state == State::parked ? live_from(owner) : owner.left_below);
}

void use_after_return(Thread& self, std::uintptr_t address, std::uintptr_t place) {
  check_owner(self, address, place, ~std::uintptr_t{0});
  __builtin_unreachable();
}

bool fails_at_commit(Thread& self, std::uintptr_t address, std::uintptr_t place) {
  const std::optional<Use> use = use_of_dead(self, address, 0);
  if (!use || use->end.thread == self.number) return false;  // its own end comes after its own store
  self.failure = use->failure;
  self.message = use->message;
  self.done = use->done;
  self.cause = use->end;
  self.failed_at = place;
  self.failed_step = process.step;
  self.state = State::stopped;
  return true;
}

void check_owner(Thread& self, std::uintptr_t address, std::uintptr_t place, std::uintptr_t frame) {
  const std::optional<Use> use = use_of_dead(self, address, frame);
  if (!use) return;
  if (use->failure == Failure::returned) watch(kTold);  // so that the frame's end is known the next time
  fail_since(self, use->failure, use->message, place, use->done, use->end);
}

void touch_grain(std::uint32_t grain) {
  if (grain >= touched.size() || touched.test(grain)) return;
  touched.set(grain);
  process.touched.push_back(grain);
  teetotal_frames_watched |= kSharedStacks;
  process.restart = true;
}

void touch_stack(std::uintptr_t address, std::size_t size) {
  for (std::size_t grain = grain_of(address); grain <= grain_of(address + size + 14); ++grain)
    touch_grain(static_cast<std::uint32_t>(grain));
}

bool touched_by_others(std::uintptr_t address, std::size_t size) {
  if ((process.shared_stacks & bit_of(stack_owner(address))) != 0) return true;
  for (std::size_t grain = grain_of(address); grain <= grain_of(address + size + 14) && grain < touched.size(); ++grain)
    if (touched.test(grain)) return true;
  return false;
}

bool outside(Thread& self, std::uintptr_t address, std::uintptr_t place) {
  constexpr std::uintptr_t kStaticBlock = 4096;  // where errno lies
  if (self.fiber.thread_pointer - address < kStaticBlock || imports.variable(address)) return true;
  if (const Thread* owner = owner_of_local(address)) {
    if ((process.shared_locals & bit_of(owner->number)) == 0) {
      process.shared_locals |= bit_of(owner->number);
      process.restart = true;
    }
    return false;
  }
  static std::array<std::uintptr_t, 64> known{};  // pages that are none of these
  std::uintptr_t& page = known[address / 4096 % known.size()];
  if (page == address / 4096) return false;
  for (std::uint32_t number = 0; number < process.count; ++number) {
    if (process.threads[number].fiber.thread_pointer - address >= kStaticBlock) continue;
    process.unseen.insert({"errno, or another variable of the C library, of another thread", place});
    return false;
  }
  struct Local {
    std::uintptr_t address;
    bool found;
  } local{address, false};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& [wanted, found] = *static_cast<Local*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i)
          if (info->dlpi_phdr[i].p_type == PT_TLS && info->dlpi_tls_data != nullptr)
            found =
                found || wanted - reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data) < info->dlpi_phdr[i].p_memsz;
        return found ? 1 : 0;
      },
      &local);
  if (local.found) {
    process.unseen.insert({"a thread-local variable of a library", place});
  } else {
    page = address / 4096;
  }
  return false;
}

// -- ends as events ---------------------------------------------------------------------------------------------------

void end_life(Thread& self, std::uintptr_t begin, std::uintptr_t end, Verb verb, std::uintptr_t place) {
  bool part = verb == Verb::end_life;  // no loop is cut for it
  for (std::uintptr_t next = begin; const auto piece = process.cells.first_inside(next, end); part = true) {
    next = piece->address + 1;
    self.operation = {.kind = Kind::ld,
                      .writes = Writes::always,
                      .tag = piece->tag,
                      .verb = verb,
                      .part = part,
                      .address = piece->address,
                      .place = place};
    process.ends_told = true;
    visible(self);
  }
}

void end_frames(Thread& self, std::uintptr_t below, std::uintptr_t place) {
  if (process.alone) return;
  std::uintptr_t& learnt = process.ended_below[self.number];
  learnt = std::max(learnt, below);
  // Without an operation since the latest end nobody can have learnt of a frame that began since.
  const bool just_told = self.operation.verb == Verb::end_life;
  end_life(self, just_told ? self.told_below : stack_top(self.number) - kStackSize, below, Verb::end_life, place);
  self.told_below = just_told ? std::max(self.told_below, below) : below;
}

void end_all(Thread& self) {
  self.over = true;
  if (!process.touched.empty() || process.shared_stacks != 0) end_frames(self, stack_top(self.number), 0);
  if (process.alone || self.locals_private) return;
  process.ended_locals |= bit_of(self.number);
  end_life(self, self.tls, self.tls + self.tls_size, Verb::end_life, 0);
}

void keep_frames(Thread& self) {
  const auto* here = static_cast<const Frame*>(__builtin_frame_address(0));
  self.left_below = live_from(here, reinterpret_cast<std::uintptr_t>(here) - 1, stack_top(self.number));
}

bool ended_unnoticed(std::uintptr_t address) {
  if (in_heap(address)) return process.freed.contains(process.memory.block(address).address);
  if (const std::uint32_t owner = stack_owner(address); owner < kMaxThreads)
    return address < process.ended_below[owner];
  const Thread* owner = process.ended_locals == 0 ? nullptr : owner_of_local(address);
  return owner != nullptr && (process.ended_locals & bit_of(owner->number)) != 0;
}

namespace {
constexpr std::uint64_t kCell = std::uint64_t{1} << 32;  // beyond all grains
constexpr std::uint64_t kTags = 8;
}  // namespace

std::vector<std::uint64_t> ended_cells() {
  std::vector<std::uint64_t> result;
  for (std::uint32_t thread = 0; thread < kMaxThreads; ++thread) {
    std::uintptr_t next = stack_top(thread) - kStackSize;
    while (const auto piece = process.cells.first_inside(next, process.ended_below[thread])) {
      result.push_back(kCell + (piece->address - kStacks) * kTags + static_cast<std::uint64_t>(piece->tag));
      next = piece->address + 1;
    }
  }
  return result;
}

bool know_ended_cell(std::uint64_t told) {
  if (told < kCell) return false;
  process.cells.number(kStacks + (told - kCell) / kTags, static_cast<Tag>(told % kTags));
  return true;
}

// -- objects ----------------------------------------------------------------------------------------------------------

void check_usable(Thread& self, int mark, bool initialised, const std::string& does, std::uintptr_t place) {
  if (gone(mark))
    fail_since(self, Failure::misuse, does + " that was destroyed", place, "destroyed it",
               process.ends[static_cast<std::size_t>(mark & 0xFFFF)]);
  if (!initialised) fail(self, Failure::misuse, does + " that nobody initialised", place);
}

int mark_end(const Thread& self, std::uintptr_t place) {
  const End end{self.number, place};
  const auto found = std::ranges::find(process.ends, end);
  const auto number = static_cast<int>(found - process.ends.begin());
  if (found == process.ends.end() && number < 0xFFFF) process.ends.push_back(end);
  return kGone | std::min(number, 0xFFFE);
}

namespace {

// A store to an object, behind a check of what it is: where stores are buffered, that is a look of its own before.
template <typename Check>
void store_checked(Thread& self, Verb verb, Tag tag, const void* object, std::uintptr_t place, Check check) {
  // What it finds and what it then stores are two steps for buffers, and not every order with others is explored.
  if (process.buffered && !process.alone)
    process.weaken(
        "an object is initialised or destroyed beside other threads: with buffers not every order is explored");
  if (process.halves) {
    synchronise(self, verb, Kind::ld, tag, object, place, {.writes = Writes::never});
    check();
  }
  synchronise(self, verb, Kind::st, tag, object, place, {.part = process.halves});
  if (!process.halves) check();
}

}  // namespace

void begin(Thread& self, Tag tag, const void* object, const char* name, Users in_use, std::uintptr_t place) {
  store_checked(self, Verb::initialise, tag, object, place, [&] {
    if (const std::string by = in_use(object); !by.empty())
      fail(self, Failure::misuse, std::string("initialises ") + name + " that " + by, place);
  });
}

int end(Thread& self, Tag tag, const void* object, const int& mark, const char* name, Users in_use,
        std::uintptr_t place) {
  store_checked(self, Verb::destroy, tag, object, place, [&] {
    if (gone(mark)) check_usable(self, mark, true, std::string("destroys ") + name, place);
    if (const std::string by = in_use(object); !by.empty())
      fail(self, Failure::misuse, std::string("destroys ") + name + " that " + by, place);
  });
  return mark_end(self, process.callers.empty() ? place : process.callers.teller(place, __builtin_frame_address(0)));
}

void note_held(const Thread& self, const void* object) {
  if (stack_owner(reinterpret_cast<std::uintptr_t>(object)) < kMaxThreads) watch(kLocks);
  auto* const free = std::ranges::find(process.held, nullptr, &Held::object);
  if (free != process.held.end()) *free = {object, self.number};
}

void note_released(const void* object) {
  auto* const held = std::ranges::find(process.held, object, &Held::object);
  if (held != process.held.end()) *held = {};
}

std::string held_by(const void* object) {
  const auto said = [](std::uint32_t number) { return "T" + std::to_string(process.threads[number].born) + " holds"; };
  const auto* const held = std::ranges::find(process.held, object, &Held::object);
  if (held != process.held.end()) return said(held->thread);
  for (std::uint32_t number = 0; number < process.count; ++number)
    if (std::ranges::find(process.threads[number].rwlocks, object) != process.threads[number].rwlocks.end())
      return said(number);
  return "";
}

std::string waited_on_by(const void* object) {
  for (std::uint32_t number = 0; number < process.count; ++number) {
    const Thread& thread = process.threads[number];
    if (thread.state == State::parked && thread.waits_on == object && thread.signals == 0)
      return "T" + std::to_string(thread.born) + " waits on";
  }
  return "";
}

void check_unused(Thread& self, std::uintptr_t begin, std::uintptr_t end, const char* does, std::uintptr_t place) {
  const auto inside = [&](const void* object) {
    return reinterpret_cast<std::uintptr_t>(object) - begin < end - begin;
  };
  if (std::ranges::any_of(process.held, inside, &Held::object))
    fail(self, Failure::misuse, std::string(does) + " in which a lock is held", place);
  for (std::uint32_t number = 0; number < process.count; ++number) {
    const Thread& thread = process.threads[number];
    if (thread.state != State::parked) continue;
    if (inside(thread.waits_on) && thread.signals == 0)
      fail(self, Failure::misuse, std::string(does) + " in which a thread waits", place);
    if (std::ranges::any_of(thread.rwlocks, inside))
      fail(self, Failure::misuse, std::string(does) + " in which a lock is held", place);
  }
}

}  // namespace teetotal::runtime

using namespace teetotal::runtime;  // NOLINT: the hook below is the whole rest of the file

extern "C" {

// All of the running thread's stack below an address is dead.
void teetotal_frame_ended(std::uintptr_t below, std::uintptr_t place) {
  Thread* self = process.current;
  if (self == nullptr || stack_owner(below) != self->number) return;  // a stack that the program made itself
  if (self->range_size != 0) {
    settle_before_end(*self, below);
    self->told_below = 0;
  }
  const Operation& operation = self->operation;
  const auto dead = [&](std::uintptr_t address) { return stack_owner(address) == self->number && address < below; };
  if (process.buffered && self->dead_below <= operation.address && dead(operation.address) &&
      operation.kind == teetotal::Kind::st)
    self->last_stored = seen_by(operation);
  self->dead_below = std::max(self->dead_below, below);
  auto& latest = self->ended[(self->ended_next - 1) % self->ended.size()];
  if (latest != std::pair{below, place}) self->ended[self->ended_next++ % self->ended.size()] = {below, place};
  end_frames(*self, below, place);
  check_unused(*self, stack_top(self->number) - kStackSize, below, "leaves a function with a variable", place);
}

void teetotal_frame_ends();
void teetotal_wide_frame_ends();
}

// Both keep all registers that a function may return something in, and all that a program may know to be kept: the
// second also those of vectors (not of 512 bits) and of the x87. They lay a frame, for those who follow these.
asm(R"(
.text
.globl teetotal_frame_ends
.type teetotal_frame_ends, @function
teetotal_frame_ends:
  cmpb $0, teetotal_frames_watched(%rip)
  jne 1f
  ret
1:
  pushq %rbp
  movq %rsp, %rbp
  pushq %rax
  pushq %rcx
  pushq %rdx
  pushq %rsi
  pushq %rdi
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  andq $-16, %rsp
  leaq 16(%rbp), %rdi
  movq 8(%rbp), %rsi
  call teetotal_frame_ended
  leaq -72(%rbp), %rsp
  popq %r11
  popq %r10
  popq %r9
  popq %r8
  popq %rdi
  popq %rsi
  popq %rdx
  popq %rcx
  popq %rax
  popq %rbp
  ret
.size teetotal_frame_ends, .-teetotal_frame_ends
.globl teetotal_wide_frame_ends
.type teetotal_wide_frame_ends, @function
teetotal_wide_frame_ends:
  cmpb $0, teetotal_frames_watched(%rip)
  jne 1f
  ret
1:
  pushq %rbp
  movq %rsp, %rbp
  pushq %rax
  pushq %rdx
  pushq %rdi
  pushq %rsi
  subq $896, %rsp
  andq $-64, %rsp
  xorl %eax, %eax
  leaq 512(%rsp), %rdi
  movq %rax, (%rdi)
  movq %rax, 8(%rdi)
  movq %rax, 16(%rdi)
  movq %rax, 24(%rdi)
  movq %rax, 32(%rdi)
  movq %rax, 40(%rdi)
  movq %rax, 48(%rdi)
  movq %rax, 56(%rdi)
  movl $7, %eax
  xorl %edx, %edx
  xsave64 (%rsp)
  emms
  leaq 16(%rbp), %rdi
  movq 8(%rbp), %rsi
  call teetotal_frame_ended
  movl $7, %eax
  xorl %edx, %edx
  xrstor64 (%rsp)
  leaq -32(%rbp), %rsp
  popq %rsi
  popq %rdi
  popq %rdx
  popq %rax
  popq %rbp
  ret
.size teetotal_wide_frame_ends, .-teetotal_wide_frame_ends
)");
