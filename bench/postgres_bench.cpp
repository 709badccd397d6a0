// SPDX-License-Identifier: Apache-2.0
// Lock pairs (fenced acquire and release, distinct names) per second on one PostgreSQL server: the
// engine on its own loop, the whole library, and pgbench with the same statements, one call in
// each. Interleaved rounds; medians of the rounds' ratios. And what a million renewals leave
// behind.

#include "engines/postgres/engine.hpp"
#include "engines/postgres/place.hpp"
#include "env/real_env.hpp"
#include "figures.hpp"
#include "pairs.hpp"
#include "postgres_figures.hpp"
#include "postgres_sql.hpp"
#include "processes.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;

constexpr int rounds = 5;
constexpr auto round_time = 2s;
constexpr int default_pool = postgres::PoolOptions().max;

// pgbench. ----------------------------------------------------------------------------------------

/// A statement of the engine, with what pgbench is to put in the places of its parameters.
std::string filled(std::string_view statement, std::vector<std::string> const& parameters) {
  auto text = postgres::in_schema(statement, "holt");
  for (auto number = parameters.size(); number > 0; --number) {
    auto const place = "$" + std::to_string(number) + "::";
    text.replace(text.find(place), place.size() - 2, parameters[number - 1]);
  }
  return text + ";\n";
}

/// The same two statements that the engine sends, for one name each.
void write_script(std::filesystem::path const& path) {
  std::string const name = "ARRAY['pgbench-' || :client_id]";
  std::string const owner = "ARRAY['pgbench.own' || :serial]";
  std::string const none = "'{\"\"}'";
  std::ofstream file(path);
  file << "\\set serial random(1000000000000, 9999999999999)\n"
       << filled(postgres::sql::acquire,
                 {"'bench'", "5000", "'{1}'", name, owner, "'{30000000}'", "'{0}'", "'{f}'",
                  "'{30000000}'", "'{5}'", none, none, "'{f}'"})
       << filled(postgres::sql::release, {"'bench'", "5000", name, owner});
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

Measured pgbench_round(PostgresAtWork const& server, std::filesystem::path const& script,
                       int clients, std::string const& protocol) {
  auto const text = output_of(fmt::format(
      "{}/pgbench --no-vacuum --client={} --jobs={} --time={} --protocol={} --file='{}' "
      "--host=127.0.0.1 --port={} --username=postgres postgres 2>&1",
      test::postgres_programs(), clients, std::min(clients, 2), round_time.count(), protocol,
      script.string(), server->port()));
  auto const at = text.find("tps = ");
  if (at == std::string::npos || text.find("failed transactions: 0 ") == std::string::npos) {
    throw std::runtime_error("pgbench: " + text);
  }
  return {.rate = std::strtod(text.c_str() + at + 6, nullptr)};
}

// -------------------------------------------------------------------------------------------------

void measure_pairs(int workers) {
  PostgresAtWork const server;
  Folder const folder;
  auto const script = folder.path() / "pair.sql";
  write_script(script);
  auto const url = server->url();
  Load const load{workers, round_time};
  auto const clients = std::min(workers, default_pool);
  engine_round(postgres::open, url, {workers, 200ms});  // makes the store
  Series series;
  for (int i = 0; i < rounds; ++i) {
    series["pgbench"].push_back(pgbench_round(server, script, clients, "extended"));
    series["engine"].push_back(engine_round(postgres::open, url, load));
    series["prepared"].push_back(pgbench_round(server, script, clients, "prepared"));
    series["async"].push_back(async_round(url, load));
    if (workers == 1) series["blocking"].push_back(blocking_round(url, load));
  }
  head(fmt::format("Locks: pairs per second, PostgreSQL, {} at a time", workers),
       fmt::format("A pair is a fenced acquire and its release, distinct names. pgbench sends the "
                   "same statements, one\ncall in each, from {} (the engine has {}), without "
                   "preparing them;\nthe engine keeps them prepared on each connection. {} rounds "
                   "of {} s each, alternating.\n{}",
                   clients == 1 ? "one client" : fmt::format("{} clients", clients),
                   clients == 1 ? "one connection" : fmt::format("{} connections", clients), rounds,
                   round_time.count(), server.settings()));
  row("pgbench, pairs per second", rate_text(series, "pgbench"));
  row("engine, pairs per second", rate_text(series, "engine"));
  row("engine / pgbench", ratio_text(ratio(series, "engine", "pgbench", &Measured::rate)),
      workers == 1 ? "at least 0.8x" : "at least 3x");
  row("engine / pgbench with prepared statements",
      ratio_text(ratio(series, "engine", "prepared", &Measured::rate)));
  row("engine, p50 of a pair", time_text(median(values(series["engine"], &Measured::p50))));
  row("engine, CPU of the client per pair",
      fmt::format("{:.2f} µs", median(values(series["engine"], &Measured::cpu_us))));
  row("coroutines of a user / pgbench",
      ratio_text(ratio(series, "async", "pgbench", &Measured::rate)));
  if (workers == 1) {
    row("blocking call / pgbench",
        ratio_text(ratio(series, "blocking", "pgbench", &Measured::rate)));
  }
}

// Renewals. ---------------------------------------------------------------------------------------

constexpr int leases = 1'000;
constexpr int cycles = 1'000;

asio::awaitable<void> take(LeaseStore& store, std::vector<LeaseRenewal> const& all, Instant until) {
  for (auto const& one : all) {
    LeaseRequest request({one.name}, one.owner, one.ttl);
    auto const granted = co_await store.acquire(std::move(request), until);
    if (!granted) std::abort();
  }
}

asio::awaitable<void> renew(LeaseStore& store, std::vector<LeaseRenewal> const& all,
                            Instant until) {
  for (int i = 0; i < cycles; ++i) {
    auto const answers = co_await store.renew(all, until);
    for (auto const& answer : answers) {
      if (!answer) std::abort();
    }
  }
}

void measure_renewals() {
  PostgresAtWork const server;
  RealEnv env;
  auto const engine = postgres::open(env, {server->url(), "bench"});
  std::vector<LeaseRenewal> all;
  for (int i = 0; i < leases; ++i) {
    all.emplace_back(Name("lease-" + std::to_string(i)), Owner("bench", fmt::format("{:022}", i)),
                     1h);
  }
  auto const run = [&](asio::awaitable<void> work) {
    asio::co_spawn(env.executor(), std::move(work), asio::use_future).get();
  };
  auto const size = [&] { return server->query("SELECT pg_relation_size('holt.lease') / 1024"); };
  run(take(engine->leases(), all, env.now() + 1min));
  auto const before = size();
  auto const began = env.now();
  run(renew(engine->leases(), all, began + 10min));
  auto const took = std::chrono::duration<double>(env.now() - began).count();
  auto const statistic = [&](std::string const& what) {
    return std::stod(
        server->query("SELECT " + what + " FROM pg_stat_user_tables WHERE relname = 'lease'"));
  };
  auto const count = static_cast<double>(leases) * cycles;
  // The server counts with some delay.
  await("the statistics", [&] { return statistic("n_tup_upd") >= count; });
  head("Locks: what a million renewals leave behind, PostgreSQL",
       fmt::format("{} leases, all renewed {} times, one time after the other. {}", leases, cycles,
                   server.settings()));
  row("renewals per second", fmt::format("{:.0f}", count / took));
  row("in place (HOT), share of the updates",
      fmt::format("{:.3f} %", statistic("100.0 * n_tup_hot_upd / n_tup_upd")));
  row("the table before, kB", before);
  row("the table after, kB", size(), "at most a tenth larger");
  row("vacuums meanwhile", fmt::format("{:.0f}", statistic("autovacuum_count")));
}

}  // namespace
}  // namespace holt::bench

int main() {
  for (int const workers : {1, 256}) holt::bench::measure_pairs(workers);
  holt::bench::measure_renewals();
}
