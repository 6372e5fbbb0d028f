// dbcop's histories. JSON: sessions of transactions of events,
//   {"data": [[{"events": [{"Read": {"variable": 0, "version": 1}}], "committed": true}]]}
// or the older {"write": true, "variable": 0, "version": 1, "success": true}; other keys are skipped. Text: one
// transaction in brackets, "[x:=1 y==2]", "x==?" (in JSON null) where no version was there yet, "[...]!" where it did
// not commit, a line of dashes between sessions, and comments behind "//".
#include <map>
#include <set>
#include <utility>

#include "histories/readers.hpp"

namespace teetotal::histories {
namespace {

// No version is what was there before all writes, and so is version 0, unless somebody wrote that.
class Versions {
 public:
  std::int64_t none(std::uint32_t address, std::size_t line) {
    read_none_.try_emplace(address, line);
    return 0;
  }
  std::int64_t written(std::uint32_t address, std::int64_t version) {
    if (version == 0) wrote_zero_.insert(address);
    return version;
  }
  void finish_history() {
    for (const auto& [address, line] : read_none_)
      if (wrote_zero_.contains(address))
        throw HistoryFault(line, "a read of no version where version 0 was written: they cannot be told apart here");
    read_none_.clear();
    wrote_zero_.clear();
  }

 private:
  std::map<std::uint32_t, std::size_t> read_none_;
  std::set<std::uint32_t> wrote_zero_;
};

class Json {
 public:
  explicit Json(std::string_view text) : in(text) {}
  Scanner in;

  // For each member of an object: the key, after its colon.
  template <typename Function>
  void object(Function&& member) {
    open('{');
    if (close('}')) return;
    do {
      in.skip_space();
      const std::string key = string();
      in.skip_space();
      in.expect(":");
      in.skip_space();
      member(key);
      in.skip_space();
    } while (in.accept(','));
    if (!in.accept('}')) in.fail("\",\" or \"}\"");
  }

  template <typename Function>
  void array(Function&& element) {
    open('[');
    if (close(']')) return;
    do {
      in.skip_space();
      element();
      in.skip_space();
    } while (in.accept(','));
    if (!in.accept(']')) in.fail("\",\" or \"]\"");
  }

  std::string string() {
    in.expect("\"");
    std::string text;
    while (!in.done() && in.peek() != '"') {
      char c = in.take();
      if (c == '\\' && !in.done()) text.push_back(c), c = in.take();
      text.push_back(c);
    }
    in.expect("\"");
    return text;
  }

  bool boolean() {
    if (in.accept("true")) return true;
    if (!in.accept("false")) in.fail("true or false");
    return false;
  }

  std::optional<std::int64_t> number_or_null() {
    if (in.accept("null")) return std::nullopt;
    return in.number();
  }

  void skip_value() {  // whatever it is, however deep
    std::size_t depth = 0;
    do {
      in.skip_space();
      if (in.done()) in.fail("a value");
      const char c = in.peek();
      if (c == '"') {
        string();
      } else if (c == '{' || c == '[') {
        ++depth;
        in.take();
      } else if (c == '}' || c == ']') {
        if (depth == 0) in.fail("a value");
        --depth;
        in.take();
      } else if (depth > 0 && (c == ',' || c == ':')) {
        in.take();
      } else {
        const char* start = in.position();
        while (!in.done() && std::string_view(",:{}[]\" \t\r\n").find(in.peek()) == std::string_view::npos) in.take();
        if (in.position() == start) in.fail("a value");
      }
    } while (depth > 0);
  }

 private:
  void open(char bracket) {
    in.skip_space();
    in.expect({&bracket, 1});
    in.skip_space();
  }
  bool close(char bracket) {
    in.skip_space();
    return in.accept(bracket);
  }
};

class JsonReader {
 public:
  JsonReader(std::string_view text, ReadOptions options)
      : json_(text), out_(text.size() / 50 + 1, options), options_(options) {
    out_.address_prefix = "x";
  }

  std::vector<History> read() {
    json_.in.skip_space();
    while (!json_.in.done()) {
      bool found = false;
      if (json_.in.peek() == '[') {  // the sessions by themselves
        sessions();
      } else {
        json_.object([&](const std::string& key) {
          if (key != "data") return json_.skip_value();
          if (std::exchange(found, true)) json_.in.reject("\"data\" twice in one object");
          sessions();
        });
        if (!found) json_.in.reject("an object without \"data\"");
      }
      versions_.finish_history();
      out_.finish_history();
      json_.in.skip_space();
    }
    return out_.take();
  }

 private:
  void sessions() {
    std::int64_t session = 0;
    json_.array([&] {
      const std::uint32_t thread = out_.threads.number(session++);
      json_.array([&] { transaction(thread); });
    });
  }

  void transaction(std::uint32_t thread) {
    bool committed = true;
    json_.object([&](const std::string& key) {
      if (key == "events")
        json_.array([&] { event(); });
      else if (key == "committed" || key == "success")
        committed = json_.boolean();
      else
        json_.skip_value();
    });
    committed ? transaction_.finish(out_, thread, options_) : transaction_.clear();
  }

  void event() {
    std::optional<bool> writes;
    bool happened = true;
    std::optional<std::int64_t> variable, version;
    const std::size_t line = json_.in.line();
    const auto field = [&](const std::string& key) {
      if (key == "variable")
        variable = json_.in.number();
      else if (key == "version")
        version = json_.number_or_null();
      else if (key == "write")
        writes = json_.boolean();
      else if (key == "success")
        happened = json_.boolean();
      else
        json_.skip_value();
    };
    json_.object([&](const std::string& key) {
      if (key != "Read" && key != "Write") return field(key);
      writes = key == "Write";
      json_.object(field);
    });
    if (!writes || !variable) throw HistoryFault(line, "an event that is neither a read nor a write of a variable");
    const std::uint32_t address = out_.addresses.number(*variable);
    if (!*writes) {
      if (happened && !version) version = versions_.none(address, line);
      transaction_.read(address, happened ? version : std::nullopt, line);
    } else if (happened) {
      if (!version) throw HistoryFault(line, "a write without a version");
      transaction_.write(address, versions_.written(address, *version), line);
    }
  }

  Json json_;
  Builder out_;
  Versions versions_;
  Transaction transaction_;
  ReadOptions options_;
};

}  // namespace

std::vector<History> read_dbcop_json(std::string_view text, ReadOptions options) {
  return JsonReader(text, options).read();
}

std::vector<History> read_dbcop_text(std::string_view text, ReadOptions options) {
  Scanner in(text);
  Builder out(text.size() / 12 + 1, options);
  Versions versions;
  Transaction transaction;
  std::int64_t session = 0;
  const auto name = [&] {
    const char* start = in.position();
    while (!in.done() && std::string_view(":=[] \t\r\n").find(in.peek()) == std::string_view::npos) in.take();
    if (in.position() == start) in.fail("a variable");
    return in.since(start);
  };
  for (in.skip_space(); !in.done(); in.skip_space()) {
    if (in.peek() == '#' || in.accept("//")) {
      in.rest_of_line();
      continue;
    }
    if (in.accept('-')) {
      while (in.accept('-')) {
      }
      ++session;
      continue;
    }
    const std::uint32_t thread = out.threads.number(session);
    in.expect("[");
    for (in.skip_space(); !in.accept(']'); in.skip_space()) {
      const std::uint32_t address = out.addresses.name(name());
      const bool writes = in.accept(":=");
      if (!writes && !in.accept("==")) in.fail("\":=\" or \"==\"");
      if (writes)
        transaction.write(address, versions.written(address, in.number()), in.line());
      else if (in.accept('?'))
        transaction.read(address, versions.none(address, in.line()), in.line());
      else
        transaction.read(address, in.number(), in.line());
    }
    in.accept('!') ? transaction.clear() : transaction.finish(out, thread, options);
  }
  versions.finish_history();
  return out.take();
}

}  // namespace teetotal::histories
