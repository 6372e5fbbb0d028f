#include "exact.hpp"
#include "streaming.hpp"

namespace teetotal::monitors {
namespace {

template <bool Undo>
using ExactBoth = Exact<true, true, Undo>;

}  // namespace

std::unique_ptr<Monitor> make_exact_both(std::string_view name, const Options& options) {
  if (name == kExactBoth) return make<ExactBoth>(options);
  return nullptr;
}

}  // namespace teetotal::monitors
