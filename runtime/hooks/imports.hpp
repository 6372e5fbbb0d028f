// What the program imports: functions and variables of libraries, which no hook of the compiler follows.
//
// One table, runtime/hooks/imports.txt, says what each function does to memory. When the program is loaded,
// its references to imported functions (the relocations of its object: calls, and addresses that are taken) are bound
// anew by that table: to the library itself where it does nothing that matters, to a function of ours, or to a stub
// that looks at the call first. What is in no table is run all the same, and named: the answer cannot be a proof then.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "process.hpp"

namespace teetotal::runtime {

struct Thread;

enum class Effect : std::uint8_t {
  unknown,    // in no table, or of the outside world: run, and named
  none,       // nothing that others can see
  modelled,   // the hook under its own name does it
  replaced,   // teetotal_NAME here, or NAME in the instrumented library
  arguments,  // touches what some of its arguments point to: named unless that is the thread's own
  state,      // keeps something of its own that is put back: named beside other threads
  keeps,      // the same at any time from then on: named if that is the program's
  refused,    // stops the search
  constant,   // a variable that keeps its value
};

class Imports {
 public:
  // Throws std::runtime_error.
  void read(const std::string& table, const std::string& instrumented);

  // Binds what the object around an address imports. Before any of it runs.
  void bind(const void* inside);

  // What to jump to when a stub is called.
  void* called(std::uint32_t stub, const std::uintptr_t* arguments, std::uintptr_t place);

  // Names what a library does to an object, unless nobody else can see it.
  void leave_to_library(const void* object, const char* what, std::uintptr_t place) const;

  // Whether an address is the library's own. A variable that may change is named.
  bool variable(std::uintptr_t address);

  bool read_only(std::uintptr_t address) const {
    for (const Range& range : read_only_)
      if (address - range.begin < range.end - range.begin) return true;
    return false;
  }

 private:
  struct Range {
    std::uintptr_t begin = 0, end = 0;
  };
  struct Entry {
    Effect effect = Effect::unknown;
    std::uint32_t arguments = 0;  // a bit for each that is looked at
    bool changes = false;         // what others may ask the standard streams for
    bool thrown = false;          // the first may be what is thrown, which is the library's affair
    std::string by;               // what replaces it, if that is not of its name
  };
  struct Stub {
    std::string name;
    Entry entry;
    void* target = nullptr;
  };
  struct Constant {
    Range range;
    std::string value;
  };

  Entry entry(const std::string& name) const;
  void* bound(const std::string& name, void* target);
  void* replacement(const std::string& name) const;
  void* stub(Stub what);
  void bind_object(const void* inside);
  std::string described(const Stub& stub) const;
  bool called_by_ours(const void* frame) const;
  bool gets_memory(const Stub& stub, const std::uintptr_t* arguments) const;
  bool touches_shared(Thread& self, const Stub& stub, const std::uintptr_t* arguments, std::uintptr_t place) const;

  std::map<std::string, Entry, std::less<>> table_;
  std::map<std::string, std::string, std::less<>> variants_;  // names that the C library gives its functions
  std::vector<std::pair<std::string, Entry>> prefixes_;
  std::map<std::pair<std::string, void*>, void*> made_;
  std::vector<Stub> stubs_;
  std::vector<Constant> constants_;
  std::vector<Range> read_only_;  // of the program
  Range streams_;                 // the C++ library, where the standard streams lie
  std::uintptr_t input_ = 0;      // std::cin
  std::vector<Range> fixed_;      // of both libraries: what they cannot change, vtables among it
  Range own_;                     // the instrumented library
  void* instrumented_ = nullptr;
  std::uint8_t* code_ = nullptr;
};

extern Imports imports;

// What a call of the program does that nobody sees: named, and no reason to take a loop for one that only waits.
void unseen_call(const std::string& what, std::uintptr_t place);

// A name of the linker's, as it is written in C++.
std::string demangled(const std::string& name);

// What a call sets, or asks for, that is no memory: named where another thread sets it too, or asks for what is set.
void unordered_call(Users& users, bool sets, const char* what, std::uintptr_t place);

// The same, of what anybody may ask for at any time: named beside other threads.
void unordered_call(const char* what, std::uintptr_t place);

}  // namespace teetotal::runtime
