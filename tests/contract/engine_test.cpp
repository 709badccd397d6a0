// SPDX-License-Identifier: Apache-2.0
#include "contract/engine_test.hpp"

#include "base/random_text.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace holt::test {

Client::Client(TestStore& store, std::string const& instance)
    : env_(store.env()),
      start_(store.names_start()),
      note_(store.usual_note()),
      engine_(store.open(instance)) {
  auto const record = [this](Signal const& signal) {
    std::scoped_lock const lock(mutex_);
    signals_.push_back(signal);
    changed_.notify_all();
  };
  for (auto const topic : {topic::offer, topic::near, topic::check, topic::work, topic::task_check,
                           topic::task_ended}) {
    subscriptions_.push_back(engine_->signals().subscribe(std::string(topic), record));
  }
  engine_->signals().listen();
  for (int i = 0; i < 1000 && !engine_->signals().listening(); ++i) {
    std::this_thread::sleep_for(5ms);
  }
}

// Handlers use the rest until the engine is gone.
Client::~Client() { engine_.reset(); }

Owner Client::owner() {
  return Owner(engine_->signals().inbox(), random_token([this] { return env_.random(); }));
}

std::expected<LeaseGrant, Busy> Client::acquire(Name const& name, Owner const& owner,
                                                Wish const& wish) {
  return acquire_all({name}, owner, wish);
}

std::expected<LeaseGrant, Busy> Client::acquire_all(std::vector<Name> names, Owner const& owner,
                                                    Wish const& wish) {
  for (auto& name : names) name = named(name);
  LeaseRequest request(std::move(names), owner, wish.ttl);
  request.stand_in_line = wish.line;
  request.ticket_ttl = wish.ticket_ttl;
  request.priority = wish.priority;
  request.delay = wish.delay;
  request.note = wish.note.empty() ? note_ : wish.note;
  return run(engine_->leases().acquire(std::move(request), deadline()));
}

Fence Client::take(Name const& name, Owner const& owner, Wish const& wish) {
  auto const granted = acquire(name, owner, wish);
  EXPECT_TRUE(granted) << name.text() << " is busy";
  return granted ? granted->fences.at(0) : Fence();
}

std::uint32_t Client::wait_for(Name const& name, Owner const& owner, Wish wish) {
  wish.line = true;
  auto const answer = acquire(name, owner, wish);
  EXPECT_FALSE(answer) << name.text() << " was free";
  return answer ? 0 : answer.error().place;
}

std::expected<void, Lost> Client::renew(Name const& name, Owner const& owner, Nanos ttl) {
  std::vector<LeaseRenewal> renewals;
  renewals.emplace_back(named(name), owner, ttl);
  return run(engine_->leases().renew(std::move(renewals), deadline())).at(0);
}

std::expected<void, Lost> Client::release(Name const& name, Owner const& owner) {
  return run(engine_->leases().release(named(name), owner, deadline()));
}

BreakResult Client::break_lease(Name const& name, std::string const& reason, bool now,
                                Fence fence) {
  BreakRequest request(named(name), reason);
  request.now = now;
  request.fence = fence;
  return run(engine_->leases().break_lease(std::move(request), deadline()));
}

std::optional<LeaseInfo> Client::find(Name const& name) {
  auto found = run(engine_->leases().find(named(name), deadline()));
  if (found) take_away_start(*found);
  return found;
}

LeasePage Client::list(std::string const& prefix, std::string const& cursor, std::uint32_t limit) {
  auto const after = cursor.empty() ? cursor : start_ + cursor;
  auto page = run(engine_->leases().list(start_ + prefix, after, limit, deadline()));
  for (auto& lease : page.leases) take_away_start(lease);
  if (!page.next.empty()) page.next.erase(0, start_.size());
  return page;
}

void Client::take_away_start(LeaseInfo& lease) const {
  ASSERT_TRUE(lease.name.text().starts_with(start_)) << lease.name.text();
  lease.name = lease.name.text().substr(start_.size());
}

bool Client::hears(std::string_view topic, std::string_view text) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, 5s, [&] { return count(topic, text) > 0; });
}

bool Client::heard(std::string_view topic, std::string_view text) {
  return times_heard(topic, text) > 0;
}

std::size_t Client::times_heard(std::string_view topic, std::string_view text) {
  std::scoped_lock const lock(mutex_);
  return count(topic, text);
}

std::size_t Client::count(std::string_view topic, std::string_view text) const {
  auto const same = [&](Signal const& signal) {
    return signal.topic == topic && signal.text == text;
  };
  return static_cast<std::size_t>(std::ranges::count_if(signals_, same));
}

void EngineTest::SetUp() {
  auto const& test = *testing::UnitTest::GetInstance()->current_test_info();
  std::string_view const suite(test.test_suite_name());  // Engines/Suite
  std::string_view const name(test.name());              // Test/engine
  std::string const tests = std::string(suite.substr(suite.find('/') + 1)) + "." +
                            std::string(name.substr(0, name.find('/')));
  auto const why = GetParam().excluded(tests);
  if (!why.empty()) GTEST_SKIP() << why;
}

}  // namespace holt::test
