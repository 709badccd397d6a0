// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_node.hpp"

#include "cli/demo_story.hpp"
#include "cli/demo_word.hpp"

#include <holt/clock.hpp>
#include <holt/open.hpp>
#include <holt/polling.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {
namespace {

constexpr int threads = 4;
constexpr std::chrono::milliseconds poll_takes{20};

std::vector<std::string> endpoints() {
  std::vector<std::string> letters;
  letters.reserve(demo_endpoints);
  for (std::size_t i = 0; i < demo_endpoints; ++i) {
    letters.emplace_back(1, static_cast<char>('a' + i));
  }
  return letters;
}

}  // namespace

// cap: as even as can be, so that there is something to see of every worker.
DemoNode::DemoNode(Holt& holt, std::string_view name)
    : polling_(holt.polling(demo_polling,
                            {.node = name, .every = demo_poll_every, .ttl = demo_ttl, .cap = 1})) {
  polling_.set_endpoints(endpoints());
  polling_.start();
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { poll_in_turn(); });
}

DemoNode::~DemoNode() { polling_.stop(); }

void DemoNode::poll_in_turn() {
  while (auto const poll = polling_.next()) {
    auto const endpoint = std::to_string(poll->endpoint().front() - 'a');
    say_to_stage("polls " + endpoint + ' ' + poll->fence().decimal() + ' ' +
                 text_of(BootClock::now()));
    be_busy(poll_takes, poll->lost());
    say_to_stage("polled " + endpoint + ' ' + text_of(BootClock::now()));
  }
}

}  // namespace holt::cli
