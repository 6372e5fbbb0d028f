#include "burnim.hpp"
#include "streaming.hpp"

namespace teetotal::monitors {
namespace {

template <bool Undo>
using BurnimTsoReport = Burnim<Model::tso, true, Undo>;
template <bool Undo>
using BurnimPsoReport = Burnim<Model::pso, true, Undo>;

}  // namespace

std::unique_ptr<Monitor> make_burnim_report(std::string_view name, const Options& options) {
  if (name == "burnim-tso-report") return make<BurnimTsoReport>(options);
  if (name == "burnim-pso-report") return make<BurnimPsoReport>(options);
  return nullptr;
}

}  // namespace teetotal::monitors
