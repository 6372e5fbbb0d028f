// A use of memory after its end that finds something else there: a later frame of the same stack.
//
// Where a frame lies in which another one lay, who looks there may have been told of the new one, or may still go by an
// address of the old one. The owner can have told nobody of the new frame before the end of the old one, which is an
// event (lifetimes.hpp). So whoever was told of it comes after that event by way of other memory. A thread that comes
// after it by way of the cell itself alone uses the old frame: it fails before it does any harm. Both orders of such a
// use and the end are explored, since they conflict. Where something is not seen, nothing is known about who told whom.
#include "lifetimes.hpp"
#include "survival.hpp"
#include "system.hpp"

namespace teetotal::runtime {

void Controlled::uses_after(std::uint32_t thread, std::size_t end) {
  const Operation& ended = steps_[end].operation;
  const Verb verb = process.threads[thread].operation.verb;
  if (ended.verb != Verb::end_life || verb == Verb::end_life || verb == Verb::initialise) return;
  if (stack_owner(ended.address) < kMaxThreads && remarks.unseen.empty()) late_ = static_cast<std::int32_t>(end);
}

// The thread fails where it stands.
void Controlled::fail_instead(Thread& thread, std::size_t index) const {
  const Step& step = steps_[index];
  Fault fault{.failure = survival.failure(), .message = survival.message()};
  if (step.late >= 0) {
    const Step& end = steps_[static_cast<std::size_t>(step.late)];
    fault = use_of_ended_frame({end.thread, end.operation.told_place()});
  }
  thread.failure = fault.failure;
  thread.message = fault.message;
  thread.done = fault.done;
  thread.cause = fault.cause;
  thread.failed_at = thread.operation.told_place();
  thread.state = State::stopped;
  thread.failed_step = static_cast<std::int32_t>(index);
}

}  // namespace teetotal::runtime
