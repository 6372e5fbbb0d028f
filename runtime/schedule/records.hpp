// The state of the runtime that changes during an execution, beside memory and threads, whoever owns it.
//
// State lies with its owners: each has a struct, declared beside its code, of which there is one instance. The members
// that change during an execution are in a base of that struct, its `Record`, which can be copied byte by byte; the
// others outlast the execution.
// `Records` at the end of this file names them all: so all of them begin anew with each execution, go into snapshots,
// and are looked at where it is asked whether a step has changed anything (known_steps.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "endings.hpp"
#include "hooks_signals.hpp"
#include "keys.hpp"
#include "objects.hpp"
#include "openmp.hpp"
#include "process.hpp"
#include "verifier.hpp"

namespace teetotal::runtime {

// A record byte by byte, with its padding, to be compared with what it is later.
template <typename Record>
class Bytes {
 public:
  void take(const Record& now) { std::memcpy(bytes_.data(), static_cast<const void*>(&now), sizeof(Record)); }

  // What may have changed is taken anew.
  template <typename T>
  void allow(T Record::* member, const Record& now) {
    Record& then = *reinterpret_cast<Record*>(bytes_.data());
    std::memcpy(static_cast<void*>(&(then.*member)), static_cast<const void*>(&(now.*member)), sizeof(T));
  }

  const Record& then() const { return *reinterpret_cast<const Record*>(bytes_.data()); }
  bool same(const Record& now) const { return std::memcmp(bytes_.data(), static_cast<const void*>(&now), kOwn) == 0; }

 private:
  struct Derived : Record {
    char behind;
  };
  // How many bytes are its own: what is derived from it may begin in its padding.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  static constexpr std::size_t kOwn = offsetof(Derived, behind);
#pragma GCC diagnostic pop

  alignas(Record) std::array<std::byte, sizeof(Record)> bytes_;
};

template <auto&... owners>
class RecordsOf {
  template <typename Owner>
  static typename Owner::Record& record(Owner& owner) {
    return owner;
  }
  template <typename Owner>
  using Record = typename std::remove_reference_t<Owner>::Record;

 public:
  static void begin_anew() { ((record(owners) = {}), ...); }

  void take() { ((std::get<Record<decltype(owners)>>(kept_) = record(owners)), ...); }
  void put_back() const { ((record(owners) = std::get<Record<decltype(owners)>>(kept_)), ...); }

  // The same as bytes.
  class AsBytes {
   public:
    void take() { (of<Record<decltype(owners)>>().take(owners), ...); }
    bool same() const { return (std::get<Bytes<Record<decltype(owners)>>>(kept_).same(owners) && ...); }

    template <typename Which>
    Bytes<Which>& of() {
      return std::get<Bytes<Which>>(kept_);
    }

   private:
    std::tuple<Bytes<Record<decltype(owners)>>...> kept_;
  };

 private:
  std::tuple<Record<decltype(owners)>...> kept_;
};

using Records = RecordsOf<process, endings, keys, objects, openmp, signals, verifier>;

}  // namespace teetotal::runtime
