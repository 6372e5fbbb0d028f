// The function that ours stands before.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace teetotal::native {

template <typename Function>
class Real {
 public:
  // `meanwhile`: for calls that come while it is looked for.
  constexpr explicit Real(const char* name, Function* meanwhile = nullptr, const char* version = nullptr)
      : name_(name), version_(version), meanwhile_(meanwhile) {}

  template <typename... Arguments>
  auto operator()(Arguments... arguments) {
    Function* function = function_.load(std::memory_order_relaxed);
    if (function == nullptr) [[unlikely]] {
      if (looking_ && meanwhile_ != nullptr) return meanwhile_(arguments...);
      looking_ = true;
      void* found = version_ == nullptr ? dlsym(RTLD_NEXT, name_) : dlvsym(RTLD_NEXT, name_, version_);
      function = reinterpret_cast<Function*>(found);
      function_.store(function, std::memory_order_relaxed);
    }
    return function(arguments...);
  }

 private:
  const char* name_;
  const char* version_;
  Function* meanwhile_;
  std::atomic<Function*> function_ = nullptr;
  bool looking_ = false;
};

}  // namespace teetotal::native
