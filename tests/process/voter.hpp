// SPDX-License-Identifier: Apache-2.0
#pragma once
// Voter: a candidate of a worker process (worker.hpp). From the moment it is told that it leads
// until it does not any more, or is about to stop, it notes what it believes in an overlap log.

#include "support/overlap_log.hpp"

#include <holt/holt.hpp>

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace holt::test {

class Voter {
 public:
  /// Stands at once. `who` has no spaces; another one in each process.
  Voter(Holt& holt, std::string const& election, std::chrono::milliseconds ttl,
        std::string const& log, std::string who);
  ~Voter();
  Voter(Voter const&) = delete;
  Voter& operator=(Voter const&) = delete;

  /// The present term; none when it does not lead.
  [[nodiscard]] Fence term() const { return election_.term(); }
  /// Waits until it leads and has noted it, or the other way round; whether it came true.
  [[nodiscard]] bool awaits(bool leading, std::chrono::milliseconds patience);
  Resignation stop();
  void start();

 private:
  void begin(Fence term);
  void note(std::stop_token const& stop);

  std::string const name_;
  std::string const who_;
  OverlapLog log_;
  std::mutex mutex_;  ///< of what follows
  std::optional<OverlapLog::Tenure> tenure_;
  Fence believed_;
  bool stopping_ = false;
  Election election_;
  std::jthread noting_;
};

}  // namespace holt::test
