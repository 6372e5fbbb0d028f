// Local states of threads, each computed once: the `next` and `update` of Burnim, Sen, Stergiou (TACAS 2011), 2.1.
//
//   paper                here
//   s_0(p)               Locals::start(p)
//   next(p, σ)           Locals::at(p, σ): what is asked of memory
//   update(p, σ, v)      Locals::update(p, σ, v)
//
// A state stands just before a memory instruction or where the thread stops; what lies between is run at once, since
// nobody else can see it. States are numbered per thread, so engines store and compare numbers, not registers.
#pragma once

#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "liveness.hpp"
#include "program.hpp"

namespace teetotal {

// teetotal.programs.program.Status
enum class Status : std::uint8_t { running, ended, failed, blocked, cut, wild };

using LocalId = std::uint32_t;

constexpr std::size_t kFewResponses = 16;  // of one local state, that are looked through one by one

struct Local {
  Status status = Status::running;
  Kind kind = Kind::ld;
  Order order = Order::na, failure = Order::na;
  std::uint32_t address = 0;  // number of the location
  Value value = 0;            // of a store
  std::uint32_t pc = 0;
  std::uint32_t jumps = 0;
  LocalId twin = 0;       // the first state that differs from this one in `jumps` alone: the same place in a loop
  LocalId standing = 0;   // the first that differs in `jumps` and dead registers alone: it does the same for ever
  bool may_wait = false;  // Place::may_wait
};

class Locals {
 public:
  explicit Locals(const Program& program);

  const Program& program() const { return program_; }
  std::uint32_t threads() const { return static_cast<std::uint32_t>(program_.threads.size()); }
  LocalId start(std::uint32_t thread) const { return start_[thread]; }
  const Local& at(std::uint32_t thread, LocalId id) const { return tables_[thread].states[id]; }
  std::span<const Value> registers(std::uint32_t thread, LocalId id) const;

  LocalId update(std::uint32_t thread, LocalId id, Value response);

  // The places of a thread's code.
  const std::vector<Place>& places(std::uint32_t thread) const { return tables_[thread].places; }

  // What an rmw in this state writes if it reads `old`; nothing where its condition is 0.
  std::optional<Value> rmw(std::uint32_t thread, LocalId id, Value old) const;

  // What all this takes, about.
  std::size_t bytes() const;

  // By thread and instruction: the assertions that were evaluated. What never was, proves nothing.
  const std::set<std::pair<std::uint32_t, std::uint32_t>>& evaluated() const { return evaluated_; }

 private:
  struct Table {
    std::vector<Local> states;
    std::vector<Value> registers;                                    // of all states, one after the other
    std::vector<std::vector<std::pair<Value, LocalId>>> successors;  // by response: the first few, which are all mostly
    std::map<std::pair<LocalId, Value>, LocalId> further;         // the others: a counter has as many as it has values
    std::unordered_multimap<std::uint64_t, LocalId> by_hash;      // of everything but `jumps`
    std::unordered_multimap<std::uint64_t, LocalId> by_standing;  // the first of each: of place and live registers
    std::vector<Place> places;
  };

  LocalId settle(std::uint32_t thread, std::uint32_t pc, std::uint32_t jumps, std::vector<Value> registers);
  LocalId intern(std::uint32_t thread, Local local, const std::vector<Value>& registers);
  LocalId standing(std::uint32_t thread, const Local& local, LocalId id, const std::vector<Value>& registers);

  const Program& program_;
  std::vector<Table> tables_;
  std::vector<LocalId> start_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> evaluated_;
};

}  // namespace teetotal
