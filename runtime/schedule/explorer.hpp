// One search over a program's SC executions: monitors watch, failures are kept, budgets are obeyed, results are told.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "channel.hpp"
#include "monitors/hazards.hpp"
#include "monitors/watch.hpp"
#include "output.hpp"
#include "overtakings/keeper.hpp"
#include "search/optimal.hpp"
#include "search/strategy.hpp"
#include "system.hpp"

namespace teetotal::runtime {

struct Request {
  std::string object;
  std::string own;         // an empty folder: where the program may write; none: wherever its user may
  std::string library;     // a file: which of the object's functions are the C++ library's
  std::string variables;   // a file: where its variables lie, if it compares addresses
  std::string live;        // a file: where in it the table is that says what is live
  std::string assertions;  // a file: where in it the list is of what decides assertions
  Strategy strategy{.megabytes = kMegabytes};
  std::vector<std::string> monitors;
  Semantics semantics;
  Bounds bounds;
  double seconds = 1e18;
  std::uint64_t executions = ~std::uint64_t{0};
  std::uint32_t idle_wakes = 0;  // also explore executions in which a thread wakes up so often for no reason
  bool spinners_stop = false;    // also without reduction: to compare
  bool tell_all = false;         // tell every execution, not only those with something in them
  bool classes = false;          // count the classes of equivalent executions, for tests of the reduction
  bool reporting = false;        // count the executions that each monitor reports
  bool screened = true;          // exact monitors see only what could give a report
  bool release_sequence_c11 = false;
  std::uintptr_t marks = 0;  // in the object: an array of bytes whose loads are counted, and none of the program's
  std::size_t mark_count = 0;
  std::string mark_kinds;  // where overtakings are kept: of each mark, by a digit, what it is to those who tell
  std::uint64_t keep = 0;  // bytes of overtakings (core/overtakings) at most
  bool replay = false;
  double shorten = 0;                            // seconds, of a replay
  std::pair<std::size_t, std::size_t> report{};  // to shorten: the delayed store and the deciding event, by their steps
  std::string schedule;
  bool stop_at_last = false;
  double slice = 1e18;  // seconds after which what is left of the search is told (core/search/part.hpp)
  std::uint64_t most = ~std::uint64_t{0};  // executions, after which the same
  std::string part;                        // the part to explore; empty: the whole search
  std::uint64_t restarts = 0;  // so often whoever told the part has begun again: what was learnt is learnt here first
  bool serve = false;          // one part after the other, as they are asked for (channel.hpp)
};

class Explorer final : public Visitor {
 public:
  Explorer(Request request, const Output& output)
      : request_(std::move(request)), output_(output), system_(request_.bounds) {
    if (request_.tell_all || request_.classes) system_.run_all_ends();
  }

  void run();

  // Parts of the search as they are asked for, until nobody asks for more. What is known of the program is kept from
  // one to the next; what is told of each is what a new process would tell.
  void serve();

  bool visit(std::span<const Event> execution, std::size_t shared) override;

 private:
  struct Totals {
    SearchResult result{.complete = true};
    std::uint64_t steps = 0;
    std::uint64_t fresh = 0;  // of these: beyond what an execution shares with the one before
    std::uint64_t longest = 0;
  };
  using Clock = std::chrono::steady_clock;

  bool learn_first();
  void search_all();
  void begin_part(const std::string& request);
  void begin_monitors();
  SearchResult explore_part();
  SearchResult explore_walks();
  template <typename Left, typename Asks>
  void tell_part(Left left, Asks asks);
  void learn();
  std::string why_whole() const;
  void tell_refused(const std::string& why);
  void begin_again();
  void watch(std::span<const Event> execution, std::size_t shared);
  void find_hazards(std::span<const Event> execution, std::size_t shared);
  void count_passes(std::span<const Event> execution);
  std::size_t mark_of_event(const Event& event) const;  // no less than mark_count: it is none
  void tell_violation(std::uint32_t monitor, const monitors::Report& report);
  void tell_failures(std::span<const Event> execution);
  void tell_with_cells(const std::string& told, std::size_t end);
  void tell_stuck();
  void tell_kept();
  void tell_progress();
  double explored_of_all() const;
  void tell_end(const char* reason);
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }

  Request request_;
  const Output& output_;
  Controlled system_;
  monitors::Watch watch_;
  monitors::Hearsay hearsay_;
  bool asks_hazards_ = false;
  monitors::Hazards hazards_;
  std::set<std::array<std::uintptr_t, 5>> told_hazards_;  // whose; the places of load, store and write; where
  std::vector<Event> waiting_;                            // what threads stand before that wait at the end for a value
  std::vector<Event> for_machine_;                        // the execution, where it is not the same to monitors
  std::vector<std::uint64_t> reporting_;                  // of each monitor: executions that it reported
  std::set<std::tuple<int, std::uintptr_t, std::uintptr_t>> seen_failures_;
  Totals totals_;                               // of the choices before
  std::uint64_t executions_ = 0, blocked_ = 0;  // of the search at hand
  std::uint64_t restarts_ = 0;
  std::set<std::uint64_t> classes_;
  std::vector<std::uint64_t> passes_;  // over each mark, in all executions
  std::optional<overtakings::Keeper> keeper_;
  std::uint64_t kept_told_ = 0;  // lines of what it kept
  Clock::time_point started_ = Clock::now(), told_ = Clock::now();
  double earlier_ = 0;                // processor seconds, of the parts before
  std::uint32_t request_number_ = 0;  // of the part, where one after the other is asked for
  bool stopped_ = false;
  bool refused_ = false;  // a part
  std::string whole_;     // why it was not paused, though it should have been
  Reason told_to_stop_ = Reason::none;
  static constexpr std::uint64_t kMostHangs = 3;  // each costs the watchdog's patience
  std::uint64_t hangs_ = 0;
};

}  // namespace teetotal::runtime
