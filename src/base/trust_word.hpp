// SPDX-License-Identifier: Apache-2.0
#pragma once
// TrustWord: the deadline until which a lease may be believed, as one atomic word that a forked
// child reads as 0. The words live in pages that the kernel wipes on fork (MADV_WIPEONFORK), so
// a child that inherited a guard never takes it for held. Pages are reused, never given back.

#include <holt/clock.hpp>

#include <atomic>
#include <cstdint>

namespace holt {

class TrustWord {
 public:
  TrustWord();
  ~TrustWord();
  TrustWord(TrustWord const&) = delete;
  TrustWord& operator=(TrustWord const&) = delete;

  /// Trusted until this moment; the epoch of the clock (0) means not at all.
  void set(Instant until) noexcept {
    word_->store(until.time_since_epoch().count(), std::memory_order_release);
  }
  void clear() noexcept { word_->store(0, std::memory_order_release); }

  [[nodiscard]] Instant until() const noexcept {
    return Instant(Instant::duration(word_->load(std::memory_order_acquire)));
  }

 private:
  std::atomic<std::int64_t>* word_;
};

}  // namespace holt
