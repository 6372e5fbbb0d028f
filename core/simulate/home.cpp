#include "simulate/home.hpp"

#include <algorithm>

namespace teetotal::simulate {

using Type = Message::Type;

Home::Home(Node self, std::uint32_t lines, const Settings& settings, Network& network)
    : self_(self), settings_(settings), network_(network), lines_(lines) {
  for (Entry& entry : lines_) entry.sharers.resize(self);
}

void Home::receive(const Message& message) {
  Entry& entry = lines_[message.line];
  switch (message.type) {
    case Type::get_shared:
    case Type::get_modified:
    case Type::put:
      entry.waiting.push_back(message);
      return serve(message.line);
    case Type::response:
      return collect(message.line, message);
    case Type::copy_back:
      if (message.has_data && !buggy(Bug::lost_copyback)) entry.data = message.data;
      entry.copy_back_due = false;
      return finish_if_possible(message.line);
    case Type::unblock:
      entry.unblocked = true;
      return finish_if_possible(message.line);
    case Type::writeback_data:
      if (message.has_data) {
        entry.data = message.data;
        entry.owner = nobody;
      }
      return finish(message.line);
    default:
      return;
  }
}

void Home::serve(Line line) {
  Entry& entry = lines_[line];
  if (entry.busy || entry.waiting.empty()) return;
  const bool is_put = entry.waiting.front().type == Type::put;
  if (settings_.protocol.inclusive && !entry.present && !is_put) {
    if (!make_room()) return;
    entry.present = true;
    ++present_;
  }
  entry.request = entry.waiting.front();
  entry.waiting.pop_front();
  entry.busy = true;
  entry.unblocked = entry.copy_back_due = entry.grant_due = entry.recalled = false;
  entry.outstanding = 0;
  if (is_put)
    network_.send({Type::writeback_ack, self_, entry.request.from, line});
  else
    start(line);
}

// Of the inclusive cache: a line that nobody asks for now is recalled from all who have it. What waits for room is
// served when that has come to its end.
bool Home::make_room() {
  if (present_ < settings_.home_lines) return true;
  std::vector<Line> settled;
  for (Line line = 0; line < lines_.size(); ++line) {
    if (lines_[line].recalled) return false;  // one at a time is enough
    if (lines_[line].present && !lines_[line].busy) settled.push_back(line);
  }
  if (settled.empty()) return false;
  return recalled_at_once(settled[network_.random.below(static_cast<std::uint32_t>(settled.size()))]);
}

bool Home::recalled_at_once(Line line) {
  Entry& entry = lines_[line];
  entry.busy = entry.recalled = true;
  entry.outstanding = 0;
  entry.request = {Type::get_modified, self_, self_, line, 0x80000000U | ++recalls_};
  for (Node node = 0; node < self_; ++node) {
    const bool owns = entry.owner == node;
    if (!owns && (!entry.sharers[node] || buggy(Bug::silent_recall))) continue;
    ++entry.outstanding;
    Message probe{Type::probe, self_, node, line, entry.request.request};
    probe.collector = self_;
    probe.invalidate = true;
    network_.send(probe);
  }
  if (entry.outstanding > 0) return false;
  drop(line);
  return true;
}

void Home::drop(Line line) {
  Entry& entry = lines_[line];
  entry.busy = entry.recalled = entry.present = false;
  entry.owner = nobody;
  std::fill(entry.sharers.begin(), entry.sharers.end(), false);
  --present_;
}

void Home::start(Line line) {
  Entry& entry = lines_[line];
  const Protocol& protocol = settings_.protocol;
  const Node requester = entry.request.from;
  const bool modify = entry.request.type == Type::get_modified;
  bool others_own = entry.owner != nobody && entry.owner != requester;
  if (others_own && buggy(Bug::stale_forward) &&
      std::any_of(entry.waiting.begin(), entry.waiting.end(),
                  [&](const Message& m) { return m.type == Type::put && m.from == entry.owner; })) {
    entry.owner = nobody;
    others_own = false;
  }
  bool others_share = false;
  for (Node node = 0; node < self_; ++node) {
    if (node == requester) continue;
    others_share |= entry.sharers[node];
    const bool owns = entry.owner == node;
    const bool forgotten = others_own && !owns && buggy(Bug::forgotten_sharers);
    const bool asked = protocol.broadcast || owns || (modify && entry.sharers[node] && !forgotten);
    if (!asked) continue;
    ++entry.outstanding;
    Message probe{Type::probe, self_, node, line, entry.request.request};
    probe.collector = protocol.home_collects ? self_ : requester;
    probe.invalidate = modify;
    network_.send(probe);
  }
  entry.grant = {Type::grant, self_, requester, line, entry.request.request};
  entry.grant.exclusive = !modify && protocol.exclusive && !others_own && !others_share;
  entry.grant.data = entry.data;
  // from now on
  const bool downgraded = !modify && others_own && !protocol.owned;
  entry.copy_back_due = downgraded && !protocol.broadcast;
  if (!protocol.broadcast) {
    if (downgraded) {
      entry.sharers[static_cast<Node>(entry.owner)] = true;
      entry.owner = nobody;
    }
    if (modify) std::fill(entry.sharers.begin(), entry.sharers.end(), false);
    if (modify || entry.grant.exclusive)
      entry.owner = requester;
    else
      entry.sharers[requester] = true;
  }
  entry.grant_due = protocol.home_collects && entry.outstanding > 0;
  if (entry.grant_due && !(modify && buggy(Bug::early_acknowledgement))) return;
  entry.grant_due = false;
  entry.grant.expected = protocol.home_collects ? 0 : entry.outstanding;
  network_.send(entry.grant);
}

void Home::collect(Line line, const Message& response) {
  Entry& entry = lines_[line];
  if (!entry.busy || entry.outstanding == 0 || response.request != entry.request.request) return;  // only with a bug
  --entry.outstanding;
  if (response.has_data) (entry.recalled ? entry.data : entry.grant.data) = response.data;
  if (entry.outstanding > 0) return;
  if (entry.recalled) return finish(line);
  if (!entry.grant_due) return;
  entry.grant_due = false;
  network_.send(entry.grant);
}

void Home::finish_if_possible(Line line) {
  const Entry& entry = lines_[line];
  if (entry.busy && entry.unblocked && !entry.copy_back_due) finish(line);
}

void Home::finish(Line line) {
  lines_[line].busy = false;
  if (lines_[line].recalled) drop(line);
  serve(line);
  if (!settings_.protocol.inclusive) return;
  for (Line other = 0; other < lines_.size(); ++other)  // who waits for room
    if (other != line && !lines_[other].present) serve(other);
}

}  // namespace teetotal::simulate
