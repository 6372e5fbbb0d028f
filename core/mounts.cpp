#include "mounts.hpp"

#include <fstream>
#include <sstream>

namespace teetotal {
namespace {

// A blank in a path is written \040.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at)
    if (text[at] == '\\' && at + 3 < text.size()) {
      plain += static_cast<char>(std::stoi(text.substr(at + 1, 3), nullptr, 8));
      at += 3;
    } else {
      plain += text[at];
    }
  return plain;
}

}  // namespace

std::vector<Mount> mounts(const std::filesystem::path& root) {
  std::vector<Mount> found;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string skipped, begin, where, type, options;
    words >> skipped >> skipped >> skipped >> begin >> where;
    while (words >> type && type != "-") {  // its own options, and as many fields as the kernel likes
    }
    words >> type >> skipped >> options;
    found.push_back({unescaped(begin), unescaped(where), type, options});
  }
  return found;
}

}  // namespace teetotal
