// Threads and futures of the C++ library: the functions that touch their objects beside what they call of <pthread.h>.
#include <cerrno>
#include <future>
#include <system_error>
#include <thread>

namespace std {

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
