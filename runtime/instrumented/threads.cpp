// Threads and futures of the C++ library: the functions that touch their objects beside what they call of <pthread.h>,
// and what is put off until a thread ends, which the library keeps in a list of the thread's own.
#include <cerrno>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

// Puts an element in front of the running thread's list, and gives the one that was there: hooks_threads.cpp.
extern "C" void* teetotal_at_thread_exit(void (*run)(void*), void* element);

namespace std {
namespace {

void run(void* first) {
  for (auto* at = static_cast<__at_thread_exit_elt*>(first); at != nullptr;) {
    __at_thread_exit_elt* const next = at->_M_next;
    at->_M_cb(at);
    at = next;
  }
}

void at_thread_exit(__at_thread_exit_elt* element) {
  element->_M_next = static_cast<__at_thread_exit_elt*>(teetotal_at_thread_exit(run, element));
}

struct Notification final : __at_thread_exit_elt {
  condition_variable* condition;
  mutex* held;

  static void send(void* element) {
    const unique_ptr<Notification> self(static_cast<Notification*>(element));
    self->held->unlock();
    self->condition->notify_all();
  }
};

}  // namespace

void notify_all_at_thread_exit(condition_variable& condition, unique_lock<mutex> lock) {
  auto* notification = new Notification;
  notification->condition = &condition;
  notification->held = lock.release();
  notification->_M_cb = Notification::send;
  at_thread_exit(notification);
}

void __future_base::_State_baseV2::_Make_ready::_S_run(void* element) {
  const unique_ptr<_Make_ready> self(static_cast<_Make_ready*>(element));
  if (const auto state = self->_M_shared_state.lock())
    state->_M_status._M_store_notify_all(_Status::__ready, memory_order_release);
}

void __future_base::_State_baseV2::_Make_ready::_M_set() {
  _M_cb = _S_run;
  at_thread_exit(this);
}

void thread::join() {
  const int error = _M_id != id() ? __gthread_join(_M_id._M_thread, nullptr) : EINVAL;
  if (error != 0) __throw_system_error(error);
  _M_id = id();
}

void thread::detach() {
  const int error = _M_id != id() ? __gthread_detach(_M_id._M_thread) : EINVAL;
  if (error != 0) __throw_system_error(error);
  _M_id = id();
}

__future_base::_Result_base::_Result_base() = default;
__future_base::_Result_base::~_Result_base() = default;

}  // namespace std
