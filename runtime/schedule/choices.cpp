#include "choices.hpp"

#include <sstream>

#include "process.hpp"

namespace teetotal::runtime {

Choices choices;

namespace {

std::string path_of(std::uint32_t thread) {
  for (const auto& [created, number] : process.numbers) {
    if (number != thread) continue;
    const std::string above = path_of(created.first);
    return (above.empty() ? "" : above + '/') + std::to_string(created.second);
  }
  return "";
}

std::string name_of(std::uint32_t thread, std::uint64_t number) {
  return path_of(thread) + '+' + std::to_string(number);
}

}  // namespace

std::int64_t Choices::chosen(std::uint32_t thread, std::uint64_t number) {
  const auto [entry, fresh] = values_.try_emplace({thread, number}, low);
  if (fresh) {
    const auto given = given_.empty() ? given_.end() : given_.find(name_of(thread, number));
    if (given == given_.end())
      asked_.emplace_back(thread, number);
    else
      entry->second = given->second;
  }
  return entry->second;
}

bool Choices::next() {
  while (!asked_.empty()) {
    std::int64_t& value = values_[asked_.back()];
    if (value < high) {
      ++value;
      return true;
    }
    values_.erase(asked_.back());
    asked_.pop_back();
  }
  return false;
}

void Choices::begin_again() {
  for (const Which& which : asked_) values_[which] = low;
}

void Choices::forget() {
  values_.clear();
  asked_.clear();
}

std::pair<double, double> Choices::share() const {
  double share = 1, before = 0;
  for (const Which& which : asked_) {
    share /= static_cast<double>(high - low) + 1;
    before += share * static_cast<double>(values_.at(which) - low);
  }
  return {before, share};
}

std::string Choices::told() const {
  std::string told;
  for (const auto& [which, value] : values_)
    told += (told.empty() ? "" : ",") + name_of(which.first, which.second) + '=' + std::to_string(value);
  return told;
}

void Choices::give(const std::string& told) {
  std::istringstream words(told);
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t equals = word.find('=');
    given_[word.substr(0, equals)] = std::stoll(word.substr(equals + 1));
  }
}

}  // namespace teetotal::runtime
