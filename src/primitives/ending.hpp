// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ending: where the loop of a replica, which owns all else, leaves what any thread may ask: is it
// over, and why? The first end counts.

#include <holt/instance.hpp>

#include <mutex>
#include <string>
#include <utility>

namespace holt {

class Ending {
 public:
  /// False: it had ended before.
  bool end(InstanceEnd how, std::string reason) {
    std::scoped_lock const lock(mutex_);
    if (how_ != InstanceEnd::none) return false;
    how_ = how;
    reason_ = std::move(reason);
    return true;
  }

  [[nodiscard]] InstanceEnd how() const {
    std::scoped_lock const lock(mutex_);
    return how_;
  }
  [[nodiscard]] std::string reason() const {
    std::scoped_lock const lock(mutex_);
    return reason_;
  }

 private:
  std::mutex mutable mutex_;
  InstanceEnd how_ = InstanceEnd::none;
  std::string reason_;
};

}  // namespace holt
