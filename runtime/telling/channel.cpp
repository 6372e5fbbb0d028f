#include "channel.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <new>
#include <stdexcept>

#include "calls.hpp"
#include "reserving.hpp"

namespace teetotal::runtime {

Channel channel;

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kMostUnread = std::uint64_t{1} << 28;  // bytes

struct Record {
  std::uint64_t offset;
  std::uint64_t size;
  std::uint64_t check;
};

std::uint64_t check_of(std::uint64_t offset, std::string_view text) {
  std::uint64_t hash = offset ^ 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

std::uint64_t whole(std::uint64_t size) { return (sizeof(Record) + size + 7) / 8 * 8; }

template <typename T>
T* shared(std::size_t size) {
  static_assert(sizeof(T) <= kPage);
  void* pages = reserve_shared(size);
  if (pages == nullptr) throw std::runtime_error("there is no memory to share");
  return new (pages) T;
}

bool within(const void* pages, std::size_t size, std::uintptr_t begin, std::uintptr_t end) {
  const auto at = reinterpret_cast<std::uintptr_t>(pages);
  return begin < at + size && at < end;
}

}  // namespace

// Its first page; records begin on the second.
struct Channel::Log {
  std::atomic<std::uint64_t> end = kPage;   // of what was told
  std::atomic<std::uint64_t> read = kPage;  // of what was taken from it

  char* at(std::uint64_t offset) { return reinterpret_cast<char*>(this) + offset; }
};

void Channel::open() {
  log_ = shared<Log>(kLog);
  pulse_ = shared<Pulse>(kPage);
  notices_ = shared<Notices>(kPage);
  inbox_ = shared<char>(kLargestRequest);
  notices_->supervisor = getpid();
  read_ = kPage;
}

void Channel::protect() const {
  if (!is_open()) return;
  kernel(SYS_mprotect, log_, kLog, PROT_NONE);
  kernel(SYS_mprotect, notices_, kPage, PROT_READ);
  kernel(SYS_mprotect, inbox_, kLargestRequest, PROT_NONE);
}

std::string Channel::wait_for_request(std::uint32_t known) const {
  while (notices_->requests == known) kernel(SYS_futex, &notices_->requests, FUTEX_WAIT, known, nullptr);
  kernel(SYS_mprotect, inbox_, kLargestRequest, PROT_READ);
  std::string request(inbox_, notices_->request_size);
  kernel(SYS_mprotect, inbox_, kLargestRequest, PROT_NONE);
  return request;
}

void Channel::answered(std::uint32_t number) const {
  pulse_->answered = number;
  kernel(SYS_kill, notices_->supervisor.load(), kAnsweredSignal);
}

void Channel::ask(std::string_view request) const {
  if (request.size() > kLargestRequest) throw std::runtime_error("a request is too large");
  std::memcpy(inbox_, request.data(), request.size());
  notices_->request_size = request.size();
  ++notices_->requests;
  syscall(SYS_futex, &notices_->requests, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void Channel::tell(std::string_view text) const {
  kernel(SYS_mprotect, log_, kLog, PROT_READ | PROT_WRITE);
  while (log_->end.load() - log_->read.load() > kMostUnread) {
    const timespec moment{0, 1'000'000};
    kernel(SYS_nanosleep, &moment, nullptr);
  }
  const std::uint64_t offset = log_->end.load();
  const Record record{offset, text.size(), check_of(offset, text)};
  std::memcpy(log_->at(offset), &record, sizeof record);
  std::memcpy(log_->at(offset) + sizeof record, text.data(), text.size());
  log_->end.store(offset + whole(text.size()));
  kernel(SYS_mprotect, log_, kLog, PROT_NONE);
}

std::string_view Channel::next() {
  const std::uint64_t end = log_->end.load();
  if (end == read_) return {};
  Record record{};
  if (end < read_ + sizeof record || end > kLog) throw Overwritten{};
  std::memcpy(&record, log_->at(read_), sizeof record);
  if (record.offset != read_ || record.size > end - read_ - sizeof record) throw Overwritten{};
  const std::string_view text(log_->at(read_) + sizeof record, record.size);
  if (check_of(read_, text) != record.check) throw Overwritten{};
  return text;
}

void Channel::taken(std::string_view record) {
  const std::uint64_t before = read_ / kPage * kPage;
  read_ += whole(record.size());
  log_->read.store(read_);
  const std::uint64_t after = read_ / kPage * kPage;
  if (after > before && before >= kPage) madvise(log_->at(before), after - before, MADV_REMOVE);
}

bool Channel::overlaps(std::uintptr_t begin, std::uintptr_t end) const {
  return is_open() && (within(log_, kLog, begin, end) || within(pulse_, kPage, begin, end) ||
                       within(notices_, kPage, begin, end) || within(inbox_, kLargestRequest, begin, end));
}

}  // namespace teetotal::runtime
