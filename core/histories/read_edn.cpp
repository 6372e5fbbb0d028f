// Jepsen's histories in EDN: maps {:process 0 :type :invoke|:ok|:fail|:info :f :read|:write|:cas|:txn :key k :value v},
// one after the other or in one vector, tagged or not; or as a log has them, "0 :invoke :read nil". [k v] as a value is
// a key with its value. What :fail reports did not happen. An :info write may have happened: nothing follows it in its
// process, so it is kept, which does no harm if nobody read it. A read of nil saw the initial state.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "histories/readers.hpp"

namespace teetotal::histories {
namespace {

struct Form {  // a value as deep as operations need it
  enum { number, null, other, list } kind = null;
  std::int64_t value = 0;
  std::string_view text;
  std::vector<Form> items;
};

constexpr std::size_t deepest = 8;  // [[:r k v] …] has three levels

class Edn {
 public:
  explicit Edn(Scanner scanner) : in(scanner) {}
  Scanner in;

  void skip() {
    for (;;) {
      in.skip_space();
      if (in.accept(','))
        continue;
      else if (in.peek() == ';')
        in.rest_of_line();
      else
        return;
    }
  }

  std::string_view token() {
    const char* start = in.position();
    while (!in.done() && std::string_view(" \t\r\n,;{}[]()\"").find(in.peek()) == std::string_view::npos) in.take();
    if (in.position() == start) in.fail("a value");
    return in.since(start);
  }

  std::string_view string() {
    const char* start = in.position();
    in.expect("\"");
    while (!in.done() && in.peek() != '"')
      if (in.take() == '\\' && !in.done()) in.take();
    in.expect("\"");
    return in.since(start);
  }

  void tag() {  // #name before a form
    while (in.accept('#')) {
      if (in.peek() != '{' && token() == "_")
        in.reject("#_ before a form, which is then to be left out: not read here");
      skip();
    }
  }

  Form form(std::size_t depth = 0) {
    skip();
    tag();
    Form result;
    const char c = in.peek();
    if (c == '[' || c == '(') {
      if (depth == deepest) in.reject("nested too deeply for an operation");
      result.kind = Form::list;
      in.take();
      for (skip(); in.peek() != ']' && in.peek() != ')'; skip()) {
        if (in.done()) in.fail("\"]\"");
        result.items.push_back(form(depth + 1));
      }
      in.take();
    } else if (c == '{') {
      skip_form();
      result.kind = Form::other;
    } else if (c == '"') {
      result.kind = Form::other;
      result.text = string();
    } else if (c == '-' || in.at_digit()) {
      const char* start = in.position();
      result.kind = Form::number;
      result.value = in.number();
      in.accept('N');
      if (!in.done() && std::string_view(" \t\r\n,;{}[]()\"").find(in.peek()) == std::string_view::npos) {
        token();  // 1.5, 1/2: no integer
        result.kind = Form::other;
      }
      result.text = in.since(start);
    } else {
      result.text = token();
      result.kind = result.text == "nil" ? Form::null : Form::other;
    }
    return result;
  }

  void skip_form() {  // whatever it is, however deep
    std::size_t depth = 0;
    do {
      skip();
      tag();
      if (in.done()) in.fail("a value");
      const char c = in.peek();
      if (c == '{' || c == '[' || c == '(') {
        ++depth;
        in.take();
      } else if (c == '}' || c == ']' || c == ')') {
        if (depth == 0) in.fail("a value");
        --depth;
        in.take();
      } else if (c == '"') {
        string();
      } else {
        token();
      }
    } while (depth > 0);
  }
};

struct Logged {  // an operation in a line of a log: "… 0 :invoke :read nil"
  std::int64_t process;
  std::string_view type, function;
  std::size_t rest;  // where its value begins
};

std::optional<Logged> find_logged(std::string_view line) {
  constexpr std::string_view blanks = " \t";
  for (std::size_t at = line.find(':'); at != std::string_view::npos; at = line.find(':', at + 1)) {
    std::string_view type;
    for (const std::string_view candidate : {":invoke", ":ok", ":fail", ":info"})
      if (line.substr(at, candidate.size()) == candidate) type = candidate;
    const std::size_t end = at + type.size();
    if (type.empty() || end >= line.size() || blanks.find(line[end]) == std::string_view::npos) continue;
    const std::size_t last = at == 0 ? std::string_view::npos : line.find_last_not_of(blanks, at - 1);
    const std::size_t next = line.find_first_not_of(blanks, end);
    if (last == std::string_view::npos || last + 1 == at || next == std::string_view::npos || line[next] != ':')
      continue;
    const std::size_t before = line.find_last_of(blanks, last);
    const std::string_view process = line.substr(before == std::string_view::npos ? 0 : before + 1, last - before);
    if (process.size() > 18 || process.find_first_not_of("0123456789") != std::string_view::npos) continue;
    const std::size_t stop = std::min(line.find_first_of(blanks, next), line.size());
    return Logged{Scanner(process).number(), type, line.substr(next, stop - next), stop};
  }
  return std::nullopt;
}

class EdnReader {
 public:
  EdnReader(std::string_view text, ReadOptions options) : edn_(Scanner(text)), out_(0, options), options_(options) {}

  std::vector<History> read() {
    int open = 0;
    for (edn_.skip(); !edn_.in.done(); edn_.skip()) {
      edn_.tag();
      if (edn_.in.accept('[') || edn_.in.accept('('))
        ++open;
      else if (open > 0 && (edn_.in.accept(']') || edn_.in.accept(')')))
        --open;
      else
        operation();
    }
    if (open > 0) edn_.in.fail("\"]\"");
    return finish();
  }

  // A log, or history.txt: what is no operation is skipped.
  std::vector<History> read_log() {
    while (!edn_.in.done()) {
      out_.poll();
      const std::size_t number = edn_.in.line();
      const std::string_view line = edn_.in.rest_of_line();
      const std::optional<Logged> logged = find_logged(line);
      if (!logged) continue;
      Edn rest(Scanner(line, logged->rest, number));
      Event event{logged->type, logged->function, {}, {}, {}, number};
      event.process = Form{Form::number, logged->process, {}, {}};
      rest.in.skip_blanks();
      if (!rest.in.done()) event.value = rest.form();
      edn_.in.note_least_of(rest.in);
      happened(std::move(event));
    }
    return finish();
  }

 private:
  std::vector<History> finish() {
    for (const auto& [process, pending] : invoked_) settle(pending, "info");
    if (keyless_ && pair_ > 0)
      throw HistoryFault(pair_, "two values beside operations without :key: a key with its value, or a list of two");
    for (const std::uint32_t address : reads_nil_) out_.initial(address, nil, 0);
    if (!reads_nil_.empty()) {
      edn_.in.refuse_least_beside_nil();
      out_.has_nil();
    }
    drop_or_keep_cas();
    out_.rmws_read(before_);
    return out_.take();
  }

  struct Event {
    std::string_view type, function;
    std::optional<Form> process, key, value;
    std::size_t line;
  };

  void operation() {
    out_.poll();
    Event event{{}, {}, {}, {}, {}, edn_.in.line()};
    edn_.in.expect("{");
    for (edn_.skip(); !edn_.in.accept('}'); edn_.skip()) {
      const std::string_view key = edn_.token();
      edn_.skip();
      if (key == ":type")
        event.type = edn_.token();
      else if (key == ":f")
        event.function = edn_.token();
      else if (key == ":process")
        event.process = edn_.form();
      else if (key == ":key")
        event.key = edn_.form();
      else if (key == ":value")
        event.value = edn_.form();
      else
        edn_.skip_form();
    }
    if (event.type.empty()) throw HistoryFault(event.line, "an operation without :type");
    happened(std::move(event));
  }

  void happened(Event event) {
    if (event.process && event.process->kind != Form::number) {  // :nemesis
      if (is_operation(event.function)) throw HistoryFault(event.line, "an operation by a :process that is no number");
      return;
    }
    const bool ends = event.type == ":ok" || event.type == ":info";
    if (!ends && event.type != ":invoke" && event.type != ":fail")
      throw HistoryFault(event.line, "expected :invoke, :ok, :fail or :info, found " + quoted(event.type));
    if (!event.process) {  // who did it is not known, and so neither what that one did before
      if (ends) settle(event, event.type == ":ok" ? "ok" : "info");
      return;
    }
    const std::int64_t process = event.process->value;
    if (event.type == ":invoke") {
      anybody_invokes_ = true;
      if (retired_.contains(process)) throw HistoryFault(event.line, "a process goes on after :info");
      if (!invoked_.emplace(process, event).second)
        throw HistoryFault(event.line, "a process invokes again before its last operation ended");
      return;
    }
    const auto found = invoked_.find(process);
    if (found == invoked_.end()) {
      if (anybody_invokes_) throw HistoryFault(event.line, "an operation ends that was never invoked");
      if (!ends) return;  // a history without invocations
      if (retired_.contains(process)) throw HistoryFault(event.line, "a process goes on after :info");
      if (event.type == ":info") retired_.insert(process);
      settle(event, event.type == ":ok" ? "ok" : "info");
      return;
    }
    Event invocation = found->second;
    invoked_.erase(found);
    if (event.type == ":fail") return;
    if (event.type == ":info") {
      retired_.insert(process);
      return settle(invocation, "info");
    }
    if (!event.value || event.value->kind == Form::null)
      if (invocation.function != ":read") event.value = invocation.value;
    if (!event.key) event.key = invocation.key;
    event.function = invocation.function;
    settle(event, "ok");
  }

  // What took place (ok), or may have (info).
  void settle(const Event& event, std::string_view outcome) {
    const bool known = outcome == "ok";
    const std::uint32_t thread =
        event.process ? out_.threads.number(event.process->value) : out_.threads.name(somebody(event.line));
    if (event.function == ":txn") return transaction(event, thread, known);
    Form value = event.value.value_or(Form{});
    std::optional<Form> key = event.key;
    const bool is_cas = event.function == ":cas";
    if (!key && value.kind == Form::list && value.items.size() == 2 &&
        (!is_cas || value.items[1].kind == Form::list)) {  // [key value]
      key = value.items[0];
      const Form inner = value.items[1];
      value = inner;
      pair_ = pair_ > 0 ? pair_ : event.line;
    } else if (!key && (known || event.function != ":read")) {
      keyless_ = true;
    }
    const std::uint32_t address = this->address(key, event.line);
    if (event.function == ":read") {
      if (known) out_.load(thread, address, result(address, value, event.line), event.line);
    } else if (event.function == ":append") {
      transaction_.append(address, appended(address, value, event.line), event.line);
      transaction_.finish(out_, thread, options_);
    } else if (event.function == ":write") {
      out_.store(thread, address, number(value, event.line), event.line);
      written_.insert({address, number(value, event.line)});
    } else if (is_cas) {
      if (value.kind != Form::list || value.items.size() != 2)
        throw HistoryFault(event.line, "a :cas without [old new]");
      const std::int64_t old = number(value.items[0], event.line), fresh = number(value.items[1], event.line);
      if (known) {
        out_.rmw(thread, address, old, fresh, event.line);
        read_.insert({address, old});
        written_.insert({address, fresh});
      } else {
        uncertain_.push_back({thread, address, old, fresh, event.line});
      }
    } else {
      throw HistoryFault(event.line,
                         "operations are :read, :write, :cas, :append and :txn, not " + quoted(event.function));
    }
  }

  // Who is not known is somebody else each time.
  std::string somebody(std::size_t line) {
    nameless_ = line == nameless_line_ ? nameless_ + 1 : 1;
    nameless_line_ = line;
    return "line" + std::to_string(line) + (nameless_ > 1 ? "." + std::to_string(nameless_) : "");
  }

  static bool is_operation(std::string_view function) {
    return function == ":read" || function == ":write" || function == ":cas" || function == ":append" ||
           function == ":txn";
  }

  void transaction(const Event& event, std::uint32_t thread, bool known) {
    if (!event.value || event.value->kind != Form::list) throw HistoryFault(event.line, "a :txn without a list");
    for (const Form& part : event.value->items) {
      if (part.kind != Form::list || part.items.size() != 3 ||
          (part.items[0].text != ":r" && part.items[0].text != ":w" && part.items[0].text != ":append"))
        throw HistoryFault(event.line, "a :txn is made of [:r key value], [:w key value] and [:append key value]");
      const std::uint32_t address = this->address(part.items[1], event.line);
      if (part.items[0].text == ":w") {
        transaction_.write(address, number(part.items[2], event.line), event.line);
        written_.insert({address, number(part.items[2], event.line)});
      } else if (part.items[0].text == ":append") {
        transaction_.append(address, appended(address, part.items[2], event.line), event.line);
      } else if (known) {
        transaction_.read(address, result(address, part.items[2], event.line), event.line);
      }
    }
    transaction_.finish(out_, thread, options_);
  }

  std::uint32_t address(const std::optional<Form>& key, std::size_t line) {
    if (!key || key->kind == Form::null) return out_.addresses.name("register");
    if (key->text.empty()) throw HistoryFault(line, "a key that is no number, keyword or string");
    return out_.addresses.name(std::string(key->kind == Form::number ? "x" : "").append(key->text));
  }
  std::int64_t number(const Form& form, std::size_t line) const {
    if (form.kind != Form::number) throw HistoryFault(line, "a value that is no integer");
    return form.value;
  }
  std::int64_t result(std::uint32_t address, const Form& form, std::size_t line) {
    const std::int64_t value = form.kind == Form::null   ? nil
                               : form.kind == Form::list ? newest(address, form, line)
                                                         : number(form, line);
    if (form.kind == Form::null) reads_nil_.insert(address);
    read_.insert({address, value});
    return value;
  }

  // A list is told by what was appended to it last; what was there before, each of its elements tells of the next.
  std::int64_t newest(std::uint32_t address, const Form& list, std::size_t line) {
    reads_nil_.insert(address);
    std::int64_t last = nil;
    for (const Form& item : list.items) {
      const std::int64_t value = number(item, line);
      const auto [known, first] = before_.try_emplace({address, value}, last);
      if (!first && known->second != last)
        throw HistoryFault(line,
                           "a list in another order than was read before: no order of the appends gives both, so "
                           "that the history is not consistent under any model");
      last = value;
    }
    return last;
  }

  std::int64_t appended(std::uint32_t address, const Form& form, std::size_t line) {
    const std::int64_t value = number(form, line);
    reads_nil_.insert(address);  // a list is empty at first
    if (!written_.insert({address, value}).second)
      throw HistoryFault(line, "a value that was appended before: which of the two was read cannot be told");
    return value;
  }

  // A :cas that may have happened: it did if somebody read what only it wrote, another of its kind that did included,
  // and can be left out if nobody did.
  void drop_or_keep_cas() {
    for (bool again = true; again;) {
      again = false;
      for (Uncertain& cas : uncertain_) {
        if (cas.happened || !read_.contains({cas.address, cas.fresh})) continue;
        cas.happened = again = true;
        read_.insert({cas.address, cas.old});
      }
    }
    for (const Uncertain& cas : uncertain_) {
      if (!cas.happened) continue;
      const bool initial = cas.fresh == 0 && !reads_nil_.contains(cas.address);
      if (initial || !written_.insert({cas.address, cas.fresh}).second)
        throw HistoryFault(
            cas.line, "an indeterminate :cas whose value was there without it: it cannot be told whether it happened");
      out_.rmw(cas.thread, cas.address, cas.old, cas.fresh, cas.line);
    }
  }

  struct Uncertain {
    std::uint32_t thread, address;
    std::int64_t old, fresh;
    std::size_t line;
    bool happened = false;
  };

  Edn edn_;
  Builder out_;
  Transaction transaction_;
  ReadOptions options_;
  std::map<std::int64_t, Event> invoked_;
  std::set<std::int64_t> retired_;
  bool anybody_invokes_ = false, keyless_ = false;
  std::size_t pair_ = 0;  // the line of the first [key value]
  std::size_t nameless_ = 0, nameless_line_ = 0;
  std::set<std::uint32_t> reads_nil_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t> before_;  // in lists
  std::set<std::pair<std::uint32_t, std::int64_t>> read_, written_;
  std::vector<Uncertain> uncertain_;
};

}  // namespace

std::vector<History> read_edn(std::string_view text, ReadOptions options) { return EdnReader(text, options).read(); }

std::vector<History> read_jepsen_log(std::string_view text, ReadOptions options) {
  return EdnReader(text, options).read_log();
}

}  // namespace teetotal::histories
