// SPDX-License-Identifier: Apache-2.0
#pragma once
// The engines that the contract tests run on, each as a fresh store that clients can be opened on.
// One more engine is one more TestStore and one more line in engines_under_test().

#include "contracts/engine.hpp"
#include "contracts/env.hpp"
#include "env/real_env.hpp"
#include "support/temporary_folder.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <exception>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::test {

/// The machine, with a clock that can be set forward: a test of an expiry need not wait for it.
/// Timers keep the time they were set for; tests of engines set none.
class TestEnv final : public Env {
 public:
  void advance(std::chrono::nanoseconds by) { offset_ += by.count(); }
  /// As if the machine had been started again.
  void reboot(std::string boot_id) { boot_id_ = std::move(boot_id); }

  [[nodiscard]] Instant now() const override { return real_.now() + offset(); }
  [[nodiscard]] std::chrono::system_clock::time_point wall() const override {
    return real_.wall() + offset();
  }
  std::uint64_t random() override { return real_.random(); }
  [[nodiscard]] std::string boot_id() const override {
    return boot_id_ ? *boot_id_ : real_.boot_id();
  }
  TimerId call_at(Instant when, Task task) override {
    return real_.call_at(when - offset(), std::move(task));
  }
  void cancel(TimerId timer) override { real_.cancel(timer); }
  [[nodiscard]] asio::any_io_executor executor() override { return real_.executor(); }
  [[nodiscard]] asio::any_io_executor blocking() override { return real_.blocking(); }
  void call_user(Task task) override { real_.call_user(std::move(task)); }

 private:
  [[nodiscard]] std::chrono::nanoseconds offset() const {
    return std::chrono::nanoseconds(offset_.load());
  }

  RealEnv real_;
  std::atomic<std::int64_t> offset_{0};
  std::optional<std::string> boot_id_;
};

/// A fresh, empty store of one engine. Clients must go before it.
class TestStore {
 public:
  virtual ~TestStore() = default;

  /// Where it is; another process can open it too.
  [[nodiscard]] virtual std::string url() const = 0;
  [[nodiscard]] virtual Env& env() = 0;
  /// Lets time pass for the store: by setting its clock where that is possible, else by waiting.
  virtual void advance(std::chrono::nanoseconds by) = 0;
  /// Waits until it has noticed that clients are gone: no more than one of those that are left
  /// listens.
  virtual void notice_departures() {}
  /// How much longer than its ttl a lease lives in it.
  [[nodiscard]] virtual std::chrono::nanoseconds tolerance() const { return {}; }
  /// What the names of leases begin with in it, where only some are kept as is to be tested.
  [[nodiscard]] virtual std::string names_start() const { return {}; }
  /// What leases are acquired with when a test has no note for them.
  [[nodiscard]] virtual std::string usual_note() const { return {}; }
  /// The same of records.
  [[nodiscard]] virtual std::string records_start() const { return {}; }
  /// The instance that is meant where a test does not say which.
  [[nodiscard]] virtual std::string usual_instance() const { return "default"; }
  /// Whether its engine can tell that something has changed; if not, Engine::watch() answers null.
  [[nodiscard]] virtual bool hints_at_changes() const { return true; }

  /// One more client.
  [[nodiscard]] std::unique_ptr<Engine> open(std::string const& instance = "default") {
    return open_engine(env(), {url(), instance == "default" ? usual_instance() : instance});
  }
};

/// Engines are loaded from this build from now on; what makes an EngineUnderTest does it too.
void use_built_modules();

/// Tests that an engine is not held to, "Suite.Test" or "Suite.*", and why.
struct Exclusion {
  std::string_view tests;
  std::string_view why;
};

struct EngineUnderTest {
  std::string name;
  std::unique_ptr<TestStore> (*make)();
  std::vector<Exclusion> exclusions = {};

  /// Why it is not held to these tests; empty: it is.
  [[nodiscard]] std::string_view excluded(std::string_view tests) const;

  friend void PrintTo(EngineUnderTest const& engine, std::ostream* out);
};

/// Whether the engine under test of this name keeps tasks.
[[nodiscard]] bool has_tasks(std::string_view engine);

/// Those that are held to the suite, at least to some of it. Suites called Task... are left to
/// those that keep tasks.
[[nodiscard]] std::vector<EngineUnderTest> engines_under_test(std::string_view suite);
/// These, and every other way to run or to reach their servers.
[[nodiscard]] std::vector<EngineUnderTest> stores_under_test(std::string_view suite);

/// Runs the coroutine on this thread, on a loop of its own, to its end; throws what it throws.
template <class T>
T run(asio::awaitable<T> work) {
  asio::io_context loop(1);
  std::optional<T> result;
  std::exception_ptr error;
  asio::co_spawn(loop, std::move(work), [&](std::exception_ptr thrown, T value) {
    error = std::move(thrown);
    if (!error) result.emplace(std::move(value));
  });
  loop.run();
  if (error) std::rethrow_exception(error);
  return std::move(*result);
}

inline void run(asio::awaitable<void> work) {
  asio::io_context loop(1);
  std::exception_ptr error;
  asio::co_spawn(loop, std::move(work), [&](std::exception_ptr thrown) { error = thrown; });
  loop.run();
  if (error) std::rethrow_exception(error);
}

}  // namespace holt::test
