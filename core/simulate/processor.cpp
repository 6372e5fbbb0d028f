#include "simulate/processor.hpp"

#include <algorithm>
#include <utility>

namespace teetotal::simulate {

namespace {
constexpr std::uint32_t think = 4;  // steps between two accesses, at most
}

Processor::Processor(Node self, Node home, const Settings& settings, Network& network, std::vector<Access> program)
    : self_(self),
      settings_(settings),
      network_(network),
      cache_(self, home, settings, network, [this](Line line) { arrived(line); }),
      program_(std::move(program)) {}

void Processor::start() { network_.wake(self_, Wake::program, settings_.delay); }

void Processor::wake(Wake what) { what == Wake::program ? go_on() : drain(); }

void Processor::go_on() {
  waits_ = false;
  if (next_ == program_.size()) return;
  if (!perform(program_[next_])) {
    waits_ = true;
    return;
  }
  ++next_;
  network_.wake(self_, Wake::program, think);
}

bool Processor::perform(const Access& access) {
  const bool fenced = settings_.bug == Bug::weak_fence && access.kind == Kind::mfence;
  switch (access.kind) {
    case Kind::ld:
      return load(access);
    case Kind::st:
      if (settings_.buffer == 0) return write(access.address, access.value);
      if (buffer_.size() == settings_.buffer) return false;
      buffer_.push_back({access.address, access.value});
      if (!drains_) {
        drains_ = true;
        network_.wake(self_, Wake::buffer, settings_.delay);
      }
      return true;
    case Kind::rmw: {
      if (!buffer_.empty()) return false;
      Word* cell = cache_.writable(line_of(access.address), word_of(access.address));
      if (!cell) {
        cache_.ask(line_of(access.address), true);
        return false;
      }
      results_.push_back(*cell);
      *cell = access.value;
      return true;
    }
    default:
      return buffer_.empty() || fenced;
  }
}

bool Processor::load(const Access& access) {
  if (settings_.bug != Bug::no_forwarding) {
    const auto own = std::find_if(buffer_.rbegin(), buffer_.rend(),
                                  [&](const Store& store) { return store.address == access.address; });
    if (own != buffer_.rend()) {
      results_.push_back(own->value);
      return true;
    }
  }
  const Word* cell = cache_.readable(line_of(access.address), word_of(access.address));
  if (!cell) {
    cache_.ask(line_of(access.address), false);
    return false;
  }
  results_.push_back(*cell);
  return true;
}

bool Processor::write(std::uint32_t address, Word value) {
  Word* cell = cache_.writable(line_of(address), word_of(address));
  if (!cell) {
    cache_.ask(line_of(address), true);
    return false;
  }
  *cell = value;
  return true;
}

void Processor::drain() {
  drain_waits_ = false;
  const Store store = buffer_[leaving_];
  if (!write(store.address, store.value)) {
    drain_waits_ = true;
    return;
  }
  buffer_.erase(buffer_.begin() + static_cast<std::ptrdiff_t>(leaving_));
  leaving_ = 0;
  drains_ = !buffer_.empty();
  if (drains_) {
    if (settings_.bug == Bug::unordered_buffer) {
      const auto any = network_.random.below(static_cast<std::uint32_t>(buffer_.size()));
      while (buffer_[leaving_].address != buffer_[any].address) ++leaving_;  // the oldest to that address
    }
    network_.wake(self_, Wake::buffer, settings_.delay);
  }
  if (waits_) go_on();
}

// First who waits for this line, lest it be evicted for another one before it was of use.
void Processor::arrived(Line line) {
  const bool drain_first = drain_waits_ && line_of(buffer_[leaving_].address) == line;
  if (drain_first) drain();
  if (waits_) go_on();
  if (drain_waits_ && !drain_first) drain();
}

}  // namespace teetotal::simulate
