// The last part of an attack: from ld_A, a visible access of the attacker, by conflicts to the location of st_A.
//
// Marked accesses are those that happen after ld_A; an access that conflicts with a marked one before it is marked, and
// so is what its process does next. The cycle closes when a marked access of a helper touches the location of st_A.
// Only what happens after ld_A takes steps here: whatever else the run needs can be done before ld_A. So a helper whose
// place does not matter yet stays a set of places ("waiting"), until one of them takes a step that is after ld_A. The
// attacker stops: a later visible access of its would do as ld_A.
// Ghost variables order steps but make no events: they make a step `after` (it could not be done earlier), not `marked`
// (it is part of no cycle). Where there are any, the attacker may be needed to go on.
#pragma once

#include <unordered_map>
#include <vector>

#include "symbolic/attack.hpp"

namespace teetotal::symbolic {

// Who can be where before ld_A.
struct Scene {
  Memory memory;
  Process attacker = 0;
  Location victim = 0;                // of st_A
  std::vector<std::uint32_t> places;  // by process, numbers of sets of control states; that of the attacker is unused
};

class Chase {
 public:
  // One step of a chase, and of which control state.
  struct Taken {
    Process process;
    Control from;
    std::vector<Step> steps;
  };

  Chase(Graph& graph, AttackSteps& steps, const Numbered<std::vector<std::uint32_t>>& sets, Progress* progress)
      : graph_(graph), steps_(steps), sets_(sets), progress_(progress) {}

  // Whether a cycle closes if the attacker, at `from`, takes any visible step in the scene. Scenes that were chased
  // before are not chased again.
  bool closes(const Scene& scene, const Delayed& from);
  // Of the cycle that closed: ld_A first.
  std::vector<Taken> taken() const;
  std::uint64_t states() const { return order_.size(); }

 private:
  enum Status : std::uint8_t { waiting, after, marked };
  enum Mark : std::uint8_t { read_after = 1, written_after = 2, read_marked = 4, written_marked = 8 };
  struct Here {
    std::uint32_t memory = 0;
    Process attacker = 0;
    Location victim = 0;
    std::vector<std::uint32_t> places;  // a set's number while waiting, then a control state; the attacker's: a Delayed
    std::vector<std::uint8_t> status;   // by process
    std::vector<std::uint8_t> marks;    // by location
    bool operator==(const Here&) const = default;
  };
  struct HereHash {
    std::size_t operator()(const Here& here) const;
  };

  bool touch(Here& next, Process p, const Touched& touched) const;
  void step(const Here& here, Process p, Control from, std::uint32_t to, Control target, const Touched& touched);
  void expand(const Here& here);

  Graph& graph_;
  AttackSteps& steps_;
  const Numbered<std::vector<std::uint32_t>>& sets_;
  Progress* progress_;
  Numbered<Memory> memories_;
  Numbered<Delayed, DelayedHash> delayed_;
  std::unordered_map<Here, std::size_t, HereHash> numbers_;
  std::vector<const Here*> order_;
  std::vector<std::pair<std::size_t, Taken>> parents_;
  std::size_t expanded_ = 0;
  std::size_t from_ = 0;
  std::vector<Taken> closing_;  // the last step of the cycle, once there is one
};

}  // namespace teetotal::symbolic
