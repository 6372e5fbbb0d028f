// The home of all lines: memory, and, as the protocol has it, a directory or an inclusive cache before it. It serves
// one request for a line after the other.
#pragma once

#include <deque>
#include <vector>

#include "simulate/cache.hpp"

namespace teetotal::simulate {

class Home {
 public:
  Home(Node self, std::uint32_t lines, const Settings& settings, Network& network);
  void receive(const Message& message);

 private:
  static constexpr std::int64_t nobody = -1;
  struct Entry {
    Data data{};
    bool present = false;  // in the inclusive cache
    std::int64_t owner = nobody;
    std::vector<bool> sharers;
    std::deque<Message> waiting;
    // about the request that is being served
    bool busy = false, recalled = false, unblocked = false, copy_back_due = false, grant_due = false;
    Message request{};
    Message grant{};
    std::uint32_t outstanding = 0;
  };

  void serve(Line line);
  bool make_room();
  bool recalled_at_once(Line line);
  void drop(Line line);
  void start(Line line);
  void collect(Line line, const Message& response);
  void finish_if_possible(Line line);
  void finish(Line line);
  bool buggy(Bug bug) const { return settings_.bug == bug; }

  const Node self_;
  const Settings& settings_;
  Network& network_;
  std::vector<Entry> lines_;
  std::uint32_t present_ = 0, recalls_ = 0;
};

}  // namespace teetotal::simulate
