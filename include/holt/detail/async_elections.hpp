// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the elections of <holt/asio.hpp> stand on, as async_calls.hpp is for locks. Not for users.
// An Election must live until its calls are answered.

#include <holt/detail/async_calls.hpp>
#include <holt/election.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#pragma GCC visibility push(default)
namespace holt::detail {

/// Events of one election, kept until they are asked for.
class EventStream {
 public:
  EventStream() = default;
  virtual ~EventStream() = default;
  EventStream(EventStream const&) = delete;
  EventStream& operator=(EventStream const&) = delete;

  /// One question at a time. Nothing: `stop` has fired, or the client is closed.
  virtual void next(std::stop_token stop, Done<std::optional<ElectionEvent>> done) = 0;
};

/// Answers true.
void start_standing(Election const& election, Done<bool> done);
void start_stop(Election const& election, std::chrono::milliseconds deadline,
                Done<Resignation> done);
void start_resign(Election const& election, std::string const& to,
                  std::chrono::milliseconds deadline, Done<Resignation> done);
/// Begins, while it leads, with the beginning of this term.
void start_events(Election const& election, Election::Listen how,
                  Done<std::unique_ptr<EventStream>> done);
void start_leader(Holt const& holt, Name const& name, Done<std::optional<LeaderInfo>> done);

}  // namespace holt::detail
#pragma GCC visibility pop
