// What threads know of writes by hearsay, as a search notes it where it looks for races.
//
// An event of thread p at location a knows a write w to a by hearsay if w happens before p's previous event, is
// another's, and p has not accessed a since. Nothing but such a write can be overtaken, and few events know any
// (docs/explanation/monitors.md, Lemma 9). What the event behind a thread's `previous` one knows is the same in all
// executions that have that one, and is no news where it was told (Lemma 10).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "../event.hpp"

namespace teetotal::monitors {

struct Hearsay {
  static constexpr std::int32_t kNone = -1;  // is before all events

  // Of an event: the one that its thread did before it, and the latest write to its location before it; and whether it
  // was told what the thread's next event knows.
  struct Link {
    std::int32_t previous, source;
    bool told_next;
  };

  // An event that knows writes by hearsay: the newest of them, and those before it in co behind the thread's own latest
  // access to the location. Of a plain store, to which only the newest plain one matters, that access is not looked
  // for.
  struct Rumour {
    Event knows;
    std::int32_t event;     // its number; of what a thread stands before and does not do: kNone
    std::int32_t previous;  // never kNone
    std::int32_t write;
    std::int32_t looked;
  };

  // A row of them, each made in its place: a processor waits for what is copied as soon as it is written.
  class Rumours {
   public:
    Rumour& more() {
      if (size_ == rumours_.size()) [[unlikely]]
        rumours_.resize(2 * size_ + 16);
      return rumours_[size_++];
    }
    void clear() { size_ = 0; }
    void drop_last() { --size_; }
    std::span<const Rumour> all() const { return {rumours_.data(), size_}; }

   private:
    std::vector<Rumour> rumours_;
    std::size_t size_ = 0;
  };

  // A search begins that notes it.
  void begin() {
    noted = true;
    rumours.clear();
    waiting.clear();
  }

  // The next event of the execution.
  void follow(std::size_t event, Link link) {
    if (links.size() <= event) [[unlikely]]
      links.resize(2 * event + 64);
    links[event] = link;
  }

  // Whether nobody was told yet what comes behind that event of its thread. They are now.
  bool is_news(std::int32_t previous) {
    return previous != kNone && !std::exchange(links[static_cast<std::size_t>(previous)].told_next, true);
  }
  // All but so many events are taken back. Of these nobody was told what is in `rumours` still.
  void go_back(std::size_t events) {
    for (; !rumours.all().empty() && static_cast<std::size_t>(rumours.all().back().event) >= events;
         rumours.drop_last())
      links[static_cast<std::size_t>(rumours.all().back().previous)].told_next = false;
  }

  bool silent() const { return rumours.all().empty() && waiting.all().empty(); }

  bool noted = false;       // false: the search at hand does not tell
  std::vector<Link> links;  // of the events of the execution, by number
  Rumours rumours;          // of its events, in their order: what is news since the execution before
  Rumours waiting;          // the same of what threads stand before that wait at the end
};

}  // namespace teetotal::monitors
