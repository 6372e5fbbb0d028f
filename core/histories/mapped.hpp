// A file's text without a copy.
#pragma once

#include <string>
#include <string_view>

namespace teetotal::histories {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path);  // throws HistoryFault
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view text() const { return {static_cast<const char*>(address_), size_}; }

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace teetotal::histories
