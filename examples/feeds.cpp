// SPDX-License-Identifier: Apache-2.0
// A service whose replicas share some feeds: each feed is fetched by exactly one of them. Start
// another replica and it takes its part, one feed after the other; stop one and the others have its
// feeds at once; kill one and they have them when its ttl is over.
//
//   feeds FOLDER NODE FEED...       start it in two terminals, with the same feeds; then
//   holt poll show feeds --store FOLDER/holt.db

#include <holt/holt.hpp>

#include <signal.h>

#include <iostream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

/// Fetches what is due until the polling stops.
void fetch_in_turn(holt::Polling& polling) {
  static std::mutex output;
  while (auto poll = polling.next()) {
    // The fetch goes here. lost() says when to give up; the fence goes with what is written, so
    // that a replica which was paused meanwhile is refused.
    std::scoped_lock const lock(output);
    std::cout << poll->endpoint() << " fetched with fence " << poll->fence().decimal() << std::endl;
  }
}

void serve(std::string const& folder, std::string const& node,
           std::vector<std::string> const& feeds) {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);  // for the library's threads too

  auto holt = holt::open(folder + "/holt.db");
  auto polling = holt.polling("feeds", {.node = node, .every = 200ms, .ttl = 2s});
  polling.set_endpoints(feeds);
  polling.start();
  std::vector<std::jthread> fetchers;
  for (int i = 0; i < 4; ++i) fetchers.emplace_back([&polling] { fetch_in_turn(polling); });

  int signal = 0;
  sigwait(&ending, &signal);
  bool const all = polling.stop();  // first the fetches in flight, then the feeds
  std::cout << (all ? "stopped" : "stopped too late") << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 4) throw std::runtime_error("usage: feeds FOLDER NODE FEED...");
    serve(argv[1], argv[2], {argv + 3, argv + argc});
  } catch (std::exception const& error) {
    std::cerr << "feeds: " << error.what() << '\n';
    return 1;
  }
}
