// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long an election between processes is without a leader: after the leader has stopped, and
// after it was killed. And elections in which nothing happens, to count what that costs. The same
// on every store.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace holt::bench {

/// Of `wanted` times that a leader stopped: from before `stop()` to the moment another process is
/// told that it leads, in seconds. Of three candidates one leads, the others are in line; who has
/// stopped stands again at once. Throws when that takes longer than a minute.
std::vector<double> after_stop(std::string const& url, std::uint64_t wanted);

/// How much longer than the rest of its ttl, by the store's clock, a killed leader kept the
/// election from the next, in seconds. It is killed at some moment between two renewals.
double after_kill_of_leader(std::string const& url, std::chrono::milliseconds ttl);

/// Elections in which nothing happens, at a ttl of 30 s, each with a leader and a follower, which
/// all have a client of their own. Leaders and followers may come to the store on two ways.
class QuietElections {
 public:
  /// Returns when all leaders lead and all followers are in line.
  QuietElections(std::string const& leaders_url, std::string const& followers_url, int count);
  /// Ends the processes. Throws when somebody led who should not, or the other way round.
  void end();

 private:
  struct Board;
  Board& board_;
  int const count_;
  std::vector<pid_t> children_;
};

}  // namespace holt::bench
