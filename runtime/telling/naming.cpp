#include "naming.hpp"

#include <algorithm>
#include <span>

namespace teetotal::runtime {

namespace {

// What frame pointers lead through.
struct Link {
  const Link* caller;
  std::uintptr_t returns_to;
};

const Link* innermost(const Thread& thread) {
  return static_cast<const Link* const*>(thread.fiber.stack_pointer)[kSavedFrame];
}

Frame frame_around(std::uintptr_t address, const Thread& owner) {
  if (owner.state != State::parked) return {};
  const std::uintptr_t top = stack_top(owner.number);
  const auto inside = [&](const Link* link) {
    const auto at = reinterpret_cast<std::uintptr_t>(link);
    return at % sizeof(void*) == 0 && at >= top - kStackSize && at < top - sizeof(Link);
  };
  const Link* link = innermost(owner);
  while (inside(link) && inside(link->caller) && link->caller > link) {
    const auto base = reinterpret_cast<std::uintptr_t>(link->caller);
    if (address < base)
      return memory.in_object(link->returns_to) ? Frame{link->returns_to, base + sizeof(Link)} : Frame{};
    link = link->caller;
  }
  return {};
}

bool on_stack(const Operation& operation) {
  return !is_fence(operation.kind) && operation.tag != Tag::thread && stack_owner(operation.address) < kMaxThreads;
}

}  // namespace

void note_frame(Frames& frames, const Operation& operation) {
  if (!on_stack(operation) || frames.contains(operation.cell)) return;
  const Frame frame = frame_around(operation.address, process.threads[stack_owner(operation.address)]);
  if (frame.place != 0) frames[operation.cell] = frame;
}

Frames frames_of(Controlled& system, std::size_t end) {
  Frames frames;
  const auto standing = [](const Thread& thread) {
    return thread.state == State::parked && on_stack(thread.operation);
  };
  const auto touching = [](const Step& step) { return on_stack(step.operation); };
  if (std::ranges::none_of(std::span(system.steps()).first(end), touching) &&
      std::ranges::none_of(std::span(process.threads).first(process.count), standing))
    return frames;
  try {
    system.run_through([&](const Step& step) {
      if (!step.commit) note_frame(frames, step.operation);
    });
    for (const Thread& thread : std::span(process.threads).first(process.count))
      if (thread.state == State::parked) note_frame(frames, thread.operation);
  } catch (const Nondeterministic&) {
  } catch (const Restart&) {
  }
  return frames;
}

}  // namespace teetotal::runtime
