#include "explorer.hpp"

#include <sstream>

#include "assertions.hpp"
#include "choices.hpp"
#include "conditions.hpp"
#include "hash.hpp"
#include "lifetimes.hpp"
#include "search/classes.hpp"
#include "search/random.hpp"
#include "survival.hpp"
#include "unwritten.hpp"

namespace teetotal::runtime {

// Everything that depends on the numbers of threads, addresses and places.
void Explorer::begin_monitors() {
  const monitors::Options options{.semantics = request_.semantics,
                                  .older = system_.skips_waiting() ? &system_ : nullptr,
                                  .values = &system_,
                                  .count = request_.reporting,
                                  .screened = request_.screened,
                                  .release_sequence_c11 = request_.release_sequence_c11};
  watch_ = monitors::Watch(request_.monitors, options);
  hearsay = watch_.listens() && request_.mark_count == 0 ? &hearsay_ : nullptr;
  keeper_.reset();
  kept_told_ = 0;
  if (request_.keep != 0)
    keeper_.emplace(request_.monitors, options, request_.keep,
                    [this](std::uint32_t location) { return system_.place(location); });
  reporting_.assign(request_.reporting ? request_.monitors.size() : 0, 0);
  passes_.assign(request_.mark_count, 0);
  asks_hazards_ = std::find(request_.monitors.begin(), request_.monitors.end(), "exact-c11") != request_.monitors.end();
  hazards_ = {};
  told_hazards_.clear();
}

void Explorer::run() {
  if (!learn_first()) return;
  begin_monitors();
  search_all();
}

void Explorer::serve() {
  const auto oddities = remarks.oddities;
  if (!learn_first()) return;
  request_number_ = channel.pulse().answered;
  while (!refused_ && !stopped_) {
    begin_part(channel.wait_for_request(request_number_));
    remarks.oddities = oddities;
    search_all();
    channel.answered(request_number_);
  }
}

// A request is `SECONDS EXECUTIONS PART`: for how long, and what.
void Explorer::begin_part(const std::string& request) {
  std::istringstream words(request);
  words >> request_.slice >> request_.most;
  request_.part = request.substr(static_cast<std::size_t>(words.tellg()) + 1);
  request_number_ = channel.notices().requests;
  survival.begin(request_number_);
  system_.rewind(0);
  system_.forget_told();
  totals_ = {};
  seen_failures_.clear();
  classes_.clear();
  pause = false;
  told_to_stop_ = Reason::none;
  started_ = told_ = Clock::now();
  earlier_ = survival.processor_seconds();
  begin_monitors();
}

bool Explorer::learn_first() {
  marks.begin = memory.object_begin() + request_.marks;
  marks.count = request_.mark_count;
  try {
    learn();
  } catch (const OptimalSearch::Elsewhere& error) {
    tell_refused(error.what());
  }
  return !refused_;
}

void Explorer::search_all() {
  for (bool more = true; more;) {
    executions_ = blocked_ = 0;
    explored = 0;
    try {
      const SearchResult result = request_.slice < 1e18 ? explore_part() : search(request_.strategy, system_, *this);
      if (result.redundant != 0 && request_.strategy.name == "all")  // whoever does the same again begins none in vain
        remarks.weaken("an execution was begun that was there already: the program did not do the same again");
      if (result.left_out != 0)
        remarks.weaken(
            "what threads do behind a use of a function's variable that comes just before it returns was left out");
      if (refused_ || pause) {
        totals_.result = result;
        break;
      }
      totals_.result.executions += result.executions;
      totals_.result.blocked += result.blocked;
      totals_.result.cut += result.cut;
      totals_.result.redundant += result.redundant;
      totals_.result.complete = totals_.result.complete && result.complete;
      totals_.result.full = result.full;
      totals_.result.bounded = totals_.result.bounded || result.bounded;
      stopped_ = stopped_ || result.full;
      more = !stopped_ && choices.next();
      if (!more && !stopped_ && conditions.idle_wakes < request_.idle_wakes) {
        // A second search: what needs no reason may also never happen, which is a deadlock in the first alone.
        conditions.idle_wakes = request_.idle_wakes;
        more = true;
      }
      if (!more && !stopped_ && unwritten.asks_again()) {
        more = true;
        throw Restart{};
      }
      if (more) system_.begin();
    } catch (const Restart&) {
      if (!request_.part.empty()) return tell_refused("something was learnt that concerns all parts");
      begin_again();
    } catch (const OptimalSearch::Elsewhere& error) {
      return tell_refused(error.what());
    }
  }
  if (refused_) return;
  tell_end(totals_.result.full || told_to_stop_ == Reason::too_large ? "memory"
           : told_to_stop_ == Reason::interrupted                    ? "interrupted"
           : hangs_ == kMostHangs                                    ? "hangs"
           : stopped_                                                ? "budget"
                                                                     : "");
}

SearchResult Explorer::explore_part() {
  if (request_.strategy.name != "all") return explore_walks();
  OptimalSearch search(system_, *this, request_.strategy.megabytes);
  const Part part =
      request_.part.empty() ? Part{.buffers = system_.buffers(), .levels = {{}}} : part_from(request_.part, system_);
  if (cells.changed) throw OptimalSearch::Elsewhere("memory is laid out otherwise");
  const SearchResult result = search.run(part);
  tell_part([&] { return to_text(search.rest(), system_); }, [&] { return to_text(search.asks(), system_); });
  return result;
}

SearchResult Explorer::explore_walks() {
  Strategy walks = request_.strategy;
  WalksPart part{{0, walks.count}, ""};
  if (!request_.part.empty()) part = walks_from(request_.part);
  walks.from = part.walks.from;
  walks.count = part.walks.until;
  const SearchResult result = search(walks, system_, *this);
  tell_part([&] { return to_text(part, result.executions); }, [] { return std::string(); });
  return result;
}

template <typename Left, typename Asks>
void Explorer::tell_part(Left left, Asks asks) {
  const std::string why = why_whole();
  if (!request_.part.empty() && !why.empty()) return tell_refused(why);
  if (!pause && request_.part.empty()) return;
  std::string layout;
  for (const auto& [address, size, soft] : cells.layout())
    layout += (layout.empty() ? "[" : ",[") + std::to_string(address) + ',' + std::to_string(size) + ',' +
              std::to_string(soft) + ']';
  std::string found;
  for (const auto& [past, value] : system_.found_first().take_sample())
    found += (found.empty() ? "[" : ",[") + std::to_string(past) + ',' + std::to_string(value) + ']';
  output_.line(R"({"type":"part","left":")" + left() + R"(","asks":")" + asks() + R"(","layout":[)" + layout +
               "],\"found\":[" + found + "],\"restarts\":" + std::to_string(restarts_) + ",\"request\":" +
               std::to_string(request_number_) + ",\"incomplete\":" + (remarks.incomplete ? "true" : "false") + '}');
}

// What the one who told the part had learnt by then: it began again so often.
void Explorer::learn() {
  class Pupil final : public Visitor {
    bool visit(std::span<const Event>, std::size_t) override { return true; }
  } pupil;
  for (std::uint64_t lessons = 0; lessons < request_.restarts; ++lessons) {
    try {
      search(request_.strategy, system_, pupil);
    } catch (const Restart&) {
      system_.forget();
      continue;
    }
    throw OptimalSearch::Elsewhere("nothing was learnt here");
  }
}

// Why this search cannot be explored in parts, if it cannot: it depends on more than a part tells.
std::string Explorer::why_whole() const {
  if (system_.found_first().contested()) return "remains of calls are part of what threads wait with";
  if (!choices.empty()) return "the program asks for values";
  if (unwritten.suspects()) return "memory is read that was never written";
  if (hangs_ > 0) return "an execution hangs";
  if (stopped_) return "it was stopped";
  return "";
}

void Explorer::tell_refused(const std::string& why) {
  refused_ = true;
  output_.line(R"({"type":"refused","why":)" + Output::quoted(why) + '}');
}

// Everything anew: something was learnt that makes the numbers given so far void.
void Explorer::begin_again() {
  ++restarts_;
  system_.forget();
  // What was told is told again, with the new numbers.
  seen_failures_.clear();
  classes_.clear();
  totals_.result = {.complete = true};
  begin_monitors();
  choices.begin_again();
  conditions.idle_wakes = 0;
  output_.line(R"({"type":"restart"})");
}

bool Explorer::visit(std::span<const Event> execution, std::size_t shared) {
  ++executions_;
  const std::size_t length = execution.size() + system_.ends_left();
  if (request_.tell_all) {  // numbered, since what was told before is not told again
    const std::uint64_t number = totals_.result.executions + executions_;
    tell_with_cells(R"({"type":"execution","number":)" + std::to_string(number) +
                        ",\"steps\":" + Output::steps(system_, execution.size()),
                    execution.size());
  }
  if (request_.classes)
    classes_.insert(class_of(execution, [&](const Event& a, const Event& b, const auto& steps) {
      if (system_.buffers() == Buffering::none) return true;
      if (system_.commute(a, b)) return false;
      const bool ends = (a.kind == Kind::ld && a.writes) || (b.kind == Kind::ld && b.writes);
      if (ends || (a.own() == 0 && b.own() == 0)) return true;
      const Event& load =
          a.own() != 0 ? a : b;  // which sees its own thread's store: does another's write come behind it?
      return &load == &a && steps.size() > system_.buffer_of(load) && steps[system_.buffer_of(load)] >= load.own();
    }));
  watch(execution, shared);
  if (!passes_.empty()) count_passes(execution);
  tell_failures(execution);
  if (system_.stuck() != Stuck::no) {
    const bool runs_ends = system_.ends_left() > 0;
    tell_stuck();
    if (runs_ends) system_.rewind(execution.size());
  }
  told_to_stop_ = channel.notices().stop;
  const bool hurried = told_to_stop_ == Reason::interrupted && request_.slice < 1e18;
  if (told_to_stop_ != Reason::none && !hurried) stopped_ = true;
  pause = hurried;
  constexpr std::uint64_t kPoll = 256;
  const std::uint64_t all = totals_.result.executions + executions_;
  if (all >= request_.executions) stopped_ = true;
  if (executions_ % kPoll == 0 || execution.size() > 1000) {
    const auto now = Clock::now();
    if (now - told_ > std::chrono::milliseconds(250)) tell_progress();
    if (elapsed() > request_.seconds) stopped_ = true;
    if (elapsed() > request_.slice) pause = true;
  }
  if (executions_ >= request_.most) pause = true;
  if (pause && request_.part.empty()) {
    whole_ = why_whole();
    pause = whole_.empty();
    stopped_ = stopped_ || (hurried && !pause);
  }
  pause = pause && !stopped_;
  if (pause) told_to_stop_ = Reason::none;  // it was asked for what it has, and that is told
  if (!stopped_ && !request_.serve && (executions_ % kPoll == 0 || survival.passed())) survival.consider();
  totals_.steps += length;
  totals_.fresh += length - shared;
  totals_.longest = std::max<std::uint64_t>(totals_.longest, length);
  return !stopped_;
}

void Explorer::watch(std::span<const Event> execution, std::size_t shared) {
  const Event* const as_searched = execution.data();
  if (lifetimes.ends_told || system_.more_enable) {  // what ends is a read to the machine
    for_machine_.assign(execution.begin(), execution.end());
    for (std::size_t i = 0; i < for_machine_.size(); ++i) for_machine_[i].writes = system_.steps()[i].writes();
    execution = for_machine_;
  }
  if (request_.mark_count != 0) {
    if (execution.data() != for_machine_.data()) for_machine_.assign(execution.begin(), execution.end());
    for (Event& event : for_machine_) {
      const std::size_t mark = mark_of_event(event);
      const bool marked = mark < request_.mark_count;
      if (marked) event.kind = Kind::fence;  // of order na: nothing, in any model
      if (keeper_ && event.kind == Kind::fence) event.address = marked ? static_cast<std::uint32_t>(mark) + 1 : 0;
    }
    execution = for_machine_;
  }
  if (asks_hazards_) find_hazards(execution, shared);
  const monitors::Hearsay* heard = hearsay_.noted && execution.data() == as_searched ? &hearsay_ : nullptr;
  if (system_.skips_waiting() && (keeper_ || watch_.asks_what_waits(heard))) system_.find_waiting(waiting_);
  if (keeper_) {
    keeper_->see(execution, shared, waiting_);
    constexpr std::size_t kLine = 1 << 16;
    if (keeper_->size() > kLine) tell_kept();
    for (Event& event : for_machine_)
      if (event.kind == Kind::fence && event.address != 0)
        event.kind = static_cast<Kind>(request_.mark_kinds[event.address - 1] - '0');
  }
  watch_.see(execution, shared, waiting_, heard, [&](std::uint32_t number, const monitors::Report& report, bool fresh) {
    if (fresh) tell_violation(number, report);
  });
  if (request_.reporting)
    for (std::uint32_t number = 0; number < reporting_.size(); ++number) reporting_[number] += watch_.reports(number);
}

void Explorer::find_hazards(std::span<const Event> execution, std::size_t shared) {
  hazards_.see(execution, shared, [&](std::size_t load, std::size_t store, std::size_t write) {
    const auto place = [&](std::size_t step) { return system_.steps()[step].operation.told_place(); };
    const Step& step = system_.steps()[load];
    told_hazards_.insert({process.threads[step.thread].born, place(load), place(store), place(write),
                          cells[step.operation.cell].address});
  });
}

std::size_t Explorer::mark_of_event(const Event& event) const {
  return is_fence(event.kind) ? ~std::size_t{0} : cells[event.address].address - marks.begin;
}

void Explorer::count_passes(std::span<const Event> execution) {
  for (const Event& event : execution)
    if (const std::size_t mark = mark_of_event(event); mark < passes_.size()) ++passes_[mark];
}

void Explorer::tell_violation(std::uint32_t monitor, const monitors::Report& report) {
  const auto end = static_cast<std::size_t>(report.deciding) + 1;
  const bool waits = end > system_.steps().size();  // it is what a thread stands before: told as if it went round
  system_.threads();                                // brings the program back to the end: see tell_failures
  if (waits) system_.execute(report.thread);
  output_.line(Output::violation(system_, request_.monitors[monitor], report, frames_of(system_, end)));
  if (waits) system_.rewind(end - 1);
}

// An execution, up to a step. What its cells are comes last: to find out may need another run.
void Explorer::tell_with_cells(const std::string& told, std::size_t end) {
  const Frames frames = frames_of(system_, end);
  output_.line(told + ",\"cells\":" + Output::cells(system_, end, frames) + '}');
}

void Explorer::tell_failures(std::span<const Event> execution) {
  if (system_.failed().empty()) return;
  const std::vector<Failed> failed = system_.failed();  // while it is told of, the program may be run again
  for (const auto& [number, fault, place, step] : failed) {
    const Failure failure = fault.failure;
    const bool costly = failure == Failure::hang || failure == Failure::waits || failure == Failure::too_large;
    if (costly && ++hangs_ == kMostHangs) stopped_ = true;
    if (!seen_failures_.insert({static_cast<int>(failure), place, 0}).second) continue;
    system_.threads();  // monitors may have run the program elsewhere, to where some threads were not born yet
    // Up to its last step: what others did afterwards does not matter.
    const std::size_t end = std::min(execution.size(), static_cast<std::size_t>(step + 1));
    const std::string told = R"({"type":"failure","what":")" + std::string(word_for(failure)) + "\",\"at\":[" +
                             std::to_string(static_cast<int>(failure)) + ',' + std::to_string(place) +
                             ",0],\"thread\":" + std::to_string(process.threads[number].born) +
                             ",\"message\":" + Output::quoted(fault.message) + ",\"place\":" + std::to_string(place) +
                             ",\"cause\":" + Output::cause(fault) + ",\"context\":" + Output::context() +
                             ",\"steps\":" + Output::steps(system_, end);
    tell_with_cells(told, end);
  }
}

// What is told has the ends of threads in it.
void Explorer::tell_stuck() {
  system_.run_ends();
  const std::size_t length = system_.steps().size();
  const bool livelock = system_.stuck() == Stuck::livelock;
  system_.threads();  // brings the program back to the end
  std::uintptr_t places[2] = {0, 0};
  std::string waiting;
  for (std::uint32_t number = 0; number < process.count; ++number) {
    const Thread& thread = process.threads[number];
    if (thread.state != State::parked) continue;
    if (thread.operation.tag != Tag::thread || waiting.empty())
      places[waiting.empty() ? 0 : 1] ^= thread.operation.told_place() * (number + 1);
    const auto tell = [&](const Operation& operation) {
      waiting += (waiting.empty() ? "[" : ",[") + std::to_string(thread.born) + ',' +
                 std::to_string(operation.told_place()) + ',' + std::to_string(static_cast<int>(operation.kind)) + ',' +
                 (is_fence(operation.kind) ? "-1" : std::to_string(operation.cell)) + ',' +
                 std::to_string(static_cast<int>(operation.verb)) + ']';
    };
    if (system_.round(number).empty()) {
      tell(thread.operation);
    } else {
      for (const Operation& operation : system_.round(number)) tell(operation);
    }
  }
  if (!seen_failures_.insert({livelock ? 101 : 100, places[0], places[1]}).second) return;
  const std::string told = std::string(R"({"type":"failure","what":")") + (livelock ? "livelock" : "deadlock") +
                           R"(","at":[)" + (livelock ? "101," : "100,") + std::to_string(places[0]) + ',' +
                           std::to_string(places[1]) + R"(],"thread":0,"message":"","place":0,"waiting":[)" + waiting +
                           "],\"context\":" + Output::context() + ",\"steps\":" + Output::steps(system_, length);
  tell_with_cells(told, length);
}

// Numbered: whoever takes over after a death tells again what was told since the fork.
void Explorer::tell_kept() {
  if (!keeper_) return;
  output_.line(R"({"type":"overtakings","number":)" + std::to_string(kept_told_++) + R"(,"piece":")" +
               Output::base64(keeper_->take()) + R"(","whole":)" + (keeper_->full() ? "false" : "true") + '}');
}

void Explorer::tell_progress() {
  told_ = Clock::now();
  output_.line(R"({"type":"progress","executions":)" + std::to_string(totals_.result.executions + executions_) +
               ",\"seconds\":" + std::to_string(elapsed()) + ",\"explored\":" + std::to_string(explored_of_all()) +
               '}');
}

// Over all choices of values: each has had its turn with those below it.
double Explorer::explored_of_all() const {
  const auto [before, share] = choices.share();
  const double searches = request_.idle_wakes > 0 ? 2 : 1;
  return ((conditions.idle_wakes > 0 ? 1 : 0) + before + share * explored) / searches;
}

void Explorer::tell_end(const char* reason) {
  tell_kept();
  std::string oddities;
  for (const std::string& oddity : remarks.oddities) oddities += (oddities.empty() ? "" : ",") + Output::quoted(oddity);
  std::string mixed;
  for (std::uint32_t number = 0; number < cells.size(); ++number)
    if (cells[number].mixed) mixed += (mixed.empty() ? "" : ",") + std::to_string(cells[number].address);
  std::string loops;
  for (const auto& [place, cut] : system_.cuts()) {
    loops += (loops.empty() ? "[" : ",[") + std::to_string(place);
    for (const std::uint64_t one : {std::uint64_t{cut.rounds}, std::uint64_t{cut.thread}, cut.read, cut.address,
                                    cut.size, static_cast<std::uint64_t>(cut.value), cut.writer})
      loops += ',' + std::to_string(one);
    loops += ']';
  }
  std::string races;
  for (const auto& [first, second, address] : system_.data_races())
    races += (races.empty() ? "[" : ",[") + std::to_string(first) + ',' + std::to_string(second) + ',' +
             std::to_string(address) + ']';
  std::string hazards;
  for (const auto& [thread, load, store, write, address] : told_hazards_)
    hazards += (hazards.empty() ? "[" : ",[") + std::to_string(thread) + ',' + std::to_string(load) + ',' +
               std::to_string(store) + ',' + std::to_string(write) + ',' + std::to_string(address) + ']';
  std::string reporting;
  for (const std::uint64_t count : reporting_) reporting += (reporting.empty() ? "" : ",") + std::to_string(count);
  std::string passes;
  for (const std::uint64_t count : passes_) passes += (passes.empty() ? "" : ",") + std::to_string(count);
  std::string evaluated;
  for (const std::uintptr_t place : assertions.evaluated())
    evaluated += (evaluated.empty() ? "" : ",") + std::to_string(place);
  const SearchResult& result = totals_.result;
  output_.line(
      R"({"type":"end","stopped":)" + Output::quoted(reason) + ",\"executions\":" + std::to_string(result.executions) +
      ",\"blocked\":" + std::to_string(result.blocked) + ",\"cut\":" + std::to_string(result.cut) +
      ",\"redundant\":" + std::to_string(result.redundant) + ",\"bounded\":" + (result.bounded ? "true" : "false") +
      ",\"whole\":" + Output::quoted(whole_) +
      ",\"complete\":" + (result.complete && !stopped_ && !remarks.incomplete ? "true" : "false") +
      ",\"steps\":" + std::to_string(totals_.steps) + ",\"fresh\":" + std::to_string(totals_.fresh) +
      ",\"longest\":" + std::to_string(totals_.longest) + ",\"shown\":" + std::to_string(watch_.shown()) +
      ",\"classes\":" + std::to_string(classes_.size()) + ",\"symmetric\":" + (system_.symmetric() ? "true" : "false") +
      ",\"restarts\":" + std::to_string(restarts_) + ",\"restored\":" + std::to_string(system_.restored()) +
      ",\"seconds\":" + std::to_string(elapsed()) +
      ",\"cpu\":" + std::to_string(survival.processor_seconds() - earlier_) + ",\"reporting\":[" + reporting +
      "],\"passes\":[" + passes + "],\"oddities\":[" + oddities + "],\"loops\":[" + loops +
      "],\"threads\":" + std::to_string(process.numbers.size() + 1) + ",\"unseen\":[" + Output::unseen() +
      "],\"races\":[" + races + "],\"hazards\":[" + hazards + "],\"evaluated\":[" + evaluated + "],\"mixed\":[" +
      mixed + "],\"assembly\":" + (remarks.assembly ? "true" : "false") + "}");
}

}  // namespace teetotal::runtime
