#include "simulate/cache.hpp"

#include <algorithm>
#include <utility>

namespace teetotal::simulate {

using Type = Message::Type;

namespace {

bool answers_for(State state) { return state >= State::exclusive; }

}  // namespace

Cache::Cache(Node self, Node home, const Settings& settings, Network& network, std::function<void(Line)> arrived)
    : self_(self), home_(home), settings_(settings), network_(network), arrived_(std::move(arrived)) {}

Cache::Entry* Cache::find(Line line) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.line == line; });
  return found == entries_.end() ? nullptr : &*found;
}

Cache::Leaving* Cache::find_leaving(Line line) {
  const auto found = std::find_if(leaving_.begin(), leaving_.end(), [&](const Leaving& l) { return l.line == line; });
  return found == leaving_.end() ? nullptr : &*found;
}

void Cache::remove(Line line) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.line == line; });
}

const Word* Cache::readable(Line line, std::uint32_t word) {
  const Entry* entry = find(line);
  return entry && entry->state != State::invalid ? &entry->data[word] : nullptr;
}

Word* Cache::writable(Line line, std::uint32_t word) {
  Entry* entry = find(line);
  if (!entry || (entry->state != State::exclusive && entry->state != State::modified)) return nullptr;
  entry->state = State::modified;  // whoever asks is about to write
  return &entry->data[word];
}

// A way of the line's set, where need be another line's. Lines under way stay where they are.
bool Cache::make_room(Line line) {
  const auto same_set = [&](const Entry& entry) { return entry.line % settings_.sets == line % settings_.sets; };
  std::vector<Line> settled;
  std::uint32_t taken = 0;
  for (const Entry& entry : entries_) {
    if (!same_set(entry)) continue;
    ++taken;
    if (entry.pending == Pending::none) settled.push_back(entry.line);
  }
  if (taken < settings_.ways) return true;
  if (settled.empty()) return false;
  const Line victim = settled[network_.random.below(static_cast<std::uint32_t>(settled.size()))];
  const Entry& entry = *find(victim);
  if (answers_for(entry.state)) {
    leaving_.push_back({victim, entry.state, entry.data});
    network_.send({Type::put, self_, home_, victim});
  }  // what is only shared goes without a word
  remove(victim);
  return true;
}

void Cache::ask(Line line, bool to_write) {
  if (find_leaving(line)) return;
  Entry* entry = find(line);
  if (entry && entry->pending != Pending::none) return;
  if (!entry) {
    if (!make_room(line)) return;
    entries_.push_back({line});
    entry = &entries_.back();
  }
  const bool modify = to_write || !settings_.protocol.shared;
  entry->pending = modify ? Pending::get_modified : Pending::get_shared;
  entry->request = ++requests_;
  entry->granted = entry->others_have_it = entry->has_incoming = entry->keeps_its_own = false;
  entry->responses = 0;
  network_.send({modify ? Type::get_modified : Type::get_shared, self_, home_, line, entry->request});
}

void Cache::receive(const Message& message) {
  switch (message.type) {
    case Type::probe:
      return probe(message);
    case Type::grant:
    case Type::response: {
      Entry* entry = find(message.line);
      if (!entry || entry->pending == Pending::none || entry->request != message.request) return;  // only with a bug
      if (message.type == Type::grant) {
        entry->granted = true;
        entry->expected = message.expected;
        entry->exclusive = message.exclusive;
        entry->from_home = message.data;
        if (buggy(Bug::stale_memory)) entry->has_incoming = false;
      } else {
        ++entry->responses;
        entry->others_have_it |= message.had_copy;
        if (message.has_data) {
          entry->has_incoming = true;
          entry->incoming = message.data;
        }
      }
      return complete_if_possible(*entry);
    }
    case Type::writeback_ack: {
      Leaving* leaving = find_leaving(message.line);
      if (!leaving) return;
      Message answer{Type::writeback_data, self_, home_, message.line};
      answer.has_data = answers_for(leaving->state);
      answer.data = leaving->data;
      network_.send(answer);
      std::erase_if(leaving_, [&](const Leaving& l) { return l.line == message.line; });
      return arrived_(message.line);
    }
    default:
      return;
  }
}

void Cache::complete_if_possible(Entry& entry) {
  const bool modify = entry.pending == Pending::get_modified;
  const bool hasty = modify && buggy(Bug::early_acknowledgement);
  if (!entry.granted || (entry.responses != entry.expected && !hasty)) return;
  if (entry.has_incoming && !entry.keeps_its_own)
    entry.data = entry.incoming;
  else if (entry.state == State::invalid)
    entry.data = entry.from_home;
  entry.state = modify ? State::modified : entry.exclusive && !entry.others_have_it ? State::exclusive : State::shared;
  entry.pending = Pending::none;
  network_.send({Type::unblock, self_, home_, entry.line, entry.request});
  arrived_(entry.line);
}

void Cache::probe(const Message& message) {
  Entry* entry = find(message.line);
  Leaving* leaving = find_leaving(message.line);
  State nothing = State::invalid;
  State& state = leaving ? leaving->state : entry ? entry->state : nothing;
  Message answer{Type::response, self_, message.collector, message.line, message.request};
  answer.had_copy = state != State::invalid;
  answer.has_data = answers_for(state);
  if (answer.has_data) answer.data = leaving ? leaving->data : entry->data;
  network_.send(answer);
  if (!message.invalidate) {
    if (!settings_.protocol.owned) {  // the home waits for it
      answer.type = Type::copy_back;
      answer.to = home_;
      network_.send(answer);
    }
    if (answer.has_data) state = settings_.protocol.owned ? State::owned : State::shared;
    return;
  }
  if (leaving && buggy(Bug::writeback_race)) return;
  if (entry && entry->pending == Pending::get_modified && state == State::shared && buggy(Bug::missed_upgrade)) {
    entry->keeps_its_own = true;
    return;
  }
  const bool busy = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& other) {
    return other.line != message.line && other.pending != Pending::none;
  });
  if (entry && busy && buggy(Bug::lost_invalidation)) {
    if (settings_.protocol.shared && state != State::invalid) state = State::shared;
    return;
  }
  state = State::invalid;
  if (entry && entry->pending == Pending::none) remove(message.line);
}

}  // namespace teetotal::simulate
