// SPDX-License-Identifier: Apache-2.0
#pragma once
// Engine: an opened store, scoped to one instance. Each folder in src/engines makes one; the
// registry picks it by the URL's scheme.

#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"
#include "contracts/record_store.hpp"
#include "contracts/signal_bus.hpp"

#include <holt/capabilities.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace holt {

class Engine {
 public:
  virtual ~Engine() = default;

  [[nodiscard]] virtual LeaseStore& leases() = 0;
  [[nodiscard]] virtual RecordStore& records() = 0;
  [[nodiscard]] virtual SignalBus& signals() = 0;
  [[nodiscard]] virtual Capabilities capabilities() const = 0;

  /// The URL for people: canonical, without secrets.
  [[nodiscard]] virtual std::string const& url() const = 0;

  /// `gone` is called once, on Env::executor(), if the store is seen to be deleted or replaced
  /// under us: every lease on it is void.
  virtual void on_gone(std::function<void(std::string reason)> gone) = 0;
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
