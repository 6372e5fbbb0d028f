#include "exact.hpp"

#include "streaming.hpp"

namespace teetotal::monitors {
namespace {

template <bool Undo>
using ExactTso = Exact<true, false, Undo>;
template <bool Undo>
using ExactPso = Exact<false, true, Undo>;

}  // namespace

std::unique_ptr<Monitor> make_exact(std::string_view name, const Options& options) {
  if (name == "exact-tso") return make<ExactTso>(options);
  if (name == "exact-pso") return make<ExactPso>(options);
  return nullptr;
}

}  // namespace teetotal::monitors
