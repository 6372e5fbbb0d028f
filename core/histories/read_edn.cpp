// Jepsen's histories in EDN: maps {:process 0 :type :invoke|:ok|:fail|:info :f :read|:write|:cas|:txn :key k :value v},
// one after the other or in one vector, tagged or not. [k v] as a value is a key with its value. What :fail reports did
// not happen. An :info write may have happened: nothing follows it in its process, so it is kept, which does no harm if
// nobody read it. A read of nil saw the initial state.
#include <algorithm>
#include <map>
#include <set>

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
  explicit Edn(std::string_view text) : in(text) {}
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
      if (in.peek() != '{') token();
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

class EdnReader {
 public:
  EdnReader(std::string_view text, ReadOptions options) : edn_(text), out_(0, options), options_(options) {}

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
    for (const auto& [process, pending] : invoked_) settle(pending, "info");
    for (const std::uint32_t address : reads_nil_) out_.initial(address, nil, 0);
    if (!reads_nil_.empty()) {
      edn_.in.refuse_least_beside_nil();
      out_.has_nil();
    }
    drop_or_keep_cas();
    return out_.take();
  }

 private:
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
    if (!event.process || event.type.empty()) throw HistoryFault(event.line, "an operation without :process or :type");
    if (event.process->kind != Form::number) return;  // :nemesis
    const std::int64_t process = event.process->value;
    if (event.type == ":invoke") {
      if (retired_.contains(process)) throw HistoryFault(event.line, "a process goes on after :info");
      if (!invoked_.emplace(process, event).second)
        throw HistoryFault(event.line, "a process invokes again before its last operation ended");
      return;
    }
    const auto found = invoked_.find(process);
    if (found == invoked_.end()) throw HistoryFault(event.line, "an operation ends that was never invoked");
    Event invocation = found->second;
    invoked_.erase(found);
    if (event.type == ":fail") return;
    if (event.type == ":info") {
      retired_.insert(process);
      return settle(invocation, "info");
    }
    if (event.type != ":ok") throw HistoryFault(event.line, "expected :invoke, :ok, :fail or :info");
    if (!event.value || event.value->kind == Form::null)
      if (invocation.function != ":read") event.value = invocation.value;
    if (!event.key) event.key = invocation.key;
    event.function = invocation.function;
    settle(event, "ok");
  }

  // What took place (ok), or may have (info).
  void settle(const Event& event, std::string_view outcome) {
    const bool known = outcome == "ok";
    const std::uint32_t thread = out_.threads.number(event.process->value);
    if (event.function == ":txn") return transaction(event, thread, known);
    Form value = event.value.value_or(Form{});
    std::optional<Form> key = event.key;
    const bool is_cas = event.function == ":cas";
    if (!key && value.kind == Form::list && value.items.size() == 2 &&
        (!is_cas || value.items[1].kind == Form::list)) {  // [key value]
      key = value.items[0];
      const Form inner = value.items[1];
      value = inner;
    }
    const std::uint32_t address = this->address(key, event.line);
    if (event.function == ":read") {
      if (known) out_.load(thread, address, result(address, value, event.line), event.line);
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
      throw HistoryFault(event.line, "operations are :read, :write, :cas and :txn, not " + quoted(event.function));
    }
  }

  void transaction(const Event& event, std::uint32_t thread, bool known) {
    if (!event.value || event.value->kind != Form::list) throw HistoryFault(event.line, "a :txn without a list");
    for (const Form& part : event.value->items) {
      if (part.kind != Form::list || part.items.size() != 3 ||
          (part.items[0].text != ":r" && part.items[0].text != ":w"))
        throw HistoryFault(event.line, "a :txn is made of [:r key value] and [:w key value]");
      const std::uint32_t address = this->address(part.items[1], event.line);
      if (part.items[0].text == ":w") {
        transaction_.write(address, number(part.items[2], event.line), event.line);
        written_.insert({address, number(part.items[2], event.line)});
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
    const std::int64_t value = form.kind == Form::null ? nil : number(form, line);
    if (form.kind == Form::null) reads_nil_.insert(address);
    read_.insert({address, value});
    return value;
  }

  // A :cas that may have happened: it did if somebody read what only it wrote, and can be left out if nobody did.
  void drop_or_keep_cas() {
    for (const Uncertain& cas : uncertain_) {
      if (!read_.contains({cas.address, cas.fresh})) continue;
      if (written_.contains({cas.address, cas.fresh}))
        throw HistoryFault(cas.line,
                           "an indeterminate :cas whose value others wrote too: it cannot be told whether it happened");
      out_.rmw(cas.thread, cas.address, cas.old, cas.fresh, cas.line);
    }
  }

  struct Uncertain {
    std::uint32_t thread, address;
    std::int64_t old, fresh;
    std::size_t line;
  };

  Edn edn_;
  Builder out_;
  Transaction transaction_;
  ReadOptions options_;
  std::map<std::int64_t, Event> invoked_;
  std::set<std::int64_t> retired_;
  std::set<std::uint32_t> reads_nil_;
  std::set<std::pair<std::uint32_t, std::int64_t>> read_, written_;
  std::vector<Uncertain> uncertain_;
};

}  // namespace

std::vector<History> read_edn(std::string_view text, ReadOptions options) { return EdnReader(text, options).read(); }

}  // namespace teetotal::histories
