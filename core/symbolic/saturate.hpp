// Reachability with unbounded store buffers, by saturating each process.
//
// A state is (m, K_1 … K_n): what memory holds, and for each process the language of its local configurations, words
// `buffer · control state`. Between two changes of memory the processes do not see each other, so the product of the
// K_p is exact, and no interleaving of local steps is left to reduce.
//   saturated(K, m)   everything that the process alone reaches while memory stays m and nothing is committed. All its
//                     cycles close at once: this replaces the cycle detection and acceleration of Linden and Wolper.
//   an event          a commit, or an atomic step that changes memory: one K_p changes, m changes, all saturate again.
//   a store is lost   if another to the same location follows it (Automata::lossy): adds only what is there already,
//   and
//                     lets exploration under PSO end.
// What a location holds is forgotten while every process would store to it before reading it: the futures are the same
// (`Graph::still_read`). A store in a buffer overtakes what memory holds, so this does not depend on the model.
// Interchangeable processes may change places (`Symmetry`), and such with slots of their own, renamed (`Renamed`).
// New states that lie inside one that is known are dropped. `joining` unites states that differ in one component, and
// `blur` merges nodes of the automata: the first is exact, the second may reach too much, so that only "safe" counts.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "symbolic/automata.hpp"
#include "symbolic/renamed.hpp"
#include "symbolic/symmetry.hpp"

namespace teetotal::symbolic {

// What changed memory: a commit of a store, or an atomic step.
struct Happening {
  Process process = 0;
  bool commit = false;
  Letter letter = 0;               // of a commit
  Location needs = needs_nothing;  // of an atomic step
  Writes writes;
};

struct SaturateOptions {
  bool joining = false;
  bool forgetting = false;     // what nobody will read of memory; not for paths, nor for certificates
  bool symmetry = false;       // states are what they are up to a permutation; neither for paths nor for certificates
  unsigned blur = 0;           // k, or 0 for none
  std::uint64_t max_work = 0;  // nodes of automata built before giving up; 0: no limit
  std::vector<Renaming>
      renamings;  // the same of processes with slots of their own; neither for paths nor for certificates
};

class Saturation {
 public:
  struct State {
    std::uint32_t memory = 0;
    std::vector<Language> parts;
    std::uint32_t parent = 0;
    Happening by;
    bool superseded = false;
    std::uint64_t weight = 0;  // how large its languages look
  };
  enum class Answer : std::uint8_t { safe, bad, gave_up };

  Saturation(Graph& graph, SaturateOptions options, Progress* progress);

  Answer run();

  Automata& automata() { return automata_; }
  const std::vector<State>& states() const { return states_; }
  const Memory& memory(std::uint32_t number) const { return memories_[number]; }
  // Of the last state, if it is bad: for each process what it must satisfy there (see Bad), or which failed.
  std::uint32_t bad_case() const { return bad_case_; }
  std::optional<Process> failed_process() const { return failed_; }

 private:
  using Locations = std::vector<std::uint64_t>;  // a bit for each
  static std::size_t words_for(std::size_t locations) { return (locations + 63) / 64; }
  void explore();
  Language saturated(Process p, Language k, std::uint32_t memory);
  Language saturate_now(Process p, Language k, const Memory& m, Asked& asked);
  void add(std::uint32_t parent, const Happening& by, std::uint32_t memory, std::vector<Language>& parts);
  void expand(std::uint32_t number);
  Writes writes_of(Letter letter) const {
    return {{automata_.alphabet.location(letter), automata_.alphabet.value(letter)}};
  }
  std::uint32_t committed(std::uint32_t memory, Letter letter);
  Locations still_read(Process p, Language k);
  std::uint32_t forgetful(std::uint32_t memory, std::vector<Language>& parts);
  bool bad(const State& state);
  struct Seen {
    bool failed = false;
    std::vector<std::uint64_t> labels;
    Locations reads;  // what of memory it may still read; only when forgetting
  };
  const Seen& seen(Process p, Language k);

  Graph& graph_;
  SaturateOptions options_;
  Progress* progress_;
  Automata automata_;
  Symmetry symmetry_;
  Renamed renamed_;
  std::vector<std::vector<Location>> tracked_;  // by process: locations whose own last store it may read
  Numbered<Memory> memories_;
  std::vector<State> states_;
  std::vector<std::vector<std::uint32_t>> by_memory_;
  std::vector<std::vector<std::pair<Letter, std::uint32_t>>> committed_;     // by memory: that behind a commit
  std::vector<std::vector<std::pair<Locations, std::uint32_t>>> forgotten_;  // by memory: with what is read alone
  Locations read_;                                                           // by any process, of the state at hand
  using Ranked = std::pair<std::uint64_t, std::uint32_t>;
  std::priority_queue<Ranked, std::vector<Ranked>, std::greater<>> queue_;  // states to expand, by rank and number
  std::vector<Remembered<Language>> saturated_;                             // by process
  std::vector<std::vector<std::unique_ptr<Seen>>> seen_;                    // by process and language
  std::uint32_t bad_case_ = 0;
  std::optional<Process> failed_;
  std::optional<std::uint32_t> bad_state_;
};

}  // namespace teetotal::symbolic
