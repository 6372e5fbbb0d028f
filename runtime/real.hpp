// The C library's own functions behind those that the runtime defines itself.
#pragma once

#include <pthread.h>
#include <setjmp.h>

#include <csignal>
#include <ctime>

namespace teetotal::runtime {

struct Real {
  int (*thread_create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  pthread_t (*thread_self)();
  int (*mutex_lock)(pthread_mutex_t*);
  int (*mutex_unlock)(pthread_mutex_t*);
  int (*once)(pthread_once_t*, void (*)());
  void* (*getspecific)(pthread_key_t);
  int (*setspecific)(pthread_key_t, const void*);
  int (*key_create)(pthread_key_t*, void (*)(void*));
  int (*clock_gettime)(clockid_t, timespec*);
  long (*sysconf)(int);
  int (*sigaction)(int, const struct sigaction*, struct sigaction*);
  void (*(*signal)(int, void (*)(int)))(int);
  int (*thread_sigmask)(int, const sigset_t*, sigset_t*);
  void (*longjmp)(__jmp_buf_tag*, int);
};

const Real& real();

}  // namespace teetotal::runtime
