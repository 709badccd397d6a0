// SPDX-License-Identifier: Apache-2.0
#pragma once
// Engine: an opened store, scoped to one instance. Each folder in src/engines makes one; the
// registry picks it by the URL's scheme.

#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"
#include "contracts/record_store.hpp"
#include "contracts/signal_bus.hpp"
#include "contracts/task_store.hpp"

#include <holt/capabilities.hpp>
#include <holt/diagnosis.hpp>
#include <holt/fence.hpp>

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holt {

/// Hints keep coming as long as it lives.
class ChangeWatch {
 public:
  ChangeWatch() = default;
  /// Afterwards no hint comes any more. Not on Env::executor().
  virtual ~ChangeWatch() = default;
  ChangeWatch(ChangeWatch const&) = delete;
  ChangeWatch& operator=(ChangeWatch const&) = delete;
};

class Engine {
 public:
  virtual ~Engine() = default;

  [[nodiscard]] virtual LeaseStore& leases() = 0;
  [[nodiscard]] virtual RecordStore& records() = 0;
  [[nodiscard]] virtual SignalBus& signals() = 0;
  /// Null: this layout has no place for tasks. What tasks need (a file, tables, a connection) is
  /// opened by the first call of one of its methods; asking for the store alone costs nothing.
  [[nodiscard]] virtual TaskStore* tasks() { return nullptr; }
  [[nodiscard]] virtual Capabilities capabilities() const = 0;

  /// The URL for people: canonical, without secrets.
  [[nodiscard]] virtual std::string const& url() const = 0;

  /// `gone` is called once, on Env::executor(), if the store is seen to be deleted or replaced
  /// under us: every lease on it is void.
  virtual void on_gone(std::function<void(std::string reason)> gone) = 0;

  /// Calls `changed` on Env::executor() soon after something in the store may have changed.
  /// - A hint: it may come for nothing, for another instance, or once for many changes; who gets
  ///   one looks at the store. A change that was stored before this call returns may give none.
  /// - The last hint comes when the change can be seen, however long the writer waited for its disk
  ///   (within reason). An expiry changes nothing in the store and gives none.
  /// - Null: this engine cannot tell, here and now; who wants to know looks now and then.
  /// - Costs nothing while nothing changes. Any thread. Does not throw.
  [[nodiscard]] virtual std::unique_ptr<ChangeWatch> watch(std::function<void()> changed) = 0;

  /// What is right and wrong with this store, as far as this engine alone can tell; what can be
  /// told of any store (reachable, writable, latency) the client finds out by itself.
  /// - Each id is there once at the most; every warn and fail has a fix. "durability" is always
  ///   among them: the level that is really given.
  /// - Changes nothing. What fails is a finding, not an exception. Each question to the store has
  ///   `patience` to be answered.
  /// - May block its thread: never awaited on Env::executor().
  virtual asio::awaitable<std::vector<Finding>> diagnose(std::chrono::nanoseconds patience) = 0;

  /// Adds 2^32 at least to the instance's counter of fences in one step, as durably as the engine
  /// can; one that does not exist starts at the clock plus 2^32. Leases that are held keep theirs.
  /// Throws EngineError.
  virtual asio::awaitable<FenceRaise> raise_fence(Instant deadline) = 0;
};

struct EngineOptions {
  std::string url;       ///< never empty
  std::string instance;  ///< checked
};

/// Opens a store for one instance. Blocks; never called on Env::executor().
/// Throws InvalidArgument or EngineError. The engine must be destroyed before `env`, on any thread
/// but Env::executor().
std::unique_ptr<Engine> open_engine(Env& env, EngineOptions const& options);

}  // namespace holt
