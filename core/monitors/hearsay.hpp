// What threads know of writes by hearsay, as a search notes it where it looks for races.
//
// An event of thread p at location a knows a write w to a by hearsay if w happens before p's previous event, is
// another's, and p has not accessed a since. Nothing but such a write can be overtaken, and few events know any
// (docs/explanation/monitors.md, Lemma 9). An event whose thread's previous one the execution before had too knows what
// the thread's next event knew there, and is no news (Lemma 10).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace teetotal::monitors {

struct Hearsay {
  static constexpr std::int32_t kNone = -1;  // is before all events

  // Of an event: the one that its thread did before it, and the latest write to its location before it.
  struct Link {
    std::int32_t previous, source;
  };

  // An event that knows writes by hearsay: the newest of them, and those before it in co behind the thread's own latest
  // access to the location. Of a plain store, to which only the newest plain one matters, that access is not looked
  // for.
  struct Rumour {
    std::uint32_t thread;
    std::int32_t event;     // of what a thread stands before and does not do: kNone
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
    void forget(std::size_t events) {  // all but those of the first events
      while (size_ > 0 && static_cast<std::size_t>(rumours_[size_ - 1].event) >= events) --size_;
    }
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

  bool noted = false;       // false: the search at hand does not tell
  std::vector<Link> links;  // of the events of the execution, by number
  Rumours rumours;          // of its events, in their order: what is news since the execution before
  Rumours waiting;          // the same of what threads stand before that wait at the end
};

}  // namespace teetotal::monitors
