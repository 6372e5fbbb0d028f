// The C library's own functions behind those that the runtime defines itself.
#pragma once

#include <locale.h>
#include <pthread.h>
#include <setjmp.h>

#include <csignal>
#include <ctime>
#include <exception>
#include <new>

namespace teetotal::runtime {

struct Real {
  int (*thread_create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  pthread_t (*thread_self)();
  int (*getattr)(pthread_t, pthread_attr_t*);
  int (*attr_getstacksize)(const pthread_attr_t*, std::size_t*);
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
  char* (*setlocale)(int, const char*);
  locale_t (*uselocale)(locale_t);
  std::terminate_handler (*set_terminate)(std::terminate_handler);
  std::new_handler (*set_new_handler)(std::new_handler);
};

const Real& real();

}  // namespace teetotal::runtime
