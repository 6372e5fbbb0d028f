#include "burnim.hpp"

#include "streaming.hpp"

namespace teetotal::monitors {
namespace {

template <bool Undo>
using BurnimTso = Burnim<Model::tso, false, Undo>;
template <bool Undo>
using BurnimPso = Burnim<Model::pso, false, Undo>;

}  // namespace

std::unique_ptr<Monitor> make_burnim(std::string_view name, const Options& options) {
  if (name == "burnim-tso") return make<BurnimTso>(options);
  if (name == "burnim-pso") return make<BurnimPso>(options);
  return nullptr;
}

}  // namespace teetotal::monitors
