// SPDX-License-Identifier: Apache-2.0
// Trust words: what one thread sets another reads, and a forked child reads nothing.
#include "base/trust_word.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace holt {
namespace {

using namespace std::chrono_literals;

constexpr Instant later{1h};

/// Runs `child` in a forked process and answers its exit code.
int in_child(std::function<int()> const& child) {
  auto const pid = fork();
  if (pid == 0) _exit(child());
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(TrustWordTest, StartsUntrusted) {
  TrustWord const word;
  EXPECT_EQ(word.until(), Instant{});
}

TEST(TrustWordTest, KeepsWhatIsSetUntilCleared) {
  TrustWord word;
  word.set(later);
  EXPECT_EQ(word.until(), later);
  word.set(later + 1ns);
  EXPECT_EQ(word.until(), later + 1ns);
  word.clear();
  EXPECT_EQ(word.until(), Instant{});
}

TEST(TrustWordTest, AWordThatIsUsedAgainStartsUntrusted) {
  for (int i = 0; i < 100; ++i) {
    TrustWord word;
    ASSERT_EQ(word.until(), Instant{});
    word.set(later);
  }
}

TEST(TrustWordTest, ManyWordsAreAllDifferent) {
  std::vector<std::unique_ptr<TrustWord>> words;
  for (int i = 0; i < 20'000; ++i) {
    words.push_back(std::make_unique<TrustWord>());
    words.back()->set(later + std::chrono::nanoseconds(i));
  }
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_EQ(words[static_cast<std::size_t>(i)]->until(), later + std::chrono::nanoseconds(i));
  }
}

TEST(TrustWordTest, AForkedChildReadsNothingAndTheParentKeepsAll) {
  std::vector<std::unique_ptr<TrustWord>> words;
  for (int i = 0; i < 10'000; ++i) {
    words.push_back(std::make_unique<TrustWord>());
    words.back()->set(later);
  }
  auto const trusted_in_child = in_child([&] {
    for (auto const& word : words) {
      if (word->until() != Instant{}) return 1;
    }
    return 0;
  });
  EXPECT_EQ(trusted_in_child, 0);
  for (auto const& word : words) ASSERT_EQ(word->until(), later);
}

TEST(TrustWordTest, AChildMayUseWordsOfItsOwn) {
  TrustWord inherited;
  inherited.set(later);
  auto const result = in_child([&] {
    std::vector<std::unique_ptr<TrustWord>> own;
    for (int i = 0; i < 10'000; ++i) {
      own.push_back(std::make_unique<TrustWord>());
      if (own.back()->until() != Instant{}) return 1;
      own.back()->set(later);
    }
    if (inherited.until() != Instant{}) return 2;
    own.clear();
    return 0;
  });
  EXPECT_EQ(result, 0);
  EXPECT_EQ(inherited.until(), later);
}

TEST(TrustWordTest, AGrandchildReadsNothingEither) {
  TrustWord word;
  word.set(later);
  auto const result =
      in_child([&] { return in_child([&] { return word.until() == Instant{} ? 0 : 1; }); });
  EXPECT_EQ(result, 0);
}

// A fork while another thread takes and gives back words must not leave the child with a lock that
// nobody will ever open.
TEST(TrustWordTest, AForkBesideBusyThreadsDoesNotHangTheChild) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([](std::stop_token const& stop) {
      while (!stop.stop_requested()) {
        TrustWord word;
        word.set(later);
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    auto const result = in_child([] {
      alarm(20);  // a child that hangs is killed, and counts as failed
      TrustWord const word;
      return word.until() == Instant{} ? 0 : 1;
    });
    ASSERT_EQ(result, 0);
  }
}

TEST(TrustWordTest, ThreadsShareWords) {
  TrustWord word;
  std::jthread setter([&] {
    for (int i = 1; i <= 1000; ++i) word.set(Instant(std::chrono::nanoseconds(i)));
  });
  Instant last{};
  while (last < Instant(1000ns)) {
    auto const now = word.until();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace holt
