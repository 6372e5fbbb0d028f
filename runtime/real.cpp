#include "real.hpp"

#include <dlfcn.h>

namespace teetotal::runtime {

namespace {

template <typename Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

Real find_all() {
  Real found{};
  find(found.thread_create, "pthread_create");
  find(found.thread_self, "pthread_self");
  find(found.getattr, "pthread_getattr_np");
  find(found.attr_getstacksize, "pthread_attr_getstacksize");
  find(found.mutex_lock, "pthread_mutex_lock");
  find(found.mutex_unlock, "pthread_mutex_unlock");
  find(found.once, "pthread_once");
  find(found.getspecific, "pthread_getspecific");
  find(found.setspecific, "pthread_setspecific");
  find(found.key_create, "pthread_key_create");
  find(found.clock_gettime, "clock_gettime");
  find(found.sysconf, "sysconf");
  find(found.sigaction, "sigaction");
  find(found.signal, "signal");
  find(found.thread_sigmask, "pthread_sigmask");
  find(found.longjmp, "siglongjmp");
  find(found.setlocale, "setlocale");
  find(found.uselocale, "uselocale");
  find(found.set_terminate, "_ZSt13set_terminatePFvvE");
  find(found.set_new_handler, "_ZSt15set_new_handlerPFvvE");
  return found;
}

}  // namespace

const Real& real() {
  static const Real found = find_all();
  return found;
}

}  // namespace teetotal::runtime
