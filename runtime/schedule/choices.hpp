// The values that a program asks for by __VERIFIER_nondet_int and its kin: every combination of them is explored, one
// after the other.
//
// A choice belongs to a thread, and is its n-th. Threads are numbered as searches come upon them, so what somebody else
// is told of a choice, a token for instance, names the thread by its path instead: how many siblings were created
// before it, behind the same of its creator, from the main thread down: `0/1` is the second thread of the first.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace teetotal::runtime {

class Choices {
 public:
  std::int64_t low = 0, high = 1;

  // The value of a thread's n-th choice: what is given, or the lowest until `next` says otherwise.
  std::int64_t chosen(std::uint32_t thread, std::uint64_t number);

  // The next assignment of values to what the program asked for; false after the last.
  bool next();

  bool empty() const { return asked_.empty(); }  // so far the program has asked for none

  void begin_again();  // from the first assignment
  void forget();       // what was asked: another search asks anew

  // Which part of all assignments came before the one at hand, which is such a part itself.
  std::pair<double, double> share() const;

  // Those at hand: PATH+NUMBER=VALUE, separated by commas.
  std::string told() const;
  void give(const std::string& told);

 private:
  using Which = std::pair<std::uint32_t, std::uint64_t>;
  std::map<Which, std::int64_t> values_;
  std::vector<Which> asked_;  // in the order of their first appearance
  std::map<std::string, std::int64_t> given_;
};

extern Choices choices;

}  // namespace teetotal::runtime
