#include "snapshots.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace teetotal::runtime {

namespace {

constexpr std::size_t kLargest = std::size_t{1} << 16;
constexpr std::size_t kBytesPerStep = 512;  // to copy as much costs about as much as a step that is run again

}  // namespace

bool Snapshots::safe() {
  if (Snapshots::interval == 0 || !memory.copyable()) return false;
  return std::ranges::all_of(std::span(process.threads).first(process.count), [](const Thread& thread) {
    return thread.specific.empty() && thread.failure == Failure::none;
  });
}

bool Snapshots::take(std::size_t steps) {
  if (!safe()) {
    due_ = steps + std::max<std::size_t>(1, Snapshots::interval);
    return false;
  }
  if (kept_.size() == depth_) kept_.emplace_back();
  Snapshot& snapshot = kept_[depth_];
  snapshot.regions.clear();
  memory.written(snapshot.regions, process.count);
  for (std::uint32_t number = 0; number < process.count; ++number) {
    const Thread& thread = process.threads[number];
    if (thread.state == State::unborn) continue;
    const std::uintptr_t low = used_stack(thread);
    snapshot.regions.push_back({low, stack_top(number) - low});
    if (thread.tls != 0) snapshot.regions.push_back({thread.tls, thread.tls_size});
    if (thread.error != nullptr)
      snapshot.regions.push_back({reinterpret_cast<std::uintptr_t>(thread.error), sizeof(int)});
  }
  std::size_t size = 0;
  for (const Region& region : snapshot.regions) size += region.size;
  pause_ = std::max(Snapshots::interval, size / kBytesPerStep);
  due_ = steps + pause_;
  if (size > kLargest) return false;
  snapshot.bytes.resize(size);
  std::byte* to = snapshot.bytes.data();
  for (const Region& region : snapshot.regions) {
    std::memcpy(to, reinterpret_cast<const void*>(region.begin), region.size);
    to += region.size;
  }
  snapshot.steps = steps;
  snapshot.outside = libraries.changes;
  snapshot.records.take();
  snapshot.threads.resize(process.count);
  for (std::uint32_t number = 0; number < process.count; ++number) {
    KeptThread& kept = snapshot.threads[number];
    static_cast<ThreadRecord&>(kept) = process.threads[number];
    if (kept.exceptions != nullptr) std::memcpy(kept.caught.data(), kept.exceptions, kExceptionWords);
  }
  snapshot.used = memory.used();
  ++depth_;
  return true;
}

bool Snapshots::restore(std::size_t steps) {
  while (depth_ > 0 && (kept_[depth_ - 1].steps > steps || kept_[depth_ - 1].outside != libraries.changes)) --depth_;
  due_ = this->steps() + pause_;
  if (depth_ == 0) return false;
  const Snapshot& snapshot = kept_[depth_ - 1];
  memory.shrink(snapshot.used, process.count);
  for (std::uint32_t number = 0; number < process.count; ++number) {
    Thread& thread = process.threads[number];
    if (number >= snapshot.threads.size() || snapshot.threads[number].state == State::unborn) {
      if (thread.state != State::unborn) process.clear(thread);
      continue;
    }
    const std::uintptr_t now = used_stack(thread), then = used_stack(snapshot.threads[number]);
    if (now < then) std::memset(reinterpret_cast<void*>(now), 0, then - now);
    const KeptThread& kept = snapshot.threads[number];
    if (kept.exceptions != nullptr) {
      std::memcpy(kept.exceptions, kept.caught.data(), kExceptionWords);
    } else {
      Process::clear_locals(thread);  // it had not begun
    }
    static_cast<ThreadRecord&>(thread) = kept;
    thread.forget_words();
  }
  snapshot.records.put_back();
  const std::byte* from = snapshot.bytes.data();
  for (const Region& region : snapshot.regions) {
    std::memcpy(reinterpret_cast<void*>(region.begin), from, region.size);
    from += region.size;
  }
  return true;
}

}  // namespace teetotal::runtime
