// SPDX-License-Identifier: Apache-2.0
#pragma once
// Once: remembers that something was done, for a period, under the name of the lock that keeps
// others from doing it at the same time. The record ends by the engine's clock; on an engine whose
// clock starts over with the machine a reboot forgets it.

#include "contracts/env.hpp"
#include "contracts/record_store.hpp"

#include <holt/name.hpp>
#include <holt/once.hpp>

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace holt {

class Once {
 public:
  Once(Env& env, RecordStore& records) : env_(env), records_(records) {}

  /// The run that counted last, if its period is not over. Throws EngineError.
  asio::awaitable<std::optional<CountedRun>> last(Name name, Instant deadline);

  /// Counts a run that began at `started`. False: another one was counted since then, which stays.
  /// A period that is over already needs no record. Throws EngineError.
  asio::awaitable<bool> count(Name name, CountedRun run, Instant started, Instant deadline);

 private:
  Env& env_;
  RecordStore& records_;
};

/// A run as the text of a record, and back; nothing when a newer version wrote it.
[[nodiscard]] std::string to_text(CountedRun const& run);
[[nodiscard]] std::optional<CountedRun> parse_run(std::string_view text);

}  // namespace holt
