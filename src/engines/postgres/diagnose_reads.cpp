// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/diagnose_reads.hpp"

#include "postgres_sql.hpp"

#include <holt/error.hpp>

#include <fmt/format.h>

#include <utility>

namespace holt::postgres {
namespace {

using enum FindingStatus;

constexpr std::int64_t long_behind_s = 10;

Finding judged(FindingStatus status, std::string detail, std::string fix = {}) {
  return {"read-store", "Read store", status, std::move(detail), std::move(fix)};
}

Finding judge(Answer const& facts, std::string const& host, std::string const& system) {
  if (facts.text(0, 0) != system) {
    return judged(fail, host + " is not a copy of this server: what it lists is of another store",
                  "let read_store name standbys of the server that the store is on");
  }
  if (!facts.flag(0, 1)) return judged(ok, host + ", a primary: listings are read there");
  if (!facts.flag(0, 2)) {
    return judged(warn, host + ", a standby, has not got the store's tables yet",
                  "wait, or look at its replication: pg_stat_wal_receiver");
  }
  auto const bytes = facts.integer(0, 3);
  auto const seconds = facts.integer(0, 4);
  if (bytes > 0 && seconds > long_behind_s) {
    return judged(
        warn, fmt::format("{}, a standby, is {} kB and {} s behind", host, bytes / 1024, seconds),
        "look at its replication (pg_stat_wal_receiver), or leave read_store out");
  }
  return judged(
      ok, fmt::format("{}, a standby, {} kB behind: listings are read there", host, bytes / 1024));
}

}  // namespace

asio::awaitable<Finding> diagnose_reads(Place const& place, Pool& pool, Pool& reads,
                                        std::string system, Instant deadline) {
  static auto const where = statement(std::string(sql::wal_position));
  static auto const question = statement(std::string(sql::diagnose_reads));
  std::string trouble;
  try {
    Answer const position =
        co_await pool.call(where, Parameters(), Effect::reads, "diagnose", deadline);
    Parameters parameters;
    parameters.add(place.schema).add(std::string(position.text(0, 0)));
    Answer const facts =
        co_await reads.call(question, std::move(parameters), Effect::reads, "diagnose", deadline);
    Finding finding = judge(facts, reads.server().host, system);
    co_return finding;
  } catch (EngineError const& error) {
    trouble = error.what();
  }
  Finding unreachable = judged(fail, "listings cannot be read: " + trouble,
                               "is it up, and does read_store name it rightly?");
  co_return unreachable;
}

}  // namespace holt::postgres
