// SPDX-License-Identifier: Apache-2.0
#pragma once
// ChangeHints: tells that leases of this instance may have changed. The server itself pushes the
// names of keys that change or end (CLIENT TRACKING, Redis 6 and newer) to a connection that is
// there only while somebody watches: no script and no holder does anything for it. Several changes
// within a few milliseconds are one hint. While the connection is broken a hint comes now and then,
// so that watchers look.

#include "contracts/engine.hpp"
#include "contracts/env.hpp"
#include "engines/redis/connection.hpp"
#include "engines/redis/layout.hpp"

#include <functional>
#include <memory>

namespace holt::redis {

class ChangeHints {
 public:
  /// `commands` is what leases are written on: hints come from the same server.
  ChangeHints(Env& env, Place const& place, Connection& commands, Keys const& keys);
  /// Not on Env::executor().
  ~ChangeHints();
  ChangeHints(ChangeHints const&) = delete;
  ChangeHints& operator=(ChangeHints const&) = delete;

  /// No hint comes any more. Not on Env::executor(), which must still run.
  void close();

  /// As Engine::watch; not on Env::executor(). The first one waits until the server has agreed;
  /// null where it does not, or cannot be asked in time.
  [[nodiscard]] std::unique_ptr<ChangeWatch> watch(std::function<void()> changed);

 private:
  class Watching;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holt::redis
