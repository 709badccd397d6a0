// SPDX-License-Identifier: Apache-2.0
#pragma once
// FenceRegister: the smallest resource that is safe to guard with a lock. It remembers the highest
// fence it has seen and refuses a write that comes with a lower one.

#include <holt/fence.hpp>

#include <cstdint>

namespace holt::test {

class FenceRegister {
 public:
  /// Answers whether the write was taken.
  bool write(Fence fence) {
    if (fence < highest_) {
      ++refused_;
      return false;
    }
    highest_ = fence;
    ++accepted_;
    return true;
  }

  [[nodiscard]] Fence highest() const { return highest_; }
  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  Fence highest_;
  std::uint64_t accepted_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace holt::test
