// SPDX-License-Identifier: Apache-2.0
// Waiting for a lock through the public API, on every engine: who waits does not go by the end of
// a lease that is over.

#include "contract/engine_test.hpp"

#include <holt/holt.hpp>

#include <future>
#include <thread>

namespace holt::test {
namespace {

/// Fewer than three wait, so nobody becomes third; the lease that they heard of first ends long
/// after their patience does.
class LockLine : public EngineTest {
 protected:
  static constexpr auto long_ttl = 300s;
  static constexpr auto patience = 60s;

  Holt open_client() { return open(store_->url(), {.instance = "default"}); }
  /// Waits with a client of its own; true when the lock was had.
  std::future<bool> wait_for_it() {
    return std::async(std::launch::async, [this] {
      auto client = open_client();
      return client.lock("x", {.ttl = long_ttl, .wait = patience}).has_value();
    });
  }
  bool in_line(std::uint32_t count) {
    for (int i = 0; i < 4000; ++i) {
      auto const found = holt_.find("x");
      if (found && found->waiting == count) return true;
      std::this_thread::sleep_for(5ms);
    }
    return false;
  }

  Holt holt_ = open_client();
};
HOLT_ON_EVERY_ENGINE(LockLine);

TEST_P(LockLine, AHolderWithAShorterTtlThatDiesIsReplacedAtItsOwnEnd) {
  auto first = holt_.try_lock("x", {.ttl = long_ttl});
  ASSERT_TRUE(first);
  auto brief = std::async(std::launch::async, [this] {
    auto client = open_client();
    auto lock = client.lock("x", {.ttl = 500ms, .wait = patience, .renew = false});
    if (lock) lock->detach();  // nobody renews or releases it: dead, as the store sees it
    return lock.has_value();
  });
  ASSERT_TRUE(in_line(1));
  auto next = wait_for_it();
  ASSERT_TRUE(in_line(2));
  EXPECT_TRUE(first->release());
  EXPECT_TRUE(brief.get());
  EXPECT_TRUE(next.get());
}

TEST_P(LockLine, AnOfferThatNobodyConfirmsGoesOnToTheNext) {
  auto first = holt_.try_lock("x", {.ttl = long_ttl});
  ASSERT_TRUE(first);
  client_.wait_for("x", client_.owner(), {.ttl = long_ttl, .ticket_ttl = 2 * long_ttl});
  auto next = wait_for_it();
  ASSERT_TRUE(in_line(2));
  EXPECT_TRUE(first->release());
  EXPECT_TRUE(next.get());
}

}  // namespace
}  // namespace holt::test
