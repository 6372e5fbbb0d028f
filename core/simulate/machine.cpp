#include "simulate/machine.hpp"

#include <algorithm>
#include <memory>

#include "simulate/home.hpp"

namespace teetotal::simulate {

namespace {
constexpr std::uint64_t patience = 100'000;  // happenings for one access
}

Run run(const std::vector<std::vector<Access>>& programs, std::uint32_t addresses, const Settings& settings,
        std::uint64_t seed) {
  Network network(seed, settings.delay);
  const Node home_node = static_cast<Node>(programs.size());
  Home home(home_node, (addresses + settings.words - 1) / settings.words, settings, network);
  std::vector<std::unique_ptr<Processor>> processors;
  std::uint64_t most = patience;
  for (Node node = 0; node < home_node; ++node) {
    processors.push_back(std::make_unique<Processor>(node, home_node, settings, network, programs[node]));
    most += patience * programs[node].size();
    processors.back()->start();
  }
  Run result;
  for (Happening happening; network.next(happening) && result.happenings < most; ++result.happenings) {
    if (happening.message.to == home_node)
      home.receive(happening.message);
    else if (happening.wake == Wake::none)
      processors[happening.message.to]->receive(happening.message);
    else
      processors[happening.message.to]->wake(happening.wake);
  }
  for (const auto& processor : processors) {
    result.hangs |= !processor->done();
    result.results.insert(result.results.end(), processor->results().begin(), processor->results().end());
  }
  return result;
}

}  // namespace teetotal::simulate
