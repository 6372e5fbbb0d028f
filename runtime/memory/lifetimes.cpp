#include "lifetimes.hpp"

#include <link.h>

#include <algorithm>
#include <bitset>
#include <optional>

#include "accesses.hpp"
#include "symmetry.hpp"

namespace teetotal::runtime {

Lifetimes lifetimes;
std::uint8_t teetotal_frames_watched = 0;
std::array<Span, kMaxThreads> touched_spans;

Thread* owner_of_local(std::uintptr_t address) {
  for (std::uint32_t number = 0; number < process.count; ++number)
    if (address - process.threads[number].tls < process.threads[number].tls_size) return &process.threads[number];
  return nullptr;
}

namespace {

std::bitset<kMaxThreads * kStackStride / kGrainSize> touched;

std::size_t grain_of(std::uintptr_t address) { return (address - kStacks) / kGrainSize; }

// From now on frames that end are looked at; what ended before was not.
void watch(Watched why) {
  if ((teetotal_frames_watched & why) != 0) return;
  teetotal_frames_watched |= why;
  process.restart = true;
}

constexpr std::uintptr_t kReturnAddress = sizeof(std::uintptr_t);  // which lies before what a function was given

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
    if (memory.in_object(at->returns_to)) return lowest + sizeof *at;
    if (!of_executable(at->returns_to)) break;
    at = at->caller;
  }
  return lowest;
}

// The same of the thread that runs. `frame`: any of ours that the program's code called, or one that lies beyond.
std::uintptr_t live_from(std::uintptr_t frame, std::uintptr_t top) {
  return live_from(reinterpret_cast<const Frame*>(frame), frame - 1, top);
}

std::uintptr_t live_from(const Thread& parked) {
  const auto* at = static_cast<const Frame* const*>(parked.fiber.stack_pointer)[kSavedFrame];
  const std::uintptr_t top = stack_top(parked.number);
  if (at == nullptr) return top;  // it has not begun
  return live_from(at, reinterpret_cast<std::uintptr_t>(parked.fiber.stack_pointer), top);
}

// Who ended the latest frame around an address, as far as that is known.
End frame_end(const Thread& owner, std::uintptr_t address) {
  const auto& [latest, next] = *owner.stack.ended;
  for (std::uint32_t back = 1; back <= latest.size(); ++back) {
    const auto& [below, place] = latest[(next - back) % latest.size()];
    if (address < below) return {owner.number, place};
  }
  return {owner.number, 0};
}

Fault ended_local(const Thread& owner) {
  return {Failure::returned, "uses a thread-local variable of a thread that has ended", "ended", {owner.number, 0}};
}

Fault dead_stack(const Thread& owner, std::uintptr_t address) {
  if (owner.state == State::unborn) return {Failure::crash, "uses memory where nothing lies"};
  const End end = frame_end(owner, address);
  if (owner.stack_over || (owner.exiting && end.place == 0)) return use_of_ended_frame({owner.number, 0});
  return {Failure::returned, "uses a variable of a function that has returned", "returned", end};
}

// A use of memory that is not a variable's, if that memory's time is over.
std::optional<Fault> use_of_dead(const Thread& self, std::uintptr_t address, std::uintptr_t frame) {
  if (const std::uint32_t owner = stack_owner(address); owner < kMaxThreads) {
    if (on_dead_stack(self, address, frame)) return dead_stack(process.threads[owner], address);
  } else if (in_heap(address)) {
    const Block block = memory.block(address);
    if (block.freed) return Fault{Failure::freed, "", "freed it", objects.ended_by[block.end]};
  } else if (const Thread* local = owner_of_local(address); local != nullptr && local->over) {
    return ended_local(*local);
  }
  return std::nullopt;
}

// A use of a cell that has ended while others of its memory are still to end.
std::optional<Fault> use_of_ended(std::uintptr_t address, Tag tag) {
  for (std::uint32_t number = 0; process.ending != 0 && number < process.count; ++number) {
    const Thread& thread = process.threads[number];
    if (!thread.ending.has_ended(address, tag)) continue;
    const End end{number, thread.ending.place};
    if (in_heap(address)) return Fault{Failure::freed, "", "freed it", end};
    return stack_owner(address) < kMaxThreads ? use_of_ended_frame(end) : ended_local(thread);
  }
  return std::nullopt;
}

}  // namespace

Fault use_of_ended_frame(const End& end) {
  if (end.place == 0) return {Failure::returned, "uses the stack of a thread that has ended", "ended", end};
  return {Failure::returned, "uses a variable of a function that has returned", "returned", end};
}

bool on_dead_stack(const Thread& self, std::uintptr_t address, std::uintptr_t frame) {
  const Thread& owner = process.threads[stack_owner(address)];
  if (owner.stack.gone.contains(address)) return true;
  if (&owner == &self) return frame != 0 && address < live_from(frame, stack_top(self.number));
  if (owner.stack_over || owner.state == State::unborn) return true;
  if (owner.stack.parameters->contains(address)) return true;
  return address < (owner.state == State::parked ? live_from(owner) : owner.stack.left_below);
}

bool Process::waits_in_the_dead(const Thread& thread) {
  const Operation& operation = thread.operation;
  if (operation.waiting != Waiting::lock || operation.tag == Tag::futex || memory.in_object(operation.address))
    return false;
  if (process.ending != 0 && use_of_ended(operation.address, operation.tag)) return true;
  const bool parked = &thread != process.current;
  const auto frame = parked ? static_cast<const std::uintptr_t*>(thread.fiber.stack_pointer)[kSavedFrame]
                            : reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return use_of_dead(thread, operation.address, frame).has_value();
}

void use_after_return(Thread& self, std::uintptr_t address, std::uintptr_t place) {
  check_owner(self, address, place, ~std::uintptr_t{0});
  __builtin_unreachable();
}

std::optional<Fault> fault_at_commit(const Thread& self, std::uintptr_t address) {
  std::optional<Fault> use = use_of_ended(address, Tag::byte);
  if (!use) use = use_of_dead(self, address, 0);
  if (use && use->cause.thread == self.number) return std::nullopt;  // its own end comes after its own store
  return use;
}

void check_owner(Thread& self, std::uintptr_t address, std::uintptr_t place, std::uintptr_t frame) {
  const std::optional<Fault> use = use_of_dead(self, address, frame);
  if (!use) return;
  if (use->failure == Failure::returned) watch(kTold);  // so that the frame's end is known the next time
  fail(self, *use, place);
}

void check_ending(Thread& self, std::uintptr_t address, Tag tag, std::uintptr_t place) {
  if (const std::optional<Fault> use = use_of_ended(address, tag)) fail(self, *use, place);
}

void watch_locks(const void* object) {
  if (stack_owner(reinterpret_cast<std::uintptr_t>(object)) < kMaxThreads) watch(kLocks);
}

void touch_grain(std::uint32_t grain) {
  if (grain >= touched.size() || touched.test(grain)) return;
  touched.set(grain);
  lifetimes.touched.push_back(grain);
  const std::uintptr_t begin = kStacks + grain * kGrainSize;
  Span& span = touched_spans[stack_owner(begin)];
  span = {std::min(span.begin, begin), std::max(span.end, begin + kGrainSize)};
  tell_apart(process.threads[stack_owner(begin)]);
  teetotal_frames_watched |= kSharedStacks;
  process.restart = true;
}

void touch_stack(std::uintptr_t address, std::size_t size) {
  for (std::size_t grain = grain_of(address); grain <= grain_of(address + size - 1); ++grain)
    touch_grain(static_cast<std::uint32_t>(grain));
}

bool grains_touched(std::uintptr_t address, std::size_t size) {
  for (std::size_t grain = grain_of(address); grain <= grain_of(address + size - 1) && grain < touched.size(); ++grain)
    if (touched.test(grain)) return true;
  return false;
}

bool outside(Thread& self, std::uintptr_t address, std::uintptr_t place) {
  constexpr std::uintptr_t kStaticBlock = 4096;  // where errno lies
  if (self.fiber.thread_pointer - address < kStaticBlock || imports.variable(address)) return true;
  if (const Thread* owner = owner_of_local(address)) {
    if ((lifetimes.shared_locals & bit_of(owner->number)) == 0) {
      lifetimes.shared_locals |= bit_of(owner->number);
      tell_apart(*owner);
      process.restart = true;
    }
    return false;
  }
  static std::array<std::uintptr_t, 64> known{};  // pages that are none of these
  std::uintptr_t& page = known[address / 4096 % known.size()];
  if (page == address / 4096) return false;
  for (std::uint32_t number = 0; number < process.count; ++number) {
    if (process.threads[number].fiber.thread_pointer - address >= kStaticBlock) continue;
    remarks.unseen.insert({"errno, or another variable of the C library, of another thread", place});
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
    remarks.unseen.insert({"a thread-local variable of a library", place});
  } else {
    page = address / 4096;
  }
  return false;
}

// -- ends as events ---------------------------------------------------------------------------------------------------

namespace {

// Visits the cells and objects that begin in a range, also those that are met meanwhile behind the one at hand.
template <typename Visit>
void each_cell(std::uintptr_t begin, std::uintptr_t end, Visit visit) {
  for (std::uintptr_t next = begin; const auto piece = cells.first_inside(next, end);) {
    next = piece->address + 1;
    visit(piece->address, piece->tag);
  }
  Tag tag{};
  for (std::uintptr_t next = begin; const auto piece = cells.first_object(next, tag, end);) {
    next = piece->address;
    tag = static_cast<Tag>(static_cast<int>(piece->tag) + 1);
    visit(piece->address, piece->tag);
  }
}

}  // namespace

void end_life(Thread& self, std::uintptr_t begin, std::uintptr_t end, Verb verb, std::uintptr_t place,
              std::uintptr_t told_place) {
  bool part = verb == Verb::end_life;  // no loop is cut for it
  self.ending = {.begin = begin, .data = begin, .object = {begin, Tag::byte}, .place = told_place};
  ++process.ending;
  each_cell(begin, end, [&](std::uintptr_t address, Tag tag) {
    self.operation = {.kind = Kind::ld,
                      .writes = Writes::always,
                      .tag = tag,
                      .verb = verb,
                      .part = part,
                      .order = unchecked(Order::na),
                      .address = address,
                      .place = place};
    lifetimes.ends_told = part = true;
    visible(self);
    std::optional<Fault> use = use_of_ended(address, tag);
    if (!use && verb == Verb::free) use = use_of_dead(self, address, 0);
    if (use) fail(self, {use->failure, "frees it again", use->done, use->cause}, place);
    self.ending.data = is_data(tag) ? address + 1 : end;
    if (!is_data(tag)) self.ending.object = {address, tag};
  });
  self.ending = {};
  --process.ending;
}

void end_frames(Thread& self, std::uintptr_t below, std::uintptr_t place) {
  if (process.alone) return;
  std::uintptr_t& learnt = lifetimes.ended_below[self.number];
  learnt = std::max(learnt, below);
  // Without an operation since the latest end nobody can have learnt of a frame that began since.
  const bool just_told = self.operation.verb == Verb::end_life;
  end_life(self, just_told ? self.stack.told_below : stack_top(self.number) - kStackSize, below, Verb::end_life, place,
           place);
  self.stack.told_below = just_told ? std::max(self.stack.told_below, below) : below;
}

void end_all(Thread& self) {
  if (!lifetimes.touched.empty() || lifetimes.shared_stacks != 0 || (teetotal_frames_watched & kLocks) != 0)
    end_frames(self, stack_top(self.number), 0);
  self.stack_over = true;
  if (!process.alone && !self.locals_private) {
    lifetimes.ended_locals |= bit_of(self.number);
    end_life(self, self.tls, self.tls + self.tls_size, Verb::end_life, 0, 0);
  }
  self.over = true;
}

void keep_frames(Thread& self) {
  const auto* here = static_cast<const Frame*>(__builtin_frame_address(0));
  self.stack.left_below = live_from(here, reinterpret_cast<std::uintptr_t>(here) - 1, stack_top(self.number));
}

bool ended_unnoticed(std::uintptr_t address, Tag tag) {
  for (std::uint32_t number = 0; process.ending != 0 && number < process.count; ++number)
    if (process.threads[number].ending.has_ended(address, tag)) return true;
  if (in_heap(address)) return lifetimes.freed.contains(memory.block(address).address);
  if (const std::uint32_t owner = stack_owner(address); owner < kMaxThreads)
    return address < lifetimes.ended_below[owner];
  const Thread* owner = lifetimes.ended_locals == 0 ? nullptr : owner_of_local(address);
  return owner != nullptr && (lifetimes.ended_locals & bit_of(owner->number)) != 0;
}

namespace {

// Below an address there are no dead parameters any more: the frames that kept room for them have ended, too, or the
// next call has been given something there.
void forget_parameters(Thread& self, std::uintptr_t below) {
  if (const auto& [pieces, count] = *self.stack.parameters; count == 0 || pieces[count - 1].begin >= below) return;
  auto& [pieces, count] = self.stack.parameters.change();
  while (count != 0 && pieces[count - 1].end <= below) --count;
  if (count != 0) pieces[count - 1].begin = std::max(pieces[count - 1].begin, below);
}

// Or perhaps by locks that lie there.
bool seen_by_others(const Thread& self, std::uintptr_t begin, std::uintptr_t end) {
  return (teetotal_frames_watched & kLocks) != 0 || touched_by_others(begin, end - begin, self.number);
}

void keep_dead_parameters(Thread& self, std::uintptr_t begin, std::uintptr_t end, std::uintptr_t place) {
  if (self.stack.parameters->count == self.stack.parameters->pieces.size()) {
    remarks.unseen.insert({"the end of parameters on the stack, which more calls have had than we remember,", place});
    return;
  }
  auto& [pieces, count] = self.stack.parameters.change();
  pieces[count++] = {begin, end};
}

// Nothing tells how far they go, but into the caller's frame.
void name_unknown_parameters(std::uintptr_t begin, std::uintptr_t frame, std::uintptr_t place) {
  const Thread* self = process.current;
  if (self != nullptr && stack_owner(begin) == self->number && begin < frame && seen_by_others(*self, begin, frame))
    remarks.unseen.insert({"the end of parameters on the stack, of which debugging information does not tell,", place});
}

constexpr std::uint64_t kCell = std::uint64_t{1} << 32;  // beyond all grains
constexpr std::uint64_t kTags = 16;
}  // namespace

std::vector<std::uint64_t> ended_cells() {
  std::vector<std::uint64_t> result;
  for (std::uint32_t thread = 0; thread < kMaxThreads; ++thread)
    each_cell(stack_top(thread) - kStackSize, lifetimes.ended_below[thread], [&](std::uintptr_t address, Tag tag) {
      result.push_back(kCell + (address - kStacks) * kTags + static_cast<std::uint64_t>(tag));
    });
  return result;
}

bool know_ended_cell(std::uint64_t told) {
  if (told < kCell) return false;
  cells.number(kStacks + (told - kCell) / kTags, static_cast<Tag>(told % kTags));
  return true;
}

}  // namespace teetotal::runtime

using namespace teetotal::runtime;  // NOLINT: the hook below is the whole rest of the file

extern "C" {

// All of the running thread's stack below an address is dead. From `parameters` on that is what a function which is
// about to return was given, which may lie in the frame of its caller.
static void ended(std::uintptr_t below, std::uintptr_t parameters, std::uintptr_t place) {
  Thread* self = process.current;
  if (self == nullptr || stack_owner(below) != self->number) return;  // a stack that the program made itself
  if (self->range.size != 0) {
    settle_before_end(*self, below);
    self->stack.told_below = 0;
  }
  const Operation& operation = self->operation;
  const auto dead = [&](std::uintptr_t address) { return stack_owner(address) == self->number && address < below; };
  if (rules.buffered && self->stack.dead_below <= operation.address && dead(operation.address) &&
      operation.kind == teetotal::Kind::st)
    self->stack.last_stored = seen_by(operation);
  self->stack.dead_below = std::max(self->stack.dead_below, below);
  if (const auto& [latest, next] = *self->stack.ended; latest[(next - 1) % latest.size()] != std::pair{below, place}) {
    EndedFrames& ended = self->stack.ended.change();
    ended.latest[ended.next++ % ended.latest.size()] = {below, place};
  }
  forget_parameters(*self, below);
  if (parameters < below && seen_by_others(*self, parameters, below) &&
      memory.in_object(*reinterpret_cast<const std::uintptr_t*>(parameters - kReturnAddress)))
    keep_dead_parameters(*self, parameters, below, place);
  end_frames(*self, below, place);
  check_unused(*self, stack_top(self->number) - kStackSize, below, "leaves a function with a variable", place);
}

void teetotal_frame_ended(std::uintptr_t below, std::uintptr_t place) { ended(below, below, place); }

void teetotal_parameter_area_begun(std::uintptr_t end) {
  if (Thread* self = process.current; self != nullptr && stack_owner(end) == self->number)
    forget_parameters(*self, end);
}
void teetotal_parameter_area_ended(std::uintptr_t below, std::uintptr_t parameters, std::uintptr_t place) {
  ended(below, parameters, place);
}

// Above the address: how large the parameters of the running function are, the address it returns to, and they
// themselves. Below it the hook's frame, with the caller's rbp.
void teetotal_parameters_ended(const std::uintptr_t* size, std::uintptr_t place) {
  const auto begin = reinterpret_cast<std::uintptr_t>(size + 2);
  if (*size == 0) name_unknown_parameters(begin, size[-2], place);
  ended(begin + *size, begin, place);
}

// The same behind the prologue, where the caller's rbp lies before the return address.
void teetotal_parameters_begun(const std::uintptr_t* size, std::uintptr_t) {
  const auto begin = reinterpret_cast<std::uintptr_t>(size + 3);
  if (Thread* self = process.current; self != nullptr && stack_owner(begin) == self->number)
    forget_parameters(*self, *size == 0 ? std::max(begin, size[1]) : begin + *size);
}

void teetotal_frame_ends();
void teetotal_wide_frame_ends();
void teetotal_parameters_end();
void teetotal_parameters_begin();
}

// All keep every register and flag, the first but those of vectors and of the x87 (and none what only vectors of 512
// bits have). They lay a frame, for those who follow these.
asm(R"(
.macro teetotal_hook name, function, wide
.globl \name
.type \name, @function
\name:
  pushq %rcx
  movzbl teetotal_frames_watched(%rip), %ecx
  jrcxz 1f
  popq %rcx
  pushq %rbp
  movq %rsp, %rbp
  pushfq
  pushq %rax
  pushq %rcx
  pushq %rdx
  pushq %rsi
  pushq %rdi
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  cld
.if \wide
  subq $896, %rsp
  andq $-64, %rsp
  xorl %eax, %eax
  leaq 512(%rsp), %rdi
  movl $8, %ecx
  rep stosq
  movl $7, %eax
  xorl %edx, %edx
  xsave64 (%rsp)
  emms
.else
  andq $-16, %rsp
.endif
  leaq 16(%rbp), %rdi
  movq 8(%rbp), %rsi
  call \function
.if \wide
  movl $7, %eax
  xorl %edx, %edx
  xrstor64 (%rsp)
.endif
  leaq -80(%rbp), %rsp
  popq %r11
  popq %r10
  popq %r9
  popq %r8
  popq %rdi
  popq %rsi
  popq %rdx
  popq %rcx
  popq %rax
  popfq
  popq %rbp
  ret
1:
  popq %rcx
  ret
.size \name, .-\name
.endm
.text
teetotal_hook teetotal_frame_ends, teetotal_frame_ended, 0
teetotal_hook teetotal_wide_frame_ends, teetotal_frame_ended, 1
teetotal_hook teetotal_parameters_end, teetotal_parameters_ended, 1
teetotal_hook teetotal_parameters_begin, teetotal_parameters_begun, 1
.purgem teetotal_hook
)");
