#include "sober.hpp"

#include "streaming.hpp"

namespace teetotal::monitors {
namespace {

template <bool Undo>
using SoberAsPrinted = Sober<false, Undo>;
template <bool Undo>
using SoberCorrected = Sober<true, Undo>;

}  // namespace

std::unique_ptr<Monitor> make_sober(std::string_view name, const Options& options) {
  if (name == "sober") return make<SoberAsPrinted>(options);
  if (name == "sober-corrected") return make<SoberCorrected>(options);
  return nullptr;
}

}  // namespace teetotal::monitors
