#include "exact.hpp"

#include "streaming.hpp"

namespace teetotal::monitors {
namespace {

template <bool Undo>
using ExactTso = Exact<true, false, Undo>;
template <bool Undo>
using ExactPso = Exact<false, true, Undo>;

}  // namespace

std::unique_ptr<Monitor> make_exact_many(std::uint32_t models, const Options& options) {
  if (models == Report::tso) return make<ExactTso>(options);
  if (models == Report::pso) return make<ExactPso>(options);
  return make_both_many(options);
}

std::unique_ptr<Monitor> make_exact(std::string_view name, const Options& options) {
  const auto make_fitting = options.undo ? make_exact_few : make_exact_many;
  if (name == "exact-tso") return make_fitting(Report::tso, options);
  if (name == "exact-pso") return make_fitting(Report::pso, options);
  if (name == kExactBoth) return make_fitting(Report::tso | Report::pso, options);
  return nullptr;
}

}  // namespace teetotal::monitors
