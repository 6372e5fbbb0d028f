#include "exact.hpp"
#include "streaming.hpp"

namespace teetotal::monitors {
namespace {

template <bool Undo>
using ExactBoth = Exact<true, true, Undo>;

}  // namespace

std::unique_ptr<Monitor> make_both_many(const Options& options) { return make<ExactBoth>(options); }

}  // namespace teetotal::monitors
