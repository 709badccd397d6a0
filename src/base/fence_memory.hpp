// SPDX-License-Identifier: Apache-2.0
#pragma once
// FenceMemory: the last fence seen for each of the names used lately, to notice a store that went
// back in time (a restored backup, a lost counter). It is bounded: a table of fixed size in which
// a name may push out another. What was pushed out is not checked; nothing is refused wrongly.

#include <holt/fence.hpp>
#include <holt/name.hpp>

#include <array>
#include <cstdint>
#include <mutex>

namespace holt {

class FenceMemory {
 public:
  /// Remembers the fence of a new grant of `name` and answers true; answers false, and remembers
  /// nothing, when it is not above the last one seen. Call once per grant: the same fence a second
  /// time is a regression. Any thread.
  [[nodiscard]] bool admit(Name const& name, Fence fence);

 private:
  struct Slot {
    std::uint64_t name = 0;  ///< hash of the name; with no fence: unused
    Fence fence;
  };
  std::mutex mutex_;
  std::array<Slot, 1024> slots_{};
};

}  // namespace holt
