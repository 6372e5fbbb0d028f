// OpenMP as gcc compiles it: a parallel region is threads that run the same function and are joined behind it.
//
// Loops with a static schedule and atomic operations are code of the program's own; critical sections, barriers, single
// and locks are here; all other functions of libgomp are refused by name (refused.def), as the library knows nothing of
// our threads. Regions inside regions have one thread, as is the default.
#include <cstdint>
#include <ctime>

#include "accesses.hpp"
#include "openmp.hpp"
#include "synchronisation.hpp"

namespace teetotal::runtime {

OpenMp openmp;

namespace {

constexpr unsigned kTeam = 2;  // threads, where the program does not say

// In the program's own memory, which goes back with the rest.
struct Team {
  Barrier barrier;
  unsigned size;
  int singles;  // constructs that a thread has entered first
};

struct Start {
  void (*routine)(void*);
  void* argument;
  Team* team;
  unsigned number;
};

Team* team_of(const Thread& thread) { return static_cast<Team*>(thread.openmp.team); }

void enter(Thread& self, Team* team, unsigned number) {
  self.openmp.team = team;
  self.openmp.number = number;
  self.openmp.singles = 0;
}

void* run(void* given) {
  const Start start = *static_cast<Start*>(given);
  enter(*process.current, start.team, start.number);
  start.routine(start.argument);
  return nullptr;
}

template <typename T>
T* allocate(Thread& self, std::size_t count, std::uintptr_t place) {
  return static_cast<T*>(memory.allocate(self.number, count * sizeof(T), alignof(T), place));
}

unsigned wanted_threads() {
  if (openmp.team_size != 0) return openmp.team_size;
  remarks.note("OpenMP: a parallel region has 2 threads where the program does not say how many");
  return kTeam;
}

void parallel(Thread& self, void (*routine)(void*), void* argument, unsigned size, std::uintptr_t place) {
  Team* const outer = team_of(self);
  const unsigned number = self.openmp.number;
  const int singles = self.openmp.singles;
  if (outer != nullptr) size = 1;
  if (size == 0) size = wanted_threads();
  auto* team = allocate<Team>(self, 1, place);
  *team = {{0, size, 0}, size, 0};
  auto* starts = allocate<Start>(self, size, place);
  auto* handles = allocate<pthread_t>(self, size, place);
  enter(self, team, 0);
  for (unsigned other = 1; other < size; ++other) {
    starts[other] = {routine, argument, team, other};
    handles[other] = handle_of(next_thread(self));
    create_thread(self, run, &starts[other], false, place);
  }
  routine(argument);
  void* nothing = nullptr;
  for (unsigned other = 1; other < size; ++other) join(self, handles[other], false, nothing, place);
  self.openmp.team = outer;
  self.openmp.number = number;
  self.openmp.singles = singles;
}

// The one section without a name, and what no instruction does atomically.
void enter_section(int& section, std::uintptr_t place) {
  synchronise(*process.current, Verb::enter_section, Kind::lock, Tag::mutex, &section, place,
              {.enabled = [](const Thread& t) { return word(t) == 0; }, .waiting = Waiting::lock});
  section = 1;
}

void leave_section(int& section, std::uintptr_t place) {
  synchronise(*process.current, Verb::leave_section, Kind::unlock, Tag::mutex, &section, place);
  section = 0;
}

struct NestedLock {
  int lock, count;
};

}  // namespace
}  // namespace teetotal::runtime

using namespace teetotal;           // NOLINT: the hooks below are the whole rest of the file
using namespace teetotal::runtime;  // NOLINT

extern "C" {

void GOMP_parallel(void (*routine)(void*), void* argument, unsigned size, unsigned) {
  if (process.current == nullptr) return routine(argument);
  parallel(*process.current, routine, argument, size, TEETOTAL_PLACE);
}
void GOMP_barrier() {
  Thread* self = process.current;
  if (self != nullptr && team_of(*self) != nullptr) barrier_wait(*self, &team_of(*self)->barrier, TEETOTAL_PLACE);
}
bool GOMP_single_start() {
  Thread* self = process.current;
  Team* team = self == nullptr ? nullptr : team_of(*self);
  if (team == nullptr) return true;
  synchronise(*self, Verb::none, Kind::rmw, Tag::word, &team->singles, TEETOTAL_PLACE,
              {.writes = Writes::if_equal, .expected = static_cast<Wide>(self->openmp.singles)});
  const bool first = team->singles == self->openmp.singles++;
  team->singles += first;
  return first;
}
void GOMP_critical_start() {
  if (process.current != nullptr) enter_section(openmp.critical_section, TEETOTAL_PLACE);
}
void GOMP_critical_end() {
  if (process.current != nullptr) leave_section(openmp.critical_section, TEETOTAL_PLACE);
}
void GOMP_critical_name_start(void** name) {
  if (process.current != nullptr) lock(*process.current, name, TEETOTAL_PLACE);
}
void GOMP_critical_name_end(void** name) {
  if (process.current != nullptr) unlock(*process.current, name, TEETOTAL_PLACE);
}
void GOMP_atomic_start() {
  if (process.current != nullptr) enter_section(openmp.atomic_region, TEETOTAL_PLACE);
}
void GOMP_atomic_end() {
  if (process.current != nullptr) leave_section(openmp.atomic_region, TEETOTAL_PLACE);
}

int omp_get_thread_num() { return process.current == nullptr ? 0 : static_cast<int>(process.current->openmp.number); }
int omp_get_num_threads() {
  const Team* team = process.current == nullptr ? nullptr : team_of(*process.current);
  return team == nullptr ? 1 : static_cast<int>(team->size);
}
int omp_in_parallel() { return omp_get_num_threads() > 1; }
int omp_get_max_threads() { return process.current == nullptr ? 1 : static_cast<int>(wanted_threads()); }
void omp_set_num_threads(int size) {
  if (process.current != nullptr && size > 0) openmp.team_size = static_cast<unsigned>(size);
}
int omp_get_num_procs() { return static_cast<int>(kTeam); }
int omp_get_dynamic() { return 0; }
int omp_get_nested() { return 0; }
double omp_get_wtime() {
  look_at_clock("omp_get_wtime", TEETOTAL_PLACE);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
double omp_get_wtick() { return 1e-6; }

void omp_init_lock(int* object) { *object = 0; }
void omp_destroy_lock(int*) {}
void omp_set_lock(int* object) {
  if (process.current != nullptr) lock(*process.current, object, TEETOTAL_PLACE);
}
void omp_unset_lock(int* object) {
  if (process.current != nullptr) unlock(*process.current, object, TEETOTAL_PLACE);
}
int omp_test_lock(int* object) {
  return process.current == nullptr || try_lock(*process.current, object, Patience::limited, TEETOTAL_PLACE);
}
void omp_init_nest_lock(NestedLock* object) { *object = {}; }
void omp_destroy_nest_lock(NestedLock*) {}
void omp_set_nest_lock(NestedLock* object) {
  Thread* self = process.current;
  if (self == nullptr) return;
  if (!holds(*self, object)) lock(*self, object, TEETOTAL_PLACE);
  ++object->count;
}
void omp_unset_nest_lock(NestedLock* object) {
  Thread* self = process.current;
  if (self == nullptr) return;
  if (!holds(*self, object) || --object->count == 0) unlock(*self, object, TEETOTAL_PLACE);
}
int omp_test_nest_lock(NestedLock* object) {
  Thread* self = process.current;
  if (self == nullptr) return 1;
  if (!holds(*self, object) && !try_lock(*self, object, Patience::limited, TEETOTAL_PLACE)) return 0;
  return ++object->count;
}
}
