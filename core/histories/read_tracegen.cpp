// Logs of rocket-chip's TraceGen: requests "tid: load-req 0xADDR #tag @t", "tid: store-req VAL 0xADDR #tag @t",
// swap-req, load-reserve-req, store-cond-req, fence-req, and responses "tid: resp VAL #tag @t", "tid: fence-resp @t".
// Program order is the order of the requests. A load-reserve and the successful store-cond after it are a load and an
// rmw; a store-cond that answers anything but 0 failed and wrote nothing. Other lines are the simulator's chatter.
#include <map>
#include <utility>

#include "histories/readers.hpp"

namespace teetotal::histories {
namespace {

struct Request {
  enum { load, store, swap, reserve, conditional, fence } kind;
  std::uint32_t thread, address;
  std::int64_t value, begin, end = -1;
  std::optional<std::int64_t> response;
  std::size_t line;
};

class TraceGenReader {
 public:
  TraceGenReader(std::string_view text, ReadOptions options) : in_(text), out_(text.size() / 50 + 1, options) {}

  std::vector<History> read() {
    while (!in_.done()) {
      out_.poll();
      in_.skip_blanks();
      if (in_.at_digit()) {
        line();
      } else {
        in_.rest_of_line();
      }
    }
    emit();
    return out_.take();
  }

 private:
  void line() {
    const std::uint32_t thread = out_.threads.number(in_.number());
    in_.skip_blanks();
    in_.expect(":");
    in_.skip_blanks();
    Request request{Request::load, thread, nothing, 0, -1, -1, std::nullopt, in_.line()};
    if (in_.accept("resp")) return response(thread);
    if (in_.accept("fence-resp")) {
      in_.rest_of_line();
      return;
    }
    if (in_.accept("fence-req")) {
      request.kind = Request::fence;
      requests_.push_back(request);
      in_.rest_of_line();
      return;
    }
    if (in_.accept("load-req")) {
      request.kind = Request::load;
    } else if (in_.accept("load-reserve-req")) {
      request.kind = Request::reserve;
    } else if (in_.accept("store-req")) {
      request.kind = Request::store;
    } else if (in_.accept("swap-req")) {
      request.kind = Request::swap;
    } else if (in_.accept("store-cond-req")) {
      request.kind = Request::conditional;
    } else {
      in_.fail("a request or a response");
    }
    in_.skip_blanks();
    if (request.kind != Request::load && request.kind != Request::reserve) {
      request.value = in_.number();
      in_.skip_blanks();
    }
    request.address = out_.addresses.name(hexadecimal_name(static_cast<std::uint64_t>(in_.number())));
    const std::int64_t tag = this->tag();
    request.begin = time();
    if (!outstanding_.emplace(std::pair(thread, tag), requests_.size()).second)
      in_.reject("a second request with the tag of one that has no response yet");
    requests_.push_back(request);
    in_.expect_line_end();
  }

  void response(std::uint32_t thread) {
    in_.skip_blanks();
    const std::int64_t value = in_.number();
    const auto found = outstanding_.find({thread, tag()});
    if (found == outstanding_.end()) in_.reject("a response to no request");
    requests_[found->second].response = value;
    requests_[found->second].end = time();
    outstanding_.erase(found);
    in_.expect_line_end();
  }

  std::int64_t tag() {
    in_.skip_blanks();
    in_.expect("#");
    return in_.number();
  }
  std::int64_t time() {
    in_.skip_blanks();
    in_.expect("@");
    in_.skip_blanks();
    return in_.number();
  }
  void emit() {
    std::map<std::uint32_t, std::size_t> reserved;  // per thread: its newest load-reserve
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const Request& request = requests_[i];
      switch (request.kind) {
        case Request::reserve:
          reserved[request.thread] = i;
          [[fallthrough]];
        case Request::load:
          out_.load(request.thread, request.address, request.response, request.line);
          break;
        case Request::store:
          out_.store(request.thread, request.address, request.value, request.line);
          break;
        case Request::swap:
          out_.rmw(request.thread, request.address, request.response, request.value, request.line);
          break;
        case Request::fence:
          out_.fence(request.thread, Kind::mfence, request.line);
          break;
        case Request::conditional: {
          if (!request.response)
            throw HistoryFault(request.line, "a store-cond without a response: did it write or not?");
          const auto load = reserved.extract(request.thread);  // whether it succeeds or not, the reservation is gone
          if (*request.response != 0) continue;
          if (load.empty() || requests_[load.mapped()].address != request.address)
            throw HistoryFault(request.line, "a successful store-cond without a load-reserve of its address");
          out_.rmw(request.thread, request.address, requests_[load.mapped()].response, request.value, request.line);
          break;
        }
      }
      if (request.begin >= 0) out_.times(request.begin, request.end);
    }
  }

  Scanner in_;
  Builder out_;
  std::vector<Request> requests_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::size_t> outstanding_;
};

}  // namespace

std::vector<History> read_tracegen(std::string_view text, ReadOptions options) {
  return TraceGenReader(text, options).read();
}

}  // namespace teetotal::histories
