// SPDX-License-Identifier: Apache-2.0
#include "engines/module/own_loop.hpp"

#include "contracts/home.hpp"
#include "engines/module/at_loop.hpp"
#include "engines/module/tasks_on_loop.hpp"
#include "env/blocking_loop.hpp"
#include "env/shared_loop.hpp"

#include <boost/asio/post.hpp>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holt {
namespace {

/// The loader's machine with loops of our own.
class ModuleEnv final : public Env {
 public:
  explicit ModuleEnv(Env& outer) : outer_(outer) {}
  ~ModuleEnv() override {
    std::scoped_lock const lock(*timers_);
    timers_->open = false;
  }
  ModuleEnv(ModuleEnv const&) = delete;
  ModuleEnv& operator=(ModuleEnv const&) = delete;

  [[nodiscard]] Instant now() const override { return outer_.now(); }
  [[nodiscard]] std::chrono::system_clock::time_point wall() const override {
    return outer_.wall();
  }
  std::uint64_t random() override { return outer_.random(); }
  [[nodiscard]] std::string boot_id() const override { return outer_.boot_id(); }
  TimerId call_at(Instant when, Task task) override {
    return outer_.call_at(when,
                          [timers = timers_, loop = &loop_, task = std::move(task)]() mutable {
                            std::scoped_lock const lock(*timers);
                            if (!timers->open) return;
                            auto const attention = loop->attention();
                            asio::post(loop->executor(), std::move(task));
                          });
  }
  void cancel(TimerId timer) override { outer_.cancel(timer); }
  [[nodiscard]] asio::any_io_executor executor() override { return loop_.executor(); }
  [[nodiscard]] asio::any_io_executor blocking() override { return blocking_.executor(); }
  void call_user(Task task) override { outer_.call_user(std::move(task)); }
  [[nodiscard]] SharedLoop& loop() { return loop_; }

 private:
  /// The loader's timers outlive us: closed, they do not touch our loop any more.
  struct Timers : std::mutex {
    bool open = true;
  };

  Env& outer_;
  SharedLoop loop_;
  BlockingLoop blocking_;
  std::shared_ptr<Timers> timers_ = std::make_shared<Timers>();
};

class LeasesOnLoop final : public LeaseStore {
 public:
  LeasesOnLoop(LeaseStore& inner, SharedLoop& loop) : inner_(inner), loop_(loop) {}

  void check(LeaseRequest const& request) const override { inner_.check(request); }
  asio::awaitable<std::expected<LeaseGrant, Busy>> acquire(LeaseRequest request,
                                                           Instant deadline) override {
    return at(loop_, inner_.acquire(std::move(request), deadline));
  }
  asio::awaitable<std::vector<std::expected<void, Lost>>> renew(std::vector<LeaseRenewal> renewals,
                                                                Instant deadline) override {
    return at(loop_, inner_.renew(std::move(renewals), deadline));
  }
  asio::awaitable<std::expected<void, Lost>> release(Name name, Owner owner,
                                                     Instant deadline) override {
    return at(loop_, inner_.release(std::move(name), std::move(owner), deadline));
  }
  asio::awaitable<BreakResult> break_lease(BreakRequest request, Instant deadline) override {
    return at(loop_, inner_.break_lease(std::move(request), deadline));
  }
  asio::awaitable<std::optional<LeaseInfo>> find(Name name, Instant deadline) override {
    return at(loop_, inner_.find(std::move(name), deadline));
  }
  asio::awaitable<LeasePage> list(std::string prefix, std::string cursor, std::uint32_t limit,
                                  Instant deadline) override {
    return at(loop_, inner_.list(std::move(prefix), std::move(cursor), limit, deadline));
  }

 private:
  LeaseStore& inner_;
  SharedLoop& loop_;
};

class RecordsOnLoop final : public RecordStore {
 public:
  RecordsOnLoop(RecordStore& inner, SharedLoop& loop) : inner_(inner), loop_(loop) {}

  asio::awaitable<std::optional<Record>> get(std::string key, Instant deadline) override {
    return at(loop_, inner_.get(std::move(key), deadline));
  }
  asio::awaitable<std::expected<std::uint64_t, Conflict>> put(RecordWrite write,
                                                              Instant deadline) override {
    return at(loop_, inner_.put(std::move(write), deadline));
  }
  asio::awaitable<std::expected<bool, Conflict>> erase(std::string key,
                                                       std::optional<std::uint64_t> expected,
                                                       Instant deadline) override {
    return at(loop_, inner_.erase(std::move(key), expected, deadline));
  }
  asio::awaitable<RecordPage> list(std::string prefix, std::string cursor, std::uint32_t limit,
                                   Instant deadline) override {
    return at(loop_, inner_.list(std::move(prefix), std::move(cursor), limit, deadline));
  }
  asio::awaitable<std::int64_t> add(std::string counter, std::int64_t step,
                                    Instant deadline) override {
    return at(loop_, inner_.add(std::move(counter), step, deadline));
  }

 private:
  RecordStore& inner_;
  SharedLoop& loop_;
};

/// A function of the loader's, until it is closed. Closing waits for a call under way on another
/// thread; a function may close itself.
template <class Argument>
class Closable {
 public:
  explicit Closable(std::function<void(Argument)> function) : function_(std::move(function)) {}

  void operator()(Argument argument) {
    std::scoped_lock const lock(mutex_);
    if (open_) function_(std::forward<Argument>(argument));
  }

  void close() {
    std::scoped_lock const lock(mutex_);
    open_ = false;
  }

 private:
  std::function<void(Argument)> function_;
  std::recursive_mutex mutex_;
  bool open_ = true;
};

/// One that is called on the loader's executor.
template <class Argument>
class Handed : public std::enable_shared_from_this<Handed<Argument>> {
 public:
  Handed(asio::any_io_executor executor, std::function<void(Argument)> function)
      : executor_(std::move(executor)), function_(std::move(function)) {}

  void operator()(Argument argument) {
    asio::post(executor_,
               [self = this->shared_from_this(), argument = std::move(argument)]() mutable {
                 self->function_(std::move(argument));
               });
  }

  void close() { function_.close(); }

 private:
  asio::any_io_executor executor_;
  Closable<Argument> function_;
};

/// Handlers are called on our loop: where who waits for a signal runs, and goes on.
class SignalsFromLoop final : public SignalBus {
 public:
  SignalsFromLoop(SignalBus& inner, SharedLoop& loop) : inner_(inner), loop_(loop) {}
  ~SignalsFromLoop() override {
    for (auto const& [subscription, handler] : handlers_) {
      inner_.unsubscribe(subscription);
      handler->close();
    }
  }
  SignalsFromLoop(SignalsFromLoop const&) = delete;
  SignalsFromLoop& operator=(SignalsFromLoop const&) = delete;

  [[nodiscard]] std::string const& inbox() const override { return inner_.inbox(); }
  void listen() override {
    auto const attention = loop_.attention();
    inner_.listen();
  }
  [[nodiscard]] bool listening() const override { return inner_.listening(); }
  Delivery send(std::string_view inbox, Signal const& signal) override {
    auto const attention = loop_.attention();
    return inner_.send(inbox, signal);
  }
  void publish(Signal const& signal) override {
    auto const attention = loop_.attention();
    inner_.publish(signal);
  }

  Subscription subscribe(std::string topic, Handler handler) override {
    auto closable = std::make_shared<ClosableHandler>(std::move(handler));
    auto const subscription = inner_.subscribe(
        std::move(topic), [closable](Signal const& signal) { (*closable)(signal); });
    std::scoped_lock const lock(mutex_);
    handlers_.emplace(subscription, std::move(closable));
    return subscription;
  }

  void unsubscribe(Subscription subscription) override {
    inner_.unsubscribe(subscription);
    std::shared_ptr<ClosableHandler> handler;
    {
      std::scoped_lock const lock(mutex_);
      auto node = handlers_.extract(subscription);
      if (node) handler = std::move(node.mapped());
    }
    if (handler) handler->close();
  }

 private:
  using ClosableHandler = Closable<Signal const&>;

  SignalBus& inner_;
  SharedLoop& loop_;
  std::mutex mutex_;
  std::map<Subscription, std::shared_ptr<ClosableHandler>> handlers_;
};

/// Hints from our loop, handed to the loader's.
class WatchFromLoop final : public ChangeWatch {
 public:
  WatchFromLoop(std::unique_ptr<ChangeWatch> inner, std::shared_ptr<Handed<bool>> handed)
      : inner_(std::move(inner)), handed_(std::move(handed)) {}
  ~WatchFromLoop() override {
    inner_.reset();
    handed_->close();
  }
  WatchFromLoop(WatchFromLoop const&) = delete;
  WatchFromLoop& operator=(WatchFromLoop const&) = delete;

 private:
  std::unique_ptr<ChangeWatch> inner_;
  std::shared_ptr<Handed<bool>> handed_;
};

class EngineOnOwnLoop final : public Engine, public Home {
 public:
  EngineOnOwnLoop(OpenEngine open, Env& outer, EngineOptions const& options)
      : executor_(outer.executor()),
        env_(outer),
        inner_(open(env_, options)),
        leases_(inner_->leases(), env_.loop()),
        records_(inner_->records(), env_.loop()),
        signals_(inner_->signals(), env_.loop()) {
    if (auto* const tasks = inner_->tasks()) tasks_.emplace(*tasks, env_.loop());
  }
  ~EngineOnOwnLoop() override {
    attention_ = env_.loop().attention();
    close_gone();
  }
  EngineOnOwnLoop(EngineOnOwnLoop const&) = delete;
  EngineOnOwnLoop& operator=(EngineOnOwnLoop const&) = delete;

  LeaseStore& leases() override { return leases_; }
  RecordStore& records() override { return records_; }
  SignalBus& signals() override { return signals_; }
  TaskStore* tasks() override { return tasks_ ? &*tasks_ : nullptr; }
  [[nodiscard]] Capabilities capabilities() const override { return inner_->capabilities(); }
  [[nodiscard]] std::string const& url() const override { return inner_->url(); }

  void on_gone(std::function<void(std::string reason)> gone) override {
    close_gone();
    if (!gone) return;
    gone_ = std::make_shared<Handed<std::string>>(executor_, std::move(gone));
    inner_->on_gone([handed = gone_](std::string reason) { (*handed)(std::move(reason)); });
  }

  [[nodiscard]] std::unique_ptr<ChangeWatch> watch(std::function<void()> changed) override {
    auto handed = std::make_shared<Handed<bool>>(
        executor_, [changed = std::move(changed)](bool) { changed(); });
    auto inner = inner_->watch([handed] { (*handed)(true); });
    if (!inner) return nullptr;
    return std::make_unique<WatchFromLoop>(std::move(inner), std::move(handed));
  }
  asio::awaitable<std::vector<Finding>> diagnose(std::chrono::nanoseconds patience) override {
    return on(env_.blocking(), inner_->diagnose(patience));
  }
  asio::awaitable<FenceRaise> raise_fence(Instant deadline) override {
    return at(env_.loop(), inner_->raise_fence(deadline));
  }

  [[nodiscard]] asio::any_io_executor home() override { return env_.loop().executor(); }
  void host(std::move_only_function<void(Task)> start) override {
    env_.loop().host(std::move(start));
  }
  [[nodiscard]] std::shared_ptr<void> attention() override { return env_.loop().attention(); }

 private:
  void close_gone() {
    inner_->on_gone({});
    if (gone_) gone_->close();
  }

  asio::any_io_executor executor_;
  ModuleEnv env_;
  std::shared_ptr<void> attention_;  ///< while the engine goes
  std::unique_ptr<Engine> inner_;
  LeasesOnLoop leases_;
  RecordsOnLoop records_;
  SignalsFromLoop signals_;
  std::optional<TasksOnLoop> tasks_;
  std::shared_ptr<Handed<std::string>> gone_;
};

}  // namespace

std::unique_ptr<Engine> open_on_own_loop(OpenEngine open, Env& env, EngineOptions const& options) {
  return std::make_unique<EngineOnOwnLoop>(open, env, options);
}

}  // namespace holt
