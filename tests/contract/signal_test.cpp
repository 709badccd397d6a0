// SPDX-License-Identifier: Apache-2.0
// SignalBus: wake-up hints between clients.

#include "contract/engine_test.hpp"
#include "contracts/home.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <atomic>
#include <future>
#include <set>
#include <thread>

namespace holt::test {
namespace {

/// Remembers what it hears, and can wait for it.
class Ear {
 public:
  Ear(SignalBus& bus, std::string topic) : bus_(bus) {
    id_ = bus_.subscribe(std::move(topic), [this](Signal const& signal) {
      std::scoped_lock const lock(mutex_);
      heard_.push_back(signal.text);
      changed_.notify_all();
    });
  }
  ~Ear() { bus_.unsubscribe(id_); }
  Ear(Ear const&) = delete;
  Ear& operator=(Ear const&) = delete;

  bool hears(std::string const& text) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 5s, [&] { return has(text); });
  }
  /// Each of 0 to `count` - 1, or `instead`.
  bool hears_all(int count, std::string const& instead) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 5s, [&] { return has(instead) || has_all(count); });
  }
  bool heard(std::string const& text) {
    std::scoped_lock const lock(mutex_);
    return has(text);
  }

 private:
  bool has(std::string const& text) { return std::ranges::find(heard_, text) != heard_.end(); }
  bool has_all(int count) {
    for (int i = 0; i < count; ++i) {
      if (!has(std::to_string(i))) return false;
    }
    return true;
  }

  SignalBus& bus_;
  SignalBus::Subscription id_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> heard_;
};

/// A full inbox may lose a signal: sends it until it was heard, for up to 5 s.
bool insist(SignalBus& to, Ear& ear, std::string const& topic) {
  for (int i = 0; i < 500; ++i) {
    to.send(to.inbox(), {topic, "insisted"});
    if (ear.heard("insisted")) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

class SignalTest : public EngineTest {
 protected:
  SignalBus& bus() { return client_.engine().signals(); }
  Client other_{*store_};
  SignalBus& other_bus() { return other_.engine().signals(); }

  /// Where handlers of bus() are called.
  asio::any_io_executor loop_of_handlers() {
    auto* const home = dynamic_cast<Home*>(&client_.engine());
    return home != nullptr ? home->home() : store_->env().executor();
  }
  /// That does nothing else until this is set.
  std::shared_ptr<std::promise<void>> keep_busy() {
    auto go = std::make_shared<std::promise<void>>();
    asio::post(loop_of_handlers(), [go] { go->get_future().wait(); });
    return go;
  }
};
HOLT_ON_EVERY_STORE(SignalTest);

TEST_P(SignalTest, AnInboxIsAPlainTokenAndNeverTheSame) {
  std::set<std::string> inboxes{bus().inbox(), other_bus().inbox()};
  for (int i = 0; i < 5; ++i) inboxes.insert(store_->open()->signals().inbox());
  EXPECT_EQ(inboxes.size(), 7U);
  for (auto const& inbox : inboxes) {
    EXPECT_GE(inbox.size(), 1U);
    EXPECT_LE(inbox.size(), 64U);
    EXPECT_EQ(inbox.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789_-"),
              std::string::npos);
  }
}

TEST_P(SignalTest, SendReachesTheSubscribersOfTheTopicAtThatInbox) {
  Ear ear(other_bus(), "news");
  Ear elsewhere(bus(), "news");
  Ear other_topic(other_bus(), "weather");
  EXPECT_NE(bus().send(other_bus().inbox(), {"news", "hello"}), Delivery::dead);
  EXPECT_TRUE(ear.hears("hello"));
  EXPECT_FALSE(elsewhere.heard("hello"));
  EXPECT_FALSE(other_topic.heard("hello"));
}

TEST_P(SignalTest, SendToOurselvesWorks) {
  Ear ear(bus(), "news");
  bus().send(bus().inbox(), {"news", "me"});
  EXPECT_TRUE(ear.hears("me"));
}

TEST_P(SignalTest, PublishReachesEverybodyOfTheInstanceOurselvesIncluded) {
  Client stranger(*store_, "stranger");
  Ear here(bus(), "news");
  Ear there(other_bus(), "news");
  Ear apart(stranger.engine().signals(), "news");
  bus().publish({"news", "all"});
  EXPECT_TRUE(here.hears("all"));
  EXPECT_TRUE(there.hears("all"));
  stranger.engine().signals().publish({"news", "later"});
  EXPECT_TRUE(apart.hears("later"));
  EXPECT_FALSE(apart.heard("all"));
}

TEST_P(SignalTest, ATextMayHoldNewlinesAndBeOneKilobyteLong) {
  Ear ear(other_bus(), "news");
  std::string const text = "line 1\nline 2\n" + std::string(1000, 'x');
  bus().send(other_bus().inbox(), {"news", text});
  EXPECT_TRUE(ear.hears(text));
}

TEST_P(SignalTest, AnInboxWhoseClientIsGoneIsNotToldAlive) {
  std::string inbox;
  {
    Client gone(*store_);
    inbox = gone.engine().signals().inbox();
    EXPECT_NE(bus().send(inbox, {"news", "alive"}), Delivery::dead);
  }
  EXPECT_NE(bus().send(inbox, {"news", "dead"}), Delivery::sent);
}

TEST_P(SignalTest, ANameThatIsNoInboxDoesNotThrow) {
  EXPECT_NE(bus().send("../../etc/passwd", {"news", "x"}), Delivery::sent);
  EXPECT_NE(bus().send("", {"news", "x"}), Delivery::sent);
  EXPECT_NE(bus().send(std::string(300, 'a'), {"news", "x"}), Delivery::sent);
}

TEST_P(SignalTest, SendingToAFullInboxNeverBlocks) {
  for (int i = 0; i < 5000; ++i) bus().send(other_bus().inbox(), {"flood", std::to_string(i)});
  Ear ear(other_bus(), "news");
  EXPECT_TRUE(insist(other_bus(), ear, "news"));
}

TEST_P(SignalTest, ListeningTwiceIsHarmless) {
  bus().listen();
  bus().listen();
  Ear ear(bus(), "news");
  bus().send(bus().inbox(), {"news", "once"});
  EXPECT_TRUE(ear.hears("once"));
}

/// One that hears nothing for a while may lose signals, but is told that it may have.
TEST_P(SignalTest, OffersThatFoundNoRoomAreToldAsOneForAll) {
  bus().listen();
  Ear ear(bus(), std::string(topic::offer));
  auto const go = keep_busy();
  constexpr int count = 200;
  for (int i = 0; i < count; ++i) {
    other_bus().send(bus().inbox(), {std::string(topic::offer), std::to_string(i)});
  }
  go->set_value();
  EXPECT_TRUE(ear.hears_all(count, ""));
}

TEST_P(SignalTest, WhatIsForOurselvesIsNotLost) {
  bus().listen();
  Ear ear(bus(), "news");
  auto const go = keep_busy();
  for (int i = 0; i < 200; ++i) bus().send(bus().inbox(), {"news", std::to_string(i)});
  go->set_value();
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(ear.hears(std::to_string(i)));
}

TEST_P(SignalTest, HandlersRunOnTheLoopOrAtHome) {
  auto const thread_of = [](asio::any_io_executor const& loop) {
    std::promise<std::thread::id> id;
    asio::post(loop, [&] { id.set_value(std::this_thread::get_id()); });
    return id.get_future().get();
  };
  auto const loop_thread = thread_of(store_->env().executor());
  auto const home_thread = thread_of(loop_of_handlers());
  std::promise<std::thread::id> seen;
  std::atomic<bool> first{true};
  auto const id = bus().subscribe("where", [&](Signal const&) {
    if (first.exchange(false)) seen.set_value(std::this_thread::get_id());
  });
  bus().send(bus().inbox(), {"where", ""});
  auto const handler_thread = seen.get_future().get();
  EXPECT_TRUE(handler_thread == loop_thread || handler_thread == home_thread);
  bus().unsubscribe(id);
}

TEST_P(SignalTest, AfterUnsubscribeOnTheLoopNoHandlerStarts) {
  std::atomic<int> calls{0};
  std::promise<void> unsubscribed;
  auto const id = bus().subscribe("news", [&](Signal const&) { ++calls; });
  for (int i = 0; i < 50; ++i) bus().send(bus().inbox(), {"news", "x"});
  asio::post(store_->env().executor(), [&] {
    bus().unsubscribe(id);
    auto const until_now = calls.load();
    for (int i = 0; i < 50; ++i) bus().send(bus().inbox(), {"news", "y"});
    asio::post(store_->env().executor(), [&, until_now] {
      EXPECT_EQ(calls, until_now);
      unsubscribed.set_value();
    });
  });
  unsubscribed.get_future().get();
  Ear ear(bus(), "end");
  EXPECT_TRUE(insist(bus(), ear, "end"));
}

TEST_P(SignalTest, AHandlerMayUnsubscribeAnotherAndItself) {
  std::atomic<int> calls{0};
  SignalBus::Subscription first = 0;
  SignalBus::Subscription second = 0;
  auto const once = [&](Signal const&) {
    ++calls;
    bus().unsubscribe(first);
    bus().unsubscribe(second);
  };
  first = bus().subscribe("news", once);
  second = bus().subscribe("news", once);
  Ear ear(bus(), "news");
  bus().send(bus().inbox(), {"news", "one"});
  EXPECT_TRUE(ear.hears("one"));
  EXPECT_EQ(calls, 1);
}

TEST_P(SignalTest, DestroyingABusyClientIsSafe) {
  for (int i = 0; i < 20; ++i) {
    auto client = std::make_unique<Client>(*store_);
    auto const inbox = client->engine().signals().inbox();
    for (int n = 0; n < 50; ++n) bus().send(inbox, {std::string(topic::offer), "x"});
  }
}

}  // namespace
}  // namespace holt::test
