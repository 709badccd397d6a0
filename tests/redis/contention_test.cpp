// SPDX-License-Identifier: Apache-2.0
// Many want the same few locks: never two at a time, and fences grow.

#include "redis/store_behind_proxy.hpp"
#include "support/contender.hpp"
#include "support/overlap_log.hpp"
#include "support/servers/server_process.hpp"

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <thread>

namespace holt::test {
namespace {

class RedisContention : public testing::Test {
 protected:
  void expect_order(std::size_t tenures) {
    EXPECT_EQ(tenures_in(log_), tenures);
    EXPECT_EQ(overlaps_in(log_), std::vector<std::string>());
  }

  RedisServer server_;
  TemporaryFolder folder_;
  std::string log_ = folder_.file("overlaps");
};

TEST_F(RedisContention, ManyThreadsOfOneClient) {
  Contention const how{.url = server_.url(), .log = log_, .who = "one"};
  EXPECT_EQ(contend(how), how.threads * how.rounds);
  expect_order(600);
}

TEST_F(RedisContention, TwoProcesses) {
  auto const other = [this](std::string const& who) {
    return std::thread([this, who] {
      SpawnPlan plan;
      plan.command = {std::filesystem::read_symlink("/proc/self/exe"), "--contend", server_.url(),
                      log_, who};
      plan.folder = folder_.path();
      plan.log = folder_.file(who);
      EXPECT_NO_THROW(run_program(who, plan));
    });
  };
  auto first = other("one");
  auto second = other("two");
  first.join();
  second.join();
  expect_order(400);
}

constexpr std::uintmax_t some_tenures = 2000;  // bytes of the log

/// Grants whose answers are lost, releases that came and were not confirmed, waiters that lost
/// their ears.
TEST_F(RedisContention, WhileConnectionsBreak) {
  TcpProxy proxy(server_.port());
  auto const written = [this] {
    std::error_code missing;
    auto const size = std::filesystem::file_size(log_, missing);
    return missing ? 0 : size;
  };
  std::jthread const breaking([&](std::stop_token const& stop) {
    for (std::uint64_t i = 0; !stop.stop_requested(); ++i) {
      // Not by the clock alone: on a busy machine connecting takes longer than any pause.
      auto const before = written();
      do {
        std::this_thread::sleep_for(15ms);
      } while (!stop.stop_requested() && written() < before + some_tenures);
      // Far enough away that connecting, which takes some thousands of bytes, can succeed.
      if (i % 3 == 0) proxy.cut_before(Way::to_client, 8000 + i * 997 % 9000);
      if (i % 3 == 1) proxy.cut_after(Way::to_server, 400 + i * 991 % 6000);
      if (i % 3 == 2) proxy.cut_all();
    }
  });
  Contention const how{.url = url_of(proxy),
                       .log = log_,
                       .who = "one",
                       .threads = 12,
                       .names = 4,
                       .rounds = 150,
                       .patient = false,
                       .ttl = 400ms};
  EXPECT_EQ(contend(how), how.threads * how.rounds);
  EXPECT_GT(proxy.cuts(), 3U);
  EXPECT_GE(tenures_in(log_), 1800U);
  EXPECT_EQ(overlaps_in(log_), std::vector<std::string>());
}

}  // namespace
}  // namespace holt::test
