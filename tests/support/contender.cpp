// SPDX-License-Identifier: Apache-2.0
#include "support/contender.hpp"

#include "support/overlap_log.hpp"

#include <holt/holt.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace holt::test {
namespace {

using namespace std::chrono_literals;

Holt open_client(Contention const& how) {
  while (true) {
    try {
      return open(how.url);
    } catch (EngineError const&) {
      if (how.patient) throw;
    }
  }
}

/// Whether the lock was taken and given back.
bool take_once(Holt& client, OverlapLog& log, Contention const& how, int number) {
  auto const name = "name-" + std::to_string(number % how.names);
  auto held = client.lock(name, {.ttl = how.ttl, .wait = 60s});
  if (!held) return false;
  auto tenure =
      log.enter(name, held->fence(), how.who + "-" + std::to_string(number), held->deadline());
  std::this_thread::yield();
  if (!tenure.still([&] { return held->held(); }, held->deadline())) return false;
  tenure.leave(held->deadline());
  [[maybe_unused]] auto const released = held->release();
  return true;
}

}  // namespace

int contend(Contention const& how) {
  OverlapLog log(how.log);
  auto client = open_client(how);
  std::atomic<int> taken = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < how.threads; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < how.rounds;) {
        try {
          bool const done = take_once(client, log, how, i + round);
          if (done) ++taken;
          if (done || how.patient) ++round;
        } catch (EngineError const&) {
          if (how.patient) return;
          std::this_thread::sleep_for(5ms);
        }
      }
    });
  }
  threads.clear();
  return taken;
}

}  // namespace holt::test
