#include "histories/mapped.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "histories/history.hpp"

namespace teetotal::histories {

MappedFile::MappedFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw HistoryFault(0, std::strerror(errno));
  struct stat status;
  const bool known = fstat(file, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    close(file);
    throw HistoryFault(0, "not a regular file");
  }
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ > 0) address_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
  const int failure = errno;
  close(file);
  if (address_ == MAP_FAILED) throw HistoryFault(0, std::strerror(failure));
  if (size_ > 0) madvise(address_, size_, MADV_SEQUENTIAL);
}

MappedFile::~MappedFile() {
  if (size_ > 0) munmap(address_, size_);
}

}  // namespace teetotal::histories
