// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a store can do and what it promises: Holt::capabilities().

#include <string_view>

#pragma GCC visibility push(default)
namespace holt {

/// What a store can lose, and when (docs/adr/0008-durability.md).
enum class Durability { embedded, single, redis_wait, pg_sync };

/// Whose clock decides that a lease has ended.
enum class TimeAuthority {
  host,   ///< the one machine's, since boot: a wall clock that is set changes nothing
  server  ///< the database server's
};

/// How one waits for a name that is taken.
enum class Waiting {
  line,    ///< in the store's line, first come, first served, woken by a signal
  polling  ///< by trying again
};

struct Capabilities {
  bool fencing = true;  ///< every grant carries a fence that only grows
  TimeAuthority time = TimeAuthority::server;
  Waiting waiting = Waiting::line;
  Durability durability = Durability::single;
  bool notes = true;      ///< a lease keeps what its holder says about itself
  bool embedded = false;  ///< a file of this machine: no server is asked
};

/// As written in URLs, JSON and documents: "embedded", "redis-wait", "host", "line".
[[nodiscard]] std::string_view to_string(Durability durability) noexcept;
[[nodiscard]] std::string_view to_string(TimeAuthority time) noexcept;
[[nodiscard]] std::string_view to_string(Waiting waiting) noexcept;

}  // namespace holt
#pragma GCC visibility pop
