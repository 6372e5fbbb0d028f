// A processor's own cache: sets of lines that are evicted, and requests under way.
//
// A line is in a stable state (I S E O M) and may have a request pending; both together are what protocol tables call
// transient states: S with a pending get_modified is SM, I with it IM. A line that is given up has left its set and is
// in `leaving_` until the home has taken it: M there is MI, and I (lost on the way) is II.
#pragma once

#include <functional>
#include <vector>

#include "simulate/network.hpp"
#include "simulate/protocol.hpp"

namespace teetotal::simulate {

struct Settings {
  Protocol protocol = protocols[0];
  Bug bug = Bug::none;
  std::uint32_t buffer = 0;  // stores that wait in a processor; 0: none do
  std::uint32_t sets = 2, ways = 1, words = 2, home_lines = 3, delay = 20;
};

enum class State : std::uint8_t { invalid, shared, exclusive, owned, modified };
enum class Pending : std::uint8_t { none, get_shared, get_modified };

class Cache {
 public:
  // `arrived`: a line has come that was asked for, or left, so that somebody who waits may go on.
  Cache(Node self, Node home, const Settings& settings, Network& network, std::function<void(Line)> arrived);

  const Word* readable(Line line, std::uint32_t word);
  Word* writable(Line line, std::uint32_t word);
  void ask(Line line, bool to_write);  // again and again, until it is there: only what is not under way is sent
  void receive(const Message& message);

 private:
  struct Entry {
    Line line;
    State state = State::invalid;
    Pending pending = Pending::none;
    bool granted = false, exclusive = false, others_have_it = false, has_incoming = false, keeps_its_own = false;
    std::uint32_t request = 0, expected = 0, responses = 0;
    Data data{}, incoming{}, from_home{};
  };
  struct Leaving {
    Line line;
    State state;
    Data data;
  };

  Entry* find(Line line);
  Leaving* find_leaving(Line line);
  bool make_room(Line line);
  void remove(Line line);
  void probe(const Message& message);
  void complete_if_possible(Entry& entry);
  bool buggy(Bug bug) const { return settings_.bug == bug; }

  const Node self_, home_;
  const Settings& settings_;
  Network& network_;
  const std::function<void(Line)> arrived_;
  std::vector<Entry> entries_;
  std::vector<Leaving> leaving_;
  std::uint32_t requests_ = 0;
};

}  // namespace teetotal::simulate
