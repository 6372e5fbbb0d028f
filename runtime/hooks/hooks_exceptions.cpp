// Exceptions that several hold, by std::exception_ptr: whoever lets go last destroys what was thrown.
//
// The C++ library counts the holders with locked instructions, which nobody instruments. To let go is a step here, a
// read-modify-write of that count, where a destructor of the program's may be run: then it matters who is last, and
// what the others did before comes before the destructor. To hold on to it commutes with all that others do.
//
// What lies before an exception is laid out as the Itanium C++ ABI says, in libstdc++'s version (unwind-cxx.h). Headers
// do not have it, so it is tried on exceptions of our own before the program runs; where it is another, exceptions are
// named.
#include <cxxabi.h>
#include <unwind.h>

#include <cstring>
#include <exception>
#include <typeinfo>

#include "accesses.hpp"
#include "exceptions.hpp"
#include "imports.hpp"
#include "process.hpp"

namespace teetotal::runtime {
namespace {

struct Thrown {
  int holders;
  alignas(16) const void* type;  // of a dependent exception: what was thrown first
  void (*destroy)(void*);
  void* handlers[2];
  Thrown* next;
  int catches;
  alignas(8) std::uint64_t catching[4];
  alignas(16) _Unwind_Exception unwinding;
};
static_assert(sizeof(Thrown) == 128 && offsetof(Thrown, type) == 16 && offsetof(Thrown, unwinding) == 96);

// A pointer of the library's, which is to the part that the ABI knows of.
const Thrown* whole(const void* known) {
  return reinterpret_cast<const Thrown*>(static_cast<const std::byte*>(known) - offsetof(Thrown, type));
}

struct Caught {
  void* latest;
};
const Thrown* latest_caught() {
  void* known = reinterpret_cast<const Caught*>(abi::__cxa_get_globals())->latest;
  return known == nullptr ? nullptr : whole(known);
}

constexpr std::uint64_t kOwn = 0x47'4e'55'43'43'2b'2b'00, kDependent = kOwn + 1;  // GNUCC++

constexpr int kWhat = 2;  // among a std::exception's virtual functions: after two destructors

// The header of what an exception_ptr holds.
const Thrown* held(const std::exception_ptr& pointer) {
  const Thrown* after = nullptr;
  std::memcpy(&after, &pointer, sizeof after);
  return after - 1;
}

bool catches_as_expected(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (int) {
    const Thrown* here = latest_caught();
    if (here == nullptr || here->unwinding.exception_class != kDependent || here->catches != 1 ||
        static_cast<const Thrown*>(here->type) - 1 != held(thrown))
      return false;
  }
  try {
    throw 1;
  } catch (int) {
    const Thrown* here = latest_caught();
    return here != nullptr && here->unwinding.exception_class == kOwn && here->catches == 1 &&
           here->type == &typeid(int) && here->holders == 1;
  }
  return false;
}

bool laid_out_as_expected() {
  static_assert(sizeof(std::exception_ptr) == sizeof(void*));
  const std::exception_ptr one = std::make_exception_ptr(1);
  const Thrown* thrown = held(one);
  if (thrown->unwinding.exception_class != kOwn || thrown->type != &typeid(int) || thrown->holders != 1) return false;
  {
    const std::exception_ptr other = one;
    if (thrown->holders != 2) return false;
  }
  const std::exception plain;
  const auto* functions = *reinterpret_cast<const void* const* const*>(&plain);
  const char* (std::exception::*what)() const noexcept = &std::exception::what;
  std::uintptr_t entry = 0;
  std::memcpy(&entry, &what, sizeof entry);  // of a virtual function: where it stands in the table, and one
  return functions[kWhat] != nullptr && entry == kWhat * sizeof(void*) + 1 && catches_as_expected(one);
}

// Whether that is so here. The first answer is asked for before the program runs.
bool known_layout() {
  static const bool known = laid_out_as_expected();
  return known;
}

bool named_instead(std::uintptr_t place) {
  if (known_layout()) return false;
  unseen_call("an exception, which this C++ library lays out in its own way", place);
  return true;
}

void lets_go(const Thrown* thrown, std::uintptr_t place) {
  Thread* self = process.current;
  if (self == nullptr || !memory.in_object(reinterpret_cast<std::uintptr_t>(thrown->destroy))) return;
  operate(*self, Kind::rmw, Writes::always, reinterpret_cast<std::uintptr_t>(&thrown->holders), Tag::word, place, 0,
          false, false, false, unchecked(Order::acq_rel));
}

}  // namespace

void try_exceptions() { known_layout(); }

bool is_thrown(std::uintptr_t object) {
  if (!known_layout()) return false;
  const std::uintptr_t before = object - sizeof(Thrown);
  return object % alignof(Thrown) == 0 && in_heap(before) &&
         reinterpret_cast<const Thrown*>(before)->unwinding.exception_class == kOwn;
}

// What the exception says of itself, but where that is a function of the program's: none is run any more.
std::string said_by(const std::exception& error) {
  const auto* functions = *reinterpret_cast<const std::uintptr_t* const*>(&error);
  return memory.in_object(functions[kWhat]) ? std::string() : error.what();
}

Aborting aborting_at(std::uintptr_t place) {
  if (memory.in_object(place)) return {"", place};
  struct Frames {
    std::uintptr_t place, called = 0;  // in the program, and in what that calls
  } frames{place};
  const auto go_up = [](_Unwind_Context* frame, void* found) {
    auto& known = *static_cast<Frames*>(found);
    const std::uintptr_t at = _Unwind_GetIP(frame);
    constexpr int kFramePointer = 6;
    const auto pointer = static_cast<std::uintptr_t>(_Unwind_GetGR(frame, kFramePointer));
    if (memory.in_object(at)) {
      known.place = callers.teller(at, reinterpret_cast<const void*>(pointer));
      return _URC_END_OF_STACK;
    }
    known.called = at;
    return _URC_NO_REASON;
  };
  _Unwind_Backtrace(go_up, &frames);  // no frame has been left where nobody catches an exception
  const void* called = _Unwind_FindEnclosingFunction(reinterpret_cast<void*>(frames.called - 1));
  if (called == reinterpret_cast<const void*>(&std::terminate)) return {"std::terminate is called", frames.place};
  if (called == reinterpret_cast<const void*>(&abi::__cxa_pure_virtual))
    return {"a pure virtual function is called", frames.place};
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return {"", frames.place};
  std::string why = "nobody catches " + demangled(type->name());
  try {
    throw;
  } catch (const std::exception& error) {
    if (const std::string said = said_by(error); !said.empty()) why += " (" + said + ")";
  } catch (...) {
  }
  return {why, frames.place};
}

extern "C" {

// The library says whose exception it is when that is thrown. It is said here before anything is put there.
void* teetotal___cxa_allocate_exception(std::size_t size) {
  void* object = abi::__cxa_allocate_exception(size);
  if (named_instead(TEETOTAL_PLACE)) return object;
  (static_cast<Thrown*>(object) - 1)->unwinding.exception_class = kOwn;
  return object;
}

void real_release(void**) asm("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
void release(void**) asm("teetotal__ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
void release(void** pointer) {
  if (*pointer != nullptr && !named_instead(TEETOTAL_PLACE))
    lets_go(static_cast<const Thrown*>(*pointer) - 1, TEETOTAL_PLACE);
  real_release(pointer);
}

void teetotal___cxa_end_catch() {
  if (const Thrown* thrown = named_instead(TEETOTAL_PLACE) ? nullptr : latest_caught(); thrown != nullptr) {
    const std::uint64_t kind = thrown->unwinding.exception_class;
    if (kind == kDependent && thrown->catches == 1)
      lets_go(static_cast<const Thrown*>(thrown->type) - 1, TEETOTAL_PLACE);
    if (kind == kOwn && thrown->catches == 1) lets_go(thrown, TEETOTAL_PLACE);
  }
  abi::__cxa_end_catch();
}
}

}  // namespace teetotal::runtime
