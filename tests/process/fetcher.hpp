// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fetcher: a node of a polling in a worker process (worker.hpp). It notes in an overlap log what it
// believes of each endpoint, from its first poll until it is told that the endpoint is not its own
// any more, and watches itself: never two polls of an endpoint at once.

#include "support/overlap_log.hpp"

#include <holt/holt.hpp>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace holt::test {

class Fetcher {
 public:
  struct Plan {
    std::string polling;
    std::chrono::milliseconds ttl{};
    std::chrono::milliseconds every{};
    std::string log;
    std::string who;  ///< no spaces; another one in each process
    std::vector<std::string> endpoints;
  };

  /// Takes part at once.
  Fetcher(Holt& holt, Plan const& plan);
  ~Fetcher();
  Fetcher(Fetcher const&) = delete;
  Fetcher& operator=(Fetcher const&) = delete;

  /// Waits for one more poll of the endpoint; its fence, or none when there was none in time.
  [[nodiscard]] std::optional<Fence> next_poll(std::string const& endpoint,
                                               std::chrono::milliseconds patience);
  /// How many polls have started.
  [[nodiscard]] std::uint64_t polls();
  /// What was wrong, in words; empty: nothing.
  [[nodiscard]] std::string mistakes();
  [[nodiscard]] std::vector<std::string> owned() const { return polling_.owned(); }

  struct Kept {
    std::string endpoint;
    Fence fence;
    bool held = false;
    bool told = false;
  };
  /// The next poll (of this endpoint; `-`: of any) stays in flight, whatever it is told, until
  /// let_go(); waits until it has begun.
  [[nodiscard]] std::optional<Kept> keep(std::string const& endpoint,
                                         std::chrono::milliseconds patience);
  /// How the one that is kept stands now.
  [[nodiscard]] std::optional<Kept> kept();
  void let_go();

  bool stop();

 private:
  void fetch();
  void begin(Poll const& poll);
  void work(Poll const& poll);
  void end(Poll const& poll);
  void lost(std::string const& endpoint);

  std::string const who_;
  OverlapLog log_;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable changed_;
  std::map<std::string, OverlapLog::Tenure> tenures_;
  std::map<std::string, Assignment> assigned_;
  std::set<std::string> leaving_;  ///< when the poll in flight has ended
  std::map<std::string, int> in_flight_;
  std::map<std::string, Fence> fences_;  ///< of the last poll
  std::map<std::string, std::uint64_t> counts_;
  std::string mistakes_;
  std::string to_keep_;  ///< empty: none
  Poll const* kept_ = nullptr;

  Polling polling_;
  std::vector<std::jthread> threads_;
};

}  // namespace holt::test
