// SPDX-License-Identifier: Apache-2.0
#pragma once
// FenceRegister: the smallest resource that is safe to guard with a lock. It remembers the highest
// fence it has seen and refuses a write that comes with a lower one. Several threads may write to
// it, and several processes when it is made on the same file.

#include <holt/fence.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace holt::test {

class FenceRegister {
 public:
  /// In memory; processes that are forked off share it.
  FenceRegister();
  /// In this file, which is made if it is not there. Throws std::system_error.
  explicit FenceRegister(std::string const& file);

  /// Answers whether the write was taken.
  bool write(Fence fence);

  [[nodiscard]] Fence highest() const { return Fence(cells_->highest); }
  [[nodiscard]] std::uint64_t accepted() const { return cells_->accepted; }
  [[nodiscard]] std::uint64_t refused() const { return cells_->refused; }

 private:
  struct Cells {
    std::atomic<std::uint64_t> highest;
    std::atomic<std::uint64_t> accepted;
    std::atomic<std::uint64_t> refused;
  };
  static Cells* mapped(int file);
  static void unmap(Cells* cells);

  std::unique_ptr<Cells, void (*)(Cells*)> cells_;
};

}  // namespace holt::test
