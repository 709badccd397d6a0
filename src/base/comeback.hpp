// SPDX-License-Identifier: Apache-2.0
#pragma once
// Comeback: whether to wait for callers who have just been answered together. They often come back
// at once with their next call; if the call after did not wait for them, some of them would be in
// it, the others would wait for its end, and each call would carry half of them. Where they do not
// come, it is tried less and less often. Knows no clock: who uses it ends a wait in time.

#include <algorithm>
#include <cstddef>
#include <utility>

namespace holt {

class Comeback {
 public:
  /// So many were answered, and so many others wait already. True: it is worth a moment; then
  /// `end` is called, when `all` says so or the moment is over.
  bool begin(std::size_t callers, std::size_t waiting) {
    if (callers < 2 || awaits() || std::exchange(skips_, std::max(skips_ - 1, 0)) > 0) return false;
    before_ = waiting;
    all_ = waiting + callers;
    return true;
  }
  [[nodiscard]] bool awaits() const { return all_ > 0; }
  [[nodiscard]] bool all(std::size_t waiting) const { return waiting >= all_; }
  void end(std::size_t waiting) {
    auto const came = waiting - before_;
    bool const most = came > 1 && 2 * came >= all_ - before_;
    in_vain_ = most ? 0 : std::min(in_vain_ + 1, most_in_vain);
    skips_ = (1 << in_vain_) - 1;
    all_ = 0;
  }

 private:
  static constexpr int most_in_vain = 6;
  std::size_t before_ = 0;
  std::size_t all_ = 0;  ///< 0: nobody is awaited
  int in_vain_ = 0;      ///< waits in a row that few came back in
  int skips_ = 0;
};

}  // namespace holt
