// A text in any of the formats. Which it is in, Python tells (histories/formats.py).
#include <algorithm>
#include <cstring>

#include "histories/readers.hpp"

namespace teetotal::histories {
namespace {

std::string_view without_mark(std::string_view text) {  // the byte order mark of some editors
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

// Names go to Python as they are, and from there to terminals: so they must be UTF-8, without control characters. Of
// almost all text, eight bytes take one look: none is negative, below a blank, or 127.
void require_text(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const auto refuse = [&](std::size_t i, const std::string& message) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(i);
    throw HistoryFault(1 + static_cast<std::size_t>(std::count(text.begin(), end, '\n')), message);
  };
  constexpr std::uint64_t ones = 0x0101010101010101ULL, highest = 0x80 * ones;
  for (std::size_t i = 0; i < text.size();) {
    std::uint64_t word;
    if (i + 8 <= text.size() &&
        (std::memcpy(&word, text.data() + i, 8), ((word | (word - 0x20 * ones) | (word + ones)) & highest) == 0)) {
      i += 8;
      continue;
    }
    const unsigned c = byte(i);
    const unsigned control = c == 0xc2 && byte(i + 1) < 0xa0 && continues(i + 1) ? byte(i + 1) : c;
    if ((control < 0x20 && control != '\t' && control != '\n' && control != '\r') ||
        (control >= 0x7f && control < 0xa0))
      refuse(i, "not text: the control character " + std::to_string(control));
    if (c < 0x80)
      i += 1;
    else if (c >= 0xc2 && c <= 0xdf && continues(i + 1))
      i += 2;
    else if (c >= 0xe0 && c <= 0xef && continues(i + 1) && continues(i + 2) && (c != 0xe0 || byte(i + 1) >= 0xa0) &&
             (c != 0xed || byte(i + 1) < 0xa0))
      i += 3;
    else if (c >= 0xf0 && c <= 0xf4 && continues(i + 1) && continues(i + 2) && continues(i + 3) &&
             (c != 0xf0 || byte(i + 1) >= 0x90) && (c != 0xf4 || byte(i + 1) < 0x90))
      i += 4;
    else
      refuse(i, "not UTF-8 text");
  }
}

}  // namespace

std::vector<History> read_histories(std::string_view text, std::string_view format, ReadOptions options) {
  text = without_mark(text);
  require_text(text);
  if (format == "axe") return read_axe(text, options);
  if (format == "text") return read_text(text, options);
  if (format == "json") return read_dbcop_json(text, options);
  if (format == "dbcop") return read_dbcop_text(text, options);
  if (format == "polysi") return read_polysi(text, options);
  if (format == "edn") return read_edn(text, options);
  if (format == "jepsen") return read_jepsen_log(text, options);
  if (format == "tracegen") return read_tracegen(text, options);
  if (format == "gem5") return read_gem5(text, options);
  throw HistoryFault(0, "unknown format " + quoted(format));
}

}  // namespace teetotal::histories
