// SPDX-License-Identifier: Apache-2.0
// Elections between processes: how long nobody leads after the leader has stopped and after it was
// killed, and what leaders and followers send while nothing happens.

#include "figures.hpp"
#include "handover.hpp"
#include "postgres_figures.hpp"
#include "redis_figures.hpp"
#include "support/servers/redis_traffic.hpp"
#include "support/servers/tcp_proxy.hpp"
#include "terms.hpp"

#include <fmt/core.h>

#include <ratio>
#include <thread>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t stops = 500;
constexpr int kills = 40;
constexpr auto ttl = 300ms;
constexpr int quiet_ones = 10;
constexpr auto watched = 90s;

/// Of one store: a hand-over has at most so much time, one of a hundred ten times as much.
void gaps(std::string const& store, std::string const& url, std::chrono::milliseconds target) {
  gap_rows(store + ", leader stops", after_stop(url, stops),
           fmt::format("at most {} ms; Sovereign: 15 s", target.count()),
           fmt::format("at most {} ms", 10 * target.count()));
  std::vector<double> late;
  for (int i = 0; i < kills; ++i) late.push_back(after_kill_of_leader(url, ttl));
  gap_rows(store + ", leader is killed, past the rest of its ttl", late,
           "Sovereign: up to 45 s in all", "at most 15 ms");
}

void measure_gaps() {
  head("Elections: without a leader",
       fmt::format(
           "Three processes stand, one leads. From the moment before the leader calls `stop()` to "
           "the moment\nanother process is told that it leads; {} times. After SIGKILL: ttl {} ms, "
           "{} times, counted from\nthe end of the dead leader's lease by the store's clock. The "
           "servers are those of the hand-over of\nlocks. Sovereign: what its documentation says "
           "at ttl 30 s.",
           stops, ttl.count(), kills));
  {
    Folder const folder;
    gaps("SQLite", "sqlite://" + (folder.path() / "store.db").string(), 1ms);
  }
  {
    test::RedisServer const server;
    gaps("Redis", server.url(), 1ms);
  }
  PostgresAtWork const server;
  gaps("PostgreSQL", server->url(), 5ms);
}

void cost_rows(std::string const& store, std::string const& what, double leaders,
               double followers) {
  auto const minutes = std::chrono::duration<double, std::ratio<60>>(watched).count();
  auto const each = [&](double sent) { return fmt::format("{:.2f}", sent / quiet_ones / minutes); };
  row(fmt::format("{}, {} of a leader per minute", store, what), each(leaders),
      "at most 8; Sovereign: 10");
  row(fmt::format("{}, {} of a follower per minute", store, what), each(followers),
      "at most 2.5; Sovereign: 8");
}

std::string url_of(test::TcpProxy const& proxy) {
  return "redis://127.0.0.1:" + std::to_string(proxy.port());
}

double sent_through(test::TcpProxy const& proxy) {
  return static_cast<double>(test::commands_sent(proxy).size());
}

/// On Redis whatever clients send is counted on its way, on PostgreSQL by the server for each role.
void measure_costs() {
  test::RedisServer const redis;
  test::TcpProxy leaders(redis.port());
  test::TcpProxy followers(redis.port());
  PostgresAtWork const postgres(StatementStats::config());
  StatementStats const stats(postgres);
  postgres->query("CREATE ROLE follower SUPERUSER LOGIN");
  QuietElections on_redis(url_of(leaders), url_of(followers), quiet_ones);
  QuietElections on_postgres(
      postgres->url(), "postgres://follower@" + postgres->address() + "/postgres", quiet_ones);
  std::this_thread::sleep_for(5s);  // all that they say at first is said
  leaders.forget();
  followers.forget();
  auto const all_before = stats.of_all().statements;
  auto const followers_before = stats.by("follower").statements;
  std::this_thread::sleep_for(watched);
  auto const by_followers = stats.by("follower").statements - followers_before;
  auto const by_leaders = stats.of_all().statements - all_before - by_followers;
  auto const redis_leaders = sent_through(leaders);
  auto const redis_followers = sent_through(followers);
  on_redis.end();
  on_postgres.end();
  head("Elections: what they cost while nothing happens",
       fmt::format("{} elections with a leader and a follower each, all with clients of their own "
                   "and a ttl of 30 s, over\n{} s: what clients send, as the server gets it. "
                   "Sovereign: what its documentation says at ttl 30 s.",
                   quiet_ones, watched.count()));
  cost_rows("Redis", "commands", redis_leaders, redis_followers);
  cost_rows("PostgreSQL", "statements", by_leaders, by_followers);
}

}  // namespace
}  // namespace holt::bench

int main() {
  holt::bench::measure_gaps();
  holt::bench::measure_costs();
}
