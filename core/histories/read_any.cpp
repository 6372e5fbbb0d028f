// Which format a text is in, by its first line that says something.
#include <regex>

#include "histories/readers.hpp"

namespace teetotal::histories {

std::optional<std::string_view> detect_format(std::string_view text) {
  static const std::pair<std::regex, std::string_view> formats[] = {
      {std::regex(R"([rw]\(\s*-?\d.*)"), "polysi"},
      {std::regex(R"(\(?\[?\s*(#\S+\s*)?\{\s*:.*)"), "edn"},
      {std::regex(R"((#jepsen\S*\s*)\{.*)"), "edn"},
      {std::regex(R"(\[\s*[^\s:=\[\]{}]+(:=|==).*|\[\s*\]!?.*|---.*)"), "dbcop"},
      {std::regex(R"(\d+\s*:\s*(load|store|swap|load-reserve|store-cond|fence)-(req|resp).*|\d+\s*:\s*resp\b.*)"),
       "tracegen"},
      {std::regex(R"(\d+\s*:\s*(M\[|v\d|sync|\{).*|final\s+(M\[|v\d+\s*==).*|check\s*)"), "axe"},
      {std::regex(R"(\d+\s*:\s*\S.* : .*)"), "gem5"},
      {std::regex(R"(history\b.*|(init|final)\s+\S+\s*=[^=].*|\S+\s*:\s*(st|ld|rmw|mfence|sfence)\b.*)"), "text"},
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line(text.substr(at, std::min<std::size_t>(end - at, 300)));  // enough, and no regex on a huge line
    at = end + 1;
    line.erase(0, line.find_first_not_of(" \t\r,"));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    const bool comment = line.empty() || line[0] == ';' || (line[0] == '#' && !line.starts_with("#jepsen"));
    if (comment || line == "[" || line == "(") continue;
    for (char& c : line)
      if (c < ' ' || c == 127) c = '?';
    if (line[0] == '{') {
      const std::size_t inside = line.find_first_not_of(" \t", 1);
      return inside != std::string::npos && line[inside] == ':' ? "edn" : "json";
    }
    for (const auto& [pattern, name] : formats)
      if (std::regex_match(line, pattern)) return name;
    return std::nullopt;
  }
  return std::nullopt;
}

std::vector<History> read_histories(std::string_view text, std::string_view format, ReadOptions options) {
  if (format == "axe") return read_axe(text);
  if (format == "text") return read_text(text);
  if (format == "json") return read_dbcop_json(text, options);
  if (format == "dbcop") return read_dbcop_text(text, options);
  if (format == "polysi") return read_polysi(text, options);
  if (format == "edn") return read_edn(text, options);
  if (format == "tracegen") return read_tracegen(text);
  if (format == "gem5") return read_gem5(text);
  throw HistoryFault(0, "unknown format " + quoted(format));
}

}  // namespace teetotal::histories
