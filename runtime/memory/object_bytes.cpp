#include "object_bytes.hpp"

#include <pthread.h>
#include <semaphore.h>

#include "objects.hpp"
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
    if (accessed_[line_of(at)] && !process.alone) process.restart = true;
  }
}

const ObjectBytes::Object* ObjectBytes::met_by(std::uintptr_t address, std::size_t size) const {
  const std::uintptr_t block = asked_for(address);
  for (auto it = objects_.lower_bound({address - kLargest, 0, Tag::byte}); it != objects_.end(); ++it) {
    if (it->begin >= address + size) return nullptr;
    if (it->asked_for == block && it->begin + layout_of(it->tag).size > address) return &*it;
  }
  return nullptr;
}

void ObjectBytes::load(std::uintptr_t address, std::size_t size, std::uintptr_t place) const {
  if (process.supposing) return;
  const Object* object = met_by(address, size);
  if (object == nullptr) return;
  if (!callers.empty()) place = callers.teller(place, __builtin_frame_address(0));
  remarks.unseen.insert({layout_of(object->tag).load, place});
}

bool ObjectBytes::store(Thread& self, std::uintptr_t address, std::size_t size, std::uintptr_t place) const {
  const Object* object = met_by(address, size);
  if (object == nullptr || address + size > object->begin + layout_of(object->tag).size) return false;
  if (address < object->begin) {
    remarks.unseen.insert(
        {"a store to the beginning of an object to synchronise on, and to what lies before it,", place});
    return false;
  }
  if (address == object->begin) begin(self, object->tag, reinterpret_cast<const void*>(address), place);
  return true;
}

}  // namespace teetotal::runtime
