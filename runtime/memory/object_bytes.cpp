#include "object_bytes.hpp"

#include <pthread.h>
#include <semaphore.h>

#include "process.hpp"

namespace teetotal::runtime {

ObjectBytes object_bytes;

namespace {

struct Layout {
  std::size_t size;
  const char* load;
};

Layout layout_of(Tag tag) {
  switch (tag) {
    case Tag::mutex:
      return {sizeof(pthread_mutex_t), "a load of the bytes of a mutex"};
    case Tag::rwlock:
      return {sizeof(pthread_rwlock_t), "a load of the bytes of a lock of readers and writers"};
    case Tag::condition:
      return {sizeof(pthread_cond_t), "a load of the bytes of a condition"};
    case Tag::barrier:
      return {sizeof(pthread_barrier_t), "a load of the bytes of a barrier"};
    case Tag::semaphore:
      return {sizeof(sem_t), "a load of the bytes of a semaphore"};
    default:  // data, or nothing that lies in memory
      return {0, ""};
  }
}

constexpr std::uintptr_t kLargest = sizeof(pthread_rwlock_t);

std::uintptr_t asked_for(std::uintptr_t address) { return in_heap(address) ? memory.block(address).place : 0; }

}  // namespace

void ObjectBytes::use(std::uintptr_t object, Tag tag) {
  if (!memory.in_object(object) && !in_heap(object)) return;
  const Object used{object, asked_for(object), tag};
  if (objects_.contains(used)) return;
  const Lasting kept;
  objects_.insert(used);
  for (std::uintptr_t at = object; at < object + layout_of(tag).size; at += 8) {
    objects_at_[line_of(at)] = true;
    if (loaded_[line_of(at)] && !process.alone) process.restart = true;
  }
}

void ObjectBytes::load(std::uintptr_t address, std::size_t size, std::uintptr_t place) const {
  if (process.supposing) return;
  const std::uintptr_t block = asked_for(address);
  for (auto it = objects_.lower_bound({address - kLargest, 0, Tag::byte}); it != objects_.end(); ++it) {
    if (it->begin >= address + size) return;
    const Layout layout = layout_of(it->tag);
    if (it->asked_for != block || it->begin + layout.size <= address) continue;
    if (!callers.empty()) place = callers.teller(place, __builtin_frame_address(0));
    remarks.unseen.insert({layout.load, place});
    return;
  }
}

}  // namespace teetotal::runtime
