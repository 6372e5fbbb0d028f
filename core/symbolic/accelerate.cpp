#include "symbolic/accelerate.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <set>

#include "symbolic/aside.hpp"
#include "symbolic/moves.hpp"

namespace teetotal::symbolic {

namespace {

using MoveNumber = std::uint32_t;
using Sleep = std::vector<MoveNumber>;  // sorted

bool contains(const Sleep& sleep, MoveNumber m) { return std::binary_search(sleep.begin(), sleep.end(), m); }

class Acceleration {
 public:
  Acceleration(Graph& graph, Progress* progress)
      : graph_(graph), progress_(progress), buffers_(progress, graph.model() == Model::pso), moves_(graph, buffers_) {}

  // Depth-first down to a limit that grows: most violations are shallow, and some programs are deep without end.
  AccelerateResult run() {
    for (limit_ = 24; !result_.bad; limit_ += limit_ / 2) {
      cut_ = false;
      places_.clear();
      explored_.clear();
      stack_.clear();
      result_.states = result_.accelerations = 0;
      search();
      if (!cut_) break;
    }
    return std::move(result_);
  }

 private:
  // A cycle of the stack, from an entry to this one, that was accelerated: what one repetition appends, by process.
  // Local if it has steps of one process only.
  struct Loop {
    std::size_t from;
    bool local;
    Process process;
    std::map<Process, Growth> growths;
  };

  // What was explored, without the runs that could begin with a sleeping move.
  struct Explored {
    std::vector<Language> buffers;
    Sleep asleep;
    std::size_t relies_on;  // what must be off the stack before this is complete: itself, or what covers it
    bool open = true;
  };

  // All states with the same memory and control states: those explored, and those on the stack.
  struct Place {
    std::vector<std::size_t> explored, stack;
  };

  struct Entry {
    State state;
    Sleep asleep;
    std::vector<Successor> pending;
    std::vector<MoveNumber> taken;
    std::size_t next = 0;
    bool widens = false;   // pending holds one process's steps only: all others' if these are not enough
    bool carried = false;  // one of these was taken, and what it led to is complete before this entry is
    Place* place = nullptr;
    std::optional<std::size_t> closes;  // which of what is explored is complete with this entry
    Process process = 0;                // how it was entered
    Effect effect;
    std::optional<Happening> changes;
    std::vector<Loop> loops;
  };

  void search() {
    Successor start;
    start.state.memory = graph_.system().memory;
    for (Process p = 0; p < graph_.processes(); ++p) start.state.controls.push_back(graph_.start(p));
    start.state.buffers.assign(graph_.processes(), buffers_.empty);
    push(std::move(start), {}, {});
    while (!stack_.empty() && !result_.bad) {
      Entry& top = stack_.back();
      if (top.next < top.pending.size())
        take();
      else if (top.widens && !top.carried)
        widen(top);
      else
        pop();
    }
  }

  void pop() {
    Entry& top = stack_.back();
    top.place->stack.pop_back();
    if (top.closes) explored_[*top.closes].open = false;
    stack_.pop_back();
  }

  void take() {
    const std::size_t here = stack_.size() - 1;
    Entry& top = stack_[here];
    Successor s = std::move(top.pending[top.next++]);
    const MoveNumber move = number(s.move);
    if (contains(top.asleep, move)) return;
    Sleep asleep;
    for (const auto* moves : {&top.asleep, &top.taken})
      for (MoveNumber m : *moves)
        if (independent(*known_moves_[m], s.move)) asleep.push_back(m);
    std::sort(asleep.begin(), asleep.end());
    top.taken.push_back(move);
    std::vector<Loop> loops = accelerated(s);
    if (push(std::move(s), std::move(asleep), std::move(loops))) stack_[here].carried = true;
  }

  // Explores from a state what nothing explored covers yet. Whether the answer about it is complete before those about
  // the entries now on the stack.
  bool push(Successor by, Sleep asleep, std::vector<Loop> loops) {
    if (progress_ != nullptr) progress_->report(result_.states + 1);
    State& state = by.state;
    Place& place = places_[{state.memory, state.controls}];
    std::optional<std::size_t> cover;
    Sleep missing;  // what slept there and does not sleep here
    for (std::size_t i : place.explored) {
      const Explored& known = explored_[i];
      if (!covers(known, state)) continue;
      Sleep difference;
      std::set_difference(known.asleep.begin(), known.asleep.end(), asleep.begin(), asleep.end(),
                          std::back_inserter(difference));
      if (difference.empty() && !open(i)) return true;
      if (!cover || difference.size() < missing.size()) {
        cover = i;
        missing = std::move(difference);
      }
    }
    if (cover && missing.empty()) return false;
    if (stack_.size() >= limit_) {
      cut_ = true;
      return true;
    }
    Entry entry;
    if (cover) {
      std::erase_if(asleep, [&](MoveNumber m) { return !contains(explored_[*cover].asleep, m); });
      entry.pending = everything(state);
      std::erase_if(entry.pending, [&](const Successor& s) { return !contains(missing, number(s.move)); });
      if (explored_[*cover].buffers == state.buffers) {
        explored_[*cover].asleep = asleep;
      } else {
        place.explored.push_back(explored_.size());
        explored_.push_back({state.buffers, asleep, explored_[*cover].relies_on, false});
      }
    } else {
      entry.closes = explored_.size();
      place.explored.push_back(explored_.size());
      explored_.push_back({state.buffers, asleep, explored_.size(), true});
      ++result_.states;
    }
    const bool complete = !cover || !open(*cover);
    entry.asleep = std::move(asleep);
    entry.place = &place;
    entry.process = by.move.process;
    entry.effect = by.effect;
    entry.changes = std::move(by.changes);
    entry.loops = std::move(loops);
    entry.state = std::move(state);
    if (!cover) begin(entry);
    place.stack.push_back(stack_.size());
    stack_.push_back(std::move(entry));
    if (graph_.is_bad(stack_.back().state.controls, stack_.back().state.memory)) found();
    return complete;
  }

  bool open(std::size_t i) const { return explored_[explored_[i].relies_on].open; }

  bool covers(const Explored& known, const State& state) {
    for (Process p = 0; p < graph_.processes(); ++p)
      if (!buffers_.automata.included(state.buffers[p], known.buffers[p])) return false;
    return true;
  }

  std::vector<Successor> everything(const State& s) {
    std::vector<Successor> result;
    for (Process p = 0; p < graph_.processes(); ++p) moves_.commits(s, p, result);
    for (Process p = 0; p < graph_.processes(); ++p) moves_.steps(s, p, result);
    return result;
  }

  // A persistent set that is awake, or everything.
  void begin(Entry& entry) {
    for (Process p = 0; p < graph_.processes(); ++p) {
      if (!moves_.private_steps(entry.state, p)) continue;
      moves_.steps(entry.state, p, entry.pending);
      entry.widens = std::any_of(entry.pending.begin(), entry.pending.end(),
                                 [&](const Successor& s) { return !contains(entry.asleep, number(s.move)); });
      if (entry.widens) return;
      entry.pending.clear();
    }
    entry.pending = everything(entry.state);
  }

  void widen(Entry& entry) {
    entry.widens = false;
    entry.pending = everything(entry.state);
    entry.next = 0;
    std::erase_if(entry.pending, [&](const Successor& s) {
      return std::find(entry.taken.begin(), entry.taken.end(), number(s.move)) != entry.taken.end();
    });
  }

  MoveNumber number(const Move& move) {
    auto [found, fresh] = move_numbers_.try_emplace(move, static_cast<MoveNumber>(known_moves_.size()));
    if (fresh) known_moves_.push_back(&found->first);
    return found->second;
  }

  // -- a schedule -----------------------------------------------------------------------------------------------------

  // A cycle that was accelerated and changes memory on its way: the path has it once, a schedule may need it more
  // often, or not at all.
  struct Repetition {
    std::size_t from, to;
    std::size_t times = 1;
  };

  void found() {
    result_.bad = true;
    std::vector<Repetition> repetitions;
    std::size_t commits = 0;
    for (std::size_t i = 0; i < stack_.size(); ++i) {
      commits += stack_[i].changes && stack_[i].changes->commit;
      for (const Loop& loop : stack_[i].loops) {
        auto changes = [](const Entry& entry) { return entry.changes.has_value(); };
        auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(loop.from) + 1;
        if (std::any_of(begin, stack_.begin() + static_cast<std::ptrdiff_t>(i) + 1, changes))
          repetitions.push_back({loop.from, i});
      }
    }
    // What is nearest to the path first. Every repetition is there for a store that the path commits.
    const std::size_t most = repetitions.empty() ? 0 : commits + repetitions.size();
    for (std::size_t total = 0; total <= most && !result_.schedule; ++total) distribute(total, 0, repetitions);
  }

  // Tries every way to change the numbers of repetitions, from the `next` one on, by that much altogether.
  void distribute(std::size_t change, std::size_t next, std::vector<Repetition>& repetitions) {
    if (result_.schedule) return;
    if (next == repetitions.size()) {
      if (change != 0) return;
      const std::vector<Control>& goal = stack_.back().state.controls;
      std::vector<Happening> path;
      follow(0, stack_.size() - 1, repetitions, repetitions.size(), path);
      result_.schedule = concretise(
          graph_, buffers_.automata.alphabet, path, [&](Process p, Control q) { return q == goal[p]; }, progress_);
      return;
    }
    for (std::size_t more = 0; more <= change; ++more) {
      repetitions[next].times = 1 + more;
      distribute(change - more, next + 1, repetitions);
    }
    if (change > 0) {
      repetitions[next].times = 0;
      distribute(change - 1, next + 1, repetitions);
    }
  }

  // The changes of memory behind an entry and up to another, with the first `count` of the repetitions, where they lie
  // in between.
  void follow(std::size_t from, std::size_t to, const std::vector<Repetition>& repetitions, std::size_t count,
              std::vector<Happening>& path) {
    for (std::size_t i = from; i < to;) {
      std::size_t skipped = i;
      for (std::size_t r = 0; r < count; ++r)
        if (repetitions[r].from == i && repetitions[r].times == 0 && repetitions[r].to <= to)
          skipped = std::max(skipped, repetitions[r].to);
      if (skipped > i) {
        i = skipped;
        continue;
      }
      if (stack_[++i].changes) path.push_back(*stack_[i].changes);
      for (std::size_t r = 0; r < count; ++r)
        if (repetitions[r].to == i && repetitions[r].from >= from)
          for (std::size_t n = 1; n < repetitions[r].times; ++n) follow(repetitions[r].from, i, repetitions, r, path);
    }
  }

  // -- acceleration ---------------------------------------------------------------------------------------------------

  // One process's part in a cycle of the stack.
  struct Part {
    std::set<Location> shrunk;                     // whose stores were taken away
    std::map<Location, Value> last;                // own last stores
    std::vector<std::pair<Location, Value>> seen;  // by loads, before a store of the cycle
    Growth growth;
  };

  // If the step closes cycles of the stack that can be repeated: any number of repetitions of each.
  std::vector<Loop> accelerated(Successor& s) {
    std::vector<Loop> loops;
    auto place = places_.find({s.state.memory, s.state.controls});
    if (place == places_.end()) return loops;
    const auto& candidates = place->second.stack;
    for (auto from = candidates.rbegin(); from != candidates.rend(); ++from) {
      auto loop = repeatable(*from, s, loops);
      if (!loop) continue;
      State larger = s.state;
      for (const auto& [p, growth] : loop->growths) {
        larger.buffers[p] = buffers_.accelerated(larger.buffers[p], growth);
        // Where nothing else differs, the contents before the cycle are as good.
        if (loop->growths.size() == 1)
          larger.buffers[p] = buffers_.automata.join(larger.buffers[p], stack_[*from].state.buffers[p]);
      }
      if (larger.buffers == s.state.buffers) continue;
      ++result_.accelerations;
      s.state = std::move(larger);
      loops.push_back(std::move(*loop));
    }
    return loops;
  }

  // The cycle from an entry of the stack to s, if it can be repeated: each buffer is what it was, or it was only
  // appended to, and then its process's loads would see the same again.
  std::optional<Loop> repeatable(std::size_t from, const Successor& s, const std::vector<Loop>& closed) {
    const State& first = stack_[from].state;
    Loop loop{from, true, s.move.process, {}};
    for (std::size_t i = from + 1; i < stack_.size(); ++i) loop.local &= stack_[i].process == s.move.process;
    bool whole = true;  // no growing process has buffers that shrink meanwhile
    for (Process p = 0; p < graph_.processes(); ++p) {
      if (first.buffers[p] == s.state.buffers[p]) continue;
      auto part = part_of(from, p, s, closed);
      if (!part || !recurs(*part, first.buffers[p], s.state.buffers[p])) return std::nullopt;
      whole &= part->shrunk.empty();
      loop.growths.emplace(p, std::move(part->growth));
    }
    if (loop.growths.empty()) return std::nullopt;
    if (loop.growths.size() > 1)
      for (const auto& entry : loop.growths)
        if (!buffers_.loose(entry.second)) return std::nullopt;
    // What was accelerated on the way has to be so in every repetition.
    auto again = [&](const Loop& inner) {
      return inner.from >= from || (inner.local && (whole || !loop.growths.contains(inner.process)));
    };
    for (std::size_t i = from + 1; i < stack_.size(); ++i)
      if (!std::all_of(stack_[i].loops.begin(), stack_[i].loops.end(), again)) return std::nullopt;
    if (!std::all_of(closed.begin(), closed.end(), again)) return std::nullopt;
    return loop;
  }

  // What p does from that entry to s; nothing if all its stores have to go meanwhile.
  std::optional<Part> part_of(std::size_t from, Process p, const Successor& s, const std::vector<Loop>& closed) {
    const Alphabet& letters = buffers_.automata.alphabet;
    Part part;
    for (std::size_t i = from + 1; i <= stack_.size(); ++i) {
      const bool last = i == stack_.size();
      if ((last ? s.move.process : stack_[i].process) != p) continue;
      const Effect& effect = last ? s.effect : stack_[i].effect;
      if (effect.shrinks == needs_empty) return std::nullopt;
      if (effect.shrinks != needs_nothing) part.shrunk.insert(effect.shrinks);
      if (effect.loaded && !part.last.contains(effect.loaded->first)) part.seen.push_back(*effect.loaded);
      if (effect.appended && *effect.appended != marker)
        part.last[letters.location(*effect.appended)] = letters.value(*effect.appended);
    }
    if (!compose(from, p, s, closed, part.growth)) return std::nullopt;
    return part;
  }

  // Whether p's part can be repeated where its buffers are `before` at first and `after` at the end. Takes from its
  // growth the locations whose buffers come back.
  bool recurs(Part& part, Language before, Language after) {
    if (!part.shrunk.empty()) {
      if (part.growth.rest || !buffers_.independent(before) || !buffers_.independent(after)) return false;
      for (Location x : part.shrunk) {
        if (buffers_.only(before, x) != buffers_.only(after, x)) return false;
        part.growth.head.erase(x);
      }
    }
    if (part.growth.head.empty() && !part.growth.rest) return false;
    return std::all_of(part.seen.begin(), part.seen.end(), [&](const auto& read) {
      auto own = part.last.find(read.first);
      return own == part.last.end() || own->second == read.second || part.shrunk.contains(read.first);
    });
  }

  // What p appends from that entry to s: by the cycles accelerated on the way any number of times, by other steps once.
  // False if that is too large to be worth it: long cycles of cycles cost much, and shorter ones mostly cover them.
  bool compose(std::size_t from, Process p, const Successor& s, const std::vector<Loop>& closed, Growth& result) {
    for (std::size_t i = stack_.size(); i > from && buffers_.size(result) <= largest_growth;) {
      const bool last = i == stack_.size();
      const Loop* widest = nullptr;
      for (const Loop& inner : last ? closed : stack_[i].loops)
        if (inner.from >= from && inner.growths.contains(p)) widest = &inner;  // the nearest come first
      if (widest != nullptr) {
        result = buffers_.joined(buffers_.repeated(widest->growths.at(p)), result);
        i = widest->from;
        continue;
      }
      const Effect& effect = last ? s.effect : stack_[i].effect;
      if ((last ? s.move.process : stack_[i].process) == p && effect.appended)
        result = buffers_.joined(buffers_.growth(*effect.appended), result);
      --i;
    }
    return buffers_.size(result) <= largest_growth;
  }

  static constexpr std::size_t largest_growth = 24;  // nodes of its automata

  Graph& graph_;
  Progress* progress_;
  Buffers buffers_;
  Moves moves_;
  std::size_t limit_ = 0;
  bool cut_ = false;
  std::vector<Entry> stack_;
  std::map<std::pair<Memory, std::vector<Control>>, Place> places_;
  std::deque<Explored> explored_;
  std::map<Move, MoveNumber> move_numbers_;
  std::vector<const Move*> known_moves_;
  AccelerateResult result_;
};

}  // namespace

AccelerateResult explore_accelerated(Graph& graph, Progress* progress) {
  return freed_aside<Acceleration>(graph, progress)->run();
}

}  // namespace teetotal::symbolic
