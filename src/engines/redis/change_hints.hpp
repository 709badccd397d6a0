// SPDX-License-Identifier: Apache-2.0
#pragma once
// ChangeHints: tells that leases of this instance may have changed. The servers themselves push the
// names of keys that change or end (change_tracker.hpp) to connections that are there only while
// somebody watches, one for each master that has shards: no script and no holder does anything for
// it. Several changes within a few milliseconds are one hint. While a server is not heard a hint
// comes now and then, so that watchers look. Where there are several servers their map is looked at
// every few seconds meanwhile: shards may move to one that is not heard yet.

#include "contracts/engine.hpp"
#include "contracts/env.hpp"
#include "engines/redis/layout.hpp"
#include "engines/redis/servers.hpp"

#include <functional>
#include <memory>

namespace holt::redis {

class ChangeHints {
 public:
  /// `servers` is what leases are written on: hints come from there.
  ChangeHints(Env& env, Place const& place, Servers& servers, Keys const& keys);
  /// Not on Env::executor().
  ~ChangeHints();
  ChangeHints(ChangeHints const&) = delete;
  ChangeHints& operator=(ChangeHints const&) = delete;

  /// No hint comes any more. Not on Env::executor(), which must still run.
  void close();

  /// As Engine::watch; not on Env::executor(). The first one waits until the servers have agreed;
  /// null where one of them refuses, or none can be asked in time.
  [[nodiscard]] std::unique_ptr<ChangeWatch> watch(std::function<void()> changed);

 private:
  class Watching;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holt::redis
