// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of the contract suites: a fresh store of each engine, and clients on it whose calls
// block. A test is a clause of a comment in src/contracts; its name says which.

#include "contracts/engine.hpp"
#include "support/engines.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holt::test {

using namespace std::chrono_literals;

/// Waits for it, half a minute at the most.
template <class Condition>
bool comes_true(Condition const& condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

/// What a test asks for beside name and owner; the rest is as usual.
struct Wish {
  Nanos ttl = 60s;    ///< long, as a busy machine is slow; an offer then lives for a second
  bool line = false;  ///< stand in line
  Nanos ticket_ttl = 10s;
  int priority = 5;
  Nanos delay{};
  std::string note;
};

/// One client of the store: its own engine, its own inbox. Calls have 5 s. Any thread. Names are
/// told as tests write them; what they begin with in this store (TestStore::names_start) is added
/// and taken away here.
class Client {
 public:
  explicit Client(TestStore& store, std::string const& instance = "default");
  ~Client();
  Client(Client const&) = delete;
  Client& operator=(Client const&) = delete;

  [[nodiscard]] Engine& engine() { return *engine_; }

  /// An owner that nobody had before, with this client's inbox.
  [[nodiscard]] Owner owner();

  /// What the engine calls it.
  [[nodiscard]] Name named(Name const& name) const { return start_ + name.text(); }

  std::expected<LeaseGrant, Busy> acquire(Name const& name, Owner const& owner,
                                          Wish const& wish = {});
  std::expected<LeaseGrant, Busy> acquire_all(std::vector<Name> names, Owner const& owner,
                                              Wish const& wish = {});
  /// Acquires what must be free and answers the fence.
  Fence take(Name const& name, Owner const& owner, Wish const& wish = {});
  /// Stands in line for what must be busy and answers the place.
  std::uint32_t wait_for(Name const& name, Owner const& owner, Wish wish = {});

  std::expected<void, Lost> renew(Name const& name, Owner const& owner, Nanos ttl = 1s);
  std::expected<void, Lost> release(Name const& name, Owner const& owner);
  BreakResult break_lease(Name const& name, std::string const& reason, bool now = false,
                          Fence fence = {});
  std::optional<LeaseInfo> find(Name const& name);
  LeasePage list(std::string const& prefix = {}, std::string const& cursor = {},
                 std::uint32_t limit = 100);

  /// Waits up to 5 s until this signal has come. Listens from the beginning.
  bool hears(std::string_view topic, std::string_view text);
  /// Whether it has come until now.
  bool heard(std::string_view topic, std::string_view text);
  /// How often it has come until now.
  std::size_t times_heard(std::string_view topic, std::string_view text);

  [[nodiscard]] Instant deadline() { return env_.now() + 5s; }

 private:
  void take_away_start(LeaseInfo& lease) const;
  std::size_t count(std::string_view topic, std::string_view text) const;  // with the mutex

  Env& env_;
  std::string const start_;
  std::string const note_;
  std::unique_ptr<Engine> engine_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Signal> signals_;
  std::vector<SignalBus::Subscription> subscriptions_;
};

class EngineTest : public testing::TestWithParam<EngineUnderTest> {
 protected:
  /// Skips what this engine is not held to.
  void SetUp() override;

  std::unique_ptr<TestStore> store_ = GetParam().make();
  Client client_{*store_};

  void advance(Nanos by) { store_->advance(by); }
  /// So long that a lease of this ttl, taken just now, has ended.
  void outlive(Nanos ttl) { advance(ttl + 1ms + store_->tolerance()); }
};

/// What an error that `call` throws says.
template <class Error, class Call>
std::string what_is_thrown(Call const& call) {
  try {
    call();
  } catch (Error const& error) {
    return error.what();
  }
  return "nothing";
}

/// Makes the tests of `suite` run on every engine.
#define HOLT_ON_EVERY_ENGINE(suite)                                                       \
  INSTANTIATE_TEST_SUITE_P(Engines, suite, testing::ValuesIn(engines_under_test(#suite)), \
                           [](auto const& tested) { return tested.param.name; })
/// And on every way to run or to reach one.
#define HOLT_ON_EVERY_STORE(suite)                                                       \
  INSTANTIATE_TEST_SUITE_P(Engines, suite, testing::ValuesIn(stores_under_test(#suite)), \
                           [](auto const& tested) { return tested.param.name; })

}  // namespace holt::test
