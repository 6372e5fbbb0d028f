#include "symbolic/graph.hpp"

namespace teetotal::symbolic {

const ControlState& Graph::state(Process p, Control q) {
  p = system_.alike[p];
  auto& known = states_[p];
  if (q >= known.size()) known.resize(q + 1);
  if (!known[q]) {
    auto expanded = std::make_unique<ControlState>(source_->expand(p, q));
    states_[p][q] = std::move(expanded);  // known may have moved meanwhile
  }
  return *states_[p][q];
}

Action::Kind Graph::kind(const Action& action) const {
  using K = Action::Kind;
  if (action.fence >= 0 && !fences_[static_cast<std::size_t>(action.fence)]) return K::tau;
  if (action.kind == K::sfence && model_ != Model::pso) return K::tau;
  if (action.kind == K::mfence && model_ == Model::sc) return K::tau;
  if (action.kind == K::store && model_ == Model::sc) return K::atomic;
  return action.kind;
}

Control Graph::after_load(Process p, Control q, Value value) {
  p = system_.alike[p];
  auto found = loads_[p].find({q, value});
  if (found == loads_[p].end()) found = loads_[p].emplace(std::pair{q, value}, source_->after_load(p, q, value)).first;
  return skip(p, found->second);
}

const std::vector<Outcome>& Graph::outcomes(Process p, Control q, const Action& action, const Memory& m) {
  p = system_.alike[p];
  if (action.kind == Action::Kind::store) {  // under SC a store is a step on memory
    auto found = stores_[p].find(q);
    if (found == stores_[p].end()) {
      std::vector<Outcome> stored{{{{action.location, action.value}}, action.target}};
      found = stores_[p].emplace(q, std::move(stored)).first;
    }
    return found->second;
  }
  std::vector<Value> values;
  for (Location x : action.footprint) values.push_back(m[static_cast<std::size_t>(x)]);
  auto found = outcomes_[p].find({q, values});
  if (found == outcomes_[p].end()) {
    auto computed = source_->outcomes(p, q, values);
    found = outcomes_[p].emplace(std::pair{q, std::move(values)}, std::move(computed)).first;
  }
  return found->second;
}

const std::vector<Location>& Graph::still_read(Process p, Control q) {
  p = system_.alike[p];
  auto found = still_read_[p].find(q);
  if (found == still_read_[p].end()) found = still_read_[p].emplace(q, source_->still_read(p, q)).first;
  return found->second;
}

Control Graph::renamed(std::uint32_t renaming, Process p, Control q) {
  constexpr Control unknown = ~Control{0};
  p = system_.alike[p];
  const std::size_t row = std::size_t{renaming} * processes() + p;
  if (row >= renamed_.size()) renamed_.resize(row + 1);
  if (q >= renamed_[row].size()) renamed_[row].resize(q + std::size_t{1}, unknown);
  if (renamed_[row][q] == unknown) {
    const Control found = source_->renamed(renaming, p, q);
    renamed_[row][q] = found;
  }
  return renamed_[row][q];
}

Control Graph::skip(Process p, Control q) {
  while (true) {
    const ControlState& s = state(p, q);
    if (s.actions.size() != 1 || s.labels != 0 || s.actions[0].fence < 0) return q;
    if (fences_[static_cast<std::size_t>(s.actions[0].fence)]) return q;
    q = s.actions[0].target;
  }
}

bool Graph::is_bad(const std::vector<Control>& controls, const Memory& m) {
  for (Process p = 0; p < controls.size(); ++p)
    if (state(p, controls[p]).failed) return true;
  for (std::uint32_t i = 0; i < system_.bad.size(); ++i) {
    const Bad& wanted = system_.bad[i];
    bool all = true;
    for (Process p = 0; p < controls.size() && all; ++p) {
      std::uint64_t at = state(p, controls[p]).labels;
      all = (at & wanted.must[p]) == wanted.must[p] && (at & wanted.must_not[p]) == 0;
    }
    if (all && is_bad(i, m)) return true;
  }
  return false;
}

}  // namespace teetotal::symbolic
