// SPDX-License-Identifier: Apache-2.0
#include "base/fence_memory.hpp"

#include <xxhash.h>

namespace holt {

bool FenceMemory::admit(Name const& name, Fence fence) {
  auto const hash = XXH3_64bits(name.text().data(), name.text().size());
  std::lock_guard const guard(mutex_);
  auto& slot = slots_[hash % slots_.size()];
  if (slot.name == hash && fence <= slot.fence) return false;
  slot = {hash, fence};
  return true;
}

}  // namespace holt
