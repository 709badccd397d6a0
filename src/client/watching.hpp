// SPDX-License-Identifier: Apache-2.0
#pragma once
// Watching: a Watch's inside: the watcher and what keeps its client alive.

#include "primitives/watcher.hpp"

#include <memory>
#include <utility>

namespace holt::client {

class Core;

class Watching {
 public:
  Watching(std::shared_ptr<Core> core, std::unique_ptr<Watcher> watcher) noexcept
      : core_(std::move(core)), watcher_(std::move(watcher)) {}
  /// In a forked child the other half is in the parent: then nothing is cleaned up.
  ~Watching();
  Watching(Watching const&) = delete;
  Watching& operator=(Watching const&) = delete;

  [[nodiscard]] Core& core() const noexcept { return *core_; }
  [[nodiscard]] Watcher& watcher() const noexcept { return *watcher_; }

 private:
  std::shared_ptr<Core> core_;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace holt::client
