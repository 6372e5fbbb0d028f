#include "memory.hpp"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "process.hpp"
#include "reserving.hpp"

namespace teetotal::runtime {

Memory memory;

namespace {

constexpr std::size_t kSmall = 256 * 1024;

constexpr std::size_t kSizes = (std::size_t{1} << 40) - 1;
struct Header {
  std::size_t size : 40, end : 24;  // who freed it, where it was freed
  std::uintptr_t place;
};
static_assert(sizeof(Header) == kGrain);

}  // namespace

void Memory::clear(std::uintptr_t begin, std::size_t size) {
  const std::uintptr_t page = (begin + 4095) / 4096 * 4096;
  if (size <= kSmall) {
    std::memset(reinterpret_cast<void*>(begin), 0, size);
  } else {
    std::memset(reinterpret_cast<void*>(begin), 0, page - begin);
    madvise(reinterpret_cast<void*>(page), (begin + size - page + 4095) / 4096 * 4096, MADV_DONTNEED);
  }
}

void Memory::prepare() {
  const bool open = reserve(kHeap, kMaxThreads * kHeapStride);
  const bool both = reserve(kShadow, kMaxThreads * kHeapStride / kGrain) && open;
  open_.fill(both ? kHeapStride : 0);
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        static_cast<std::vector<std::uintptr_t>*>(data)->push_back(info->dlpi_addr);
        return 0;
      },
      &of_explorer_);
}

void Memory::adopt_object(const void* inside) {
  struct Search {
    Memory* adopter;
    std::uintptr_t inside;
  } search{this, reinterpret_cast<std::uintptr_t>(inside)};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        const auto& [adopter, wanted] = *static_cast<Search*>(data);
        const auto at = [&](const ElfW(Phdr) & header) { return info->dlpi_addr + header.p_vaddr; };
        bool here = false;
        std::uintptr_t begin = ~std::uintptr_t{0}, end = 0, constant_begin = 0, constant_end = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr) & header = info->dlpi_phdr[i];
          if (header.p_type == PT_GNU_RELRO) {
            constant_begin = at(header);
            constant_end = at(header) + header.p_memsz;
          }
          if (header.p_type != PT_LOAD) continue;
          begin = std::min<std::uintptr_t>(begin, at(header));
          end = std::max<std::uintptr_t>(end, at(header) + header.p_memsz);
          here = here || wanted - at(header) < header.p_memsz;
        }
        if (std::ranges::find(adopter->of_explorer_, info->dlpi_addr) != adopter->of_explorer_.end()) return 0;
        if (here) {
          adopter->object_begin_ = begin;
          adopter->object_end_ = end;
        }
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr) & header = info->dlpi_phdr[i];
          if (header.p_type == PT_LOAD && (header.p_flags & PF_W) != 0) {
            std::uintptr_t first = at(header);
            if (first >= constant_begin && first < constant_end) first = constant_end;
            adopter->adopt_segment(first, at(header) + header.p_memsz);
          } else if (header.p_type == PT_TLS && here) {
            adopter->tls_module = info->dlpi_tls_modid;
            adopter->tls_size = header.p_memsz;
            adopter->tls_image = reinterpret_cast<const void*>(at(header));
            adopter->tls_image_size = header.p_filesz;
          } else if (header.p_type == PT_TLS) {
            adopter->library_locals.push_back(
                {info->dlpi_tls_modid, header.p_memsz, header.p_filesz, reinterpret_cast<const void*>(at(header))});
          }
        }
        return 0;
      },
      &search);
}

void Memory::adopt_segment(std::uintptr_t begin, std::uintptr_t end) {
  if (begin >= end) return;
  const std::size_t size = end - begin;
  const auto* bytes = reinterpret_cast<const std::byte*>(begin);
  if (size <= kSmall) {
    segments_.push_back({begin, size, {bytes, bytes + size}});
    return;
  }
  // The pages that lie wholly inside come from a file that holds what is in them now; the edges are copied.
  const std::uintptr_t first = (begin + 4095) / 4096 * 4096, last = end / 4096 * 4096;
  const auto check = [&](bool done) {
    if (!done)
      throw std::runtime_error(std::to_string(size >> 20) +
                               " MB of variables cannot be kept in a file in memory: " + std::strerror(errno));
  };
  const int file = memfd_create("teetotal-segment", MFD_CLOEXEC);
  check(file >= 0 && ftruncate(file, static_cast<off_t>(last - first)) == 0);
  for (std::uintptr_t at = first; at < last; at += 4096) {  // pages of zeros stay holes
    const auto* page = reinterpret_cast<const char*>(at);
    if (std::all_of(page, page + 4096, [](char c) { return c == 0; })) continue;
    check(pwrite(file, page, 4096, static_cast<off_t>(at - first)) == 4096);
  }
  auto* const there = reinterpret_cast<void*>(first);
  check(mmap(there, last - first, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0) == there);
  close(file);
  segments_.push_back({first, last - first, {}});
  if (begin < first) segments_.push_back({begin, first - begin, {bytes, bytes + (first - begin)}});
  if (last < end) {
    const auto* edge = reinterpret_cast<const std::byte*>(last);
    segments_.push_back({last, end - last, {edge, edge + (end - last)}});
  }
}

void Memory::keep_heap() {
  kept_ = used_[0];
  const auto* heap = reinterpret_cast<const std::byte*>(kHeap);
  const auto* shadow = reinterpret_cast<const std::byte*>(kShadow);
  kept_heap_.assign(heap, heap + kept_);
  kept_shadow_.assign(shadow, shadow + kept_ / kGrain);
}

void Memory::reset() {
  for (const Segment& segment : segments_) {
    if (segment.saved.empty()) {
      madvise(reinterpret_cast<void*>(segment.begin), segment.size, MADV_DONTNEED);
    } else {
      std::memcpy(reinterpret_cast<void*>(segment.begin), segment.saved.data(), segment.size);
    }
  }
  for (std::uint32_t thread = 0; thread < kMaxThreads; ++thread) {
    if (used_[thread] == 0) continue;
    const std::size_t offset = thread * kHeapStride;
    clear(kHeap + offset, used_[thread]);
    clear(kShadow + offset / kGrain, used_[thread] / kGrain + 1);
    used_[thread] = 0;
  }
  if (kept_ != 0) {
    std::memcpy(reinterpret_cast<void*>(kHeap), kept_heap_.data(), kept_);
    std::memcpy(reinterpret_cast<void*>(kShadow), kept_shadow_.data(), kept_ / kGrain);
    used_[0] = kept_;
  }
}

bool Memory::copyable() const {
  return std::ranges::none_of(segments_, [](const Segment& segment) { return segment.saved.empty(); });
}

void Memory::written(std::vector<Region>& into, std::uint32_t threads) const {
  for (const Segment& segment : segments_) into.push_back({segment.begin, segment.size});
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    if (used_[thread] == 0) continue;
    const std::size_t offset = thread * kHeapStride;
    into.push_back({kHeap + offset, used_[thread]});
    into.push_back({kShadow + offset / kGrain, used_[thread] / kGrain + 1});
  }
}

void Memory::shrink(const Used& used, std::uint32_t threads) {
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    if (used_[thread] == used[thread]) continue;
    const std::size_t offset = thread * kHeapStride + used[thread], more = used_[thread] - used[thread];
    clear(kHeap + offset, more);
    clear(kShadow + offset / kGrain, more / kGrain + 1);
    used_[thread] = used[thread];
  }
}

void Memory::open(std::uint32_t thread, std::size_t size, std::uintptr_t place) {
  constexpr std::size_t kLeast = std::size_t{1} << 20;
  const std::size_t more = std::min(std::max({kLeast, 2 * open_[thread], size}), kHeapStride);
  const std::size_t offset = thread * kHeapStride;
  if (!open_up(kHeap + offset, more) || !open_up(kShadow + offset / kGrain, more / kGrain + 1))
    fail(process.threads[thread], Failure::too_large, "needs more memory than there is", place);
  open_[thread] = more;
}

void* Memory::allocate(std::uint32_t thread, std::size_t size, std::size_t alignment, std::uintptr_t place) {
  std::size_t& used = used_[thread];
  alignment = std::max(alignment, kGrain);
  const std::size_t start = (used + kGrain + alignment - 1) / alignment * alignment;
  const std::size_t grains = std::max<std::size_t>(1, (size + kGrain - 1) / kGrain);
  if (size >= kHeapStride || start + grains * kGrain > kHeapStride - kGrain) return nullptr;
  if (start + grains * kGrain > open_[thread]) [[unlikely]]
    open(thread, start + grains * kGrain, place);
  used = start + grains * kGrain;
  const std::uintptr_t address = kHeap + thread * kHeapStride + start;
  *reinterpret_cast<Header*>(address - kGrain) = {size & kSizes, 0, place};
  std::memset(&shadow(address), static_cast<int>(Grain::more), grains);
  shadow(address) = static_cast<std::uint8_t>(Grain::first);
  std::uint8_t& last = shadow(address + (grains - 1) * kGrain);
  last = static_cast<std::uint8_t>(last | (grains * kGrain - size) << kBehind);
  return reinterpret_cast<void*>(address);
}

Block Memory::block(std::uintptr_t address) const {
  if (!in_heap(address) || grain(address) == Grain::unused) return {};
  std::uintptr_t start = address / kGrain * kGrain;
  while (grain(start) == Grain::more || grain(start) == Grain::freed_more) start -= kGrain;
  const auto* header = reinterpret_cast<const Header*>(start - kGrain);
  return {start, header->size, header->place, grain(start) == Grain::freed_first,
          static_cast<std::uint32_t>(header->end)};
}

Block Memory::mapping(std::uintptr_t address) const {
  const auto around = [&](const Block& pages) { return address - pages.address < pages.size; };
  const auto found = std::find_if(mappings_.rbegin(), mappings_.rend(), around);
  return found == mappings_.rend() ? Block{} : *found;
}

void Memory::release(const Block& block, std::uint32_t end) {
  reinterpret_cast<Header*>(block.address - kGrain)->end = end & 0xFF'FFFF;
  const std::size_t grains = std::max<std::size_t>(1, (block.size + kGrain - 1) / kGrain);
  std::memset(&shadow(block.address), static_cast<int>(Grain::freed_more), grains);
  shadow(block.address) = static_cast<std::uint8_t>(Grain::freed_first);
}

}  // namespace teetotal::runtime
