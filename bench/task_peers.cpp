// SPDX-License-Identifier: Apache-2.0
#include "task_peers.hpp"

#include "figures.hpp"
#include "pairs.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

namespace holt::bench {
namespace {

std::filesystem::path folder() {
  char const* const named = std::getenv("HOLT_TASK_PEERS");
  return named != nullptr ? named : HOLT_TASK_PEERS;
}

double field(std::string const& line, std::string const& name) {
  auto const at = line.find("\"" + name + "\":");
  return at == std::string::npos ? 0 : std::strtod(line.c_str() + at + name.size() + 3, nullptr);
}

constexpr auto floor_table = R"(
CREATE TABLE classic (id bigint PRIMARY KEY, priority integer NOT NULL, run_at timestamptz NOT NULL,
                      claimed_by integer, payload text NOT NULL);
CREATE INDEX classic_next ON classic (priority, run_at, id) WHERE claimed_by IS NULL;
INSERT INTO classic SELECT n, 5, now(), NULL, '{"i":' || n || '}' FROM generate_series(1, 400000) n;
VACUUM ANALYZE classic)";

constexpr auto floor_script = R"(WITH next AS (
  SELECT id FROM classic WHERE claimed_by IS NULL ORDER BY priority, run_at, id LIMIT 100
  FOR UPDATE SKIP LOCKED),
claimed AS (
  UPDATE classic SET claimed_by = :client_id FROM next WHERE classic.id = next.id
  RETURNING classic.id, classic.payload)
SELECT coalesce(array_agg(id), '{}')::text AS ids FROM claimed \gset
DELETE FROM classic WHERE id = ANY (:ids::bigint[]);
)";

}  // namespace

bool TaskPeer::installed() {
  return std::filesystem::exists(folder() / "node_modules" / "graphile-worker");
}

std::string TaskPeer::missing() {
  if (installed()) return "";
  return "\nThe peers are not installed here: `npm install --prefix bench/peers/tasks`.";
}

std::string TaskPeer::said(std::string const& what, std::size_t count, int several) const {
  if (!installed()) return "";
  return output_of(fmt::format("node '{}' {} {} {} {} {}", (folder() / "measure.mjs").string(),
                               name_, url_, what, count, several));
}

TaskPeer::Drained TaskPeer::drain(std::size_t count, int processes) const {
  auto const line = said("drain", count, processes);
  return {field(line, "rate"), field(line, "cpu_us")};
}

double TaskPeer::bulk_adds(std::size_t count, std::size_t at_a_time) const {
  return field(said("bulk", count, static_cast<int>(at_a_time)), "rate");
}

double TaskPeer::single_adds(std::size_t count, int in_flight) const {
  return field(said("single", count, in_flight), "rate");
}

double TaskPeer::pickup(std::size_t count) const {
  return field(said("pickup", count, 1), "p50_ms") * 1e-3;
}

double classic_floor(PostgresAtWork const& server) {
  constexpr double seconds = 3;
  Folder const folder("/var/tmp");
  auto const script = folder.path() / "classic.sql";
  std::ofstream(script) << floor_script;
  for (std::string statements = floor_table; !statements.empty();) {
    auto const end = statements.find(";\n");
    server->query(statements.substr(0, end));
    statements.erase(0, end == std::string::npos ? end : end + 2);
  }
  output_of(fmt::format(
      "{}/pgbench -n -M prepared -c 2 -j 1 -T {} -f '{}' -h 127.0.0.1 -p {} -U postgres postgres "
      "2>/dev/null",
      test::postgres_programs(), seconds, script.string(), server->port()));
  auto const left = std::stod(server->query("SELECT count(*) FROM classic"));
  server->query("DROP TABLE classic");
  return (400'000 - left) / seconds;
}

void versus(std::string const& what, double ours, double theirs, std::string const& target) {
  row(what, theirs > 0 ? ratio_text(ours / theirs) : "peer not installed", target);
}

}  // namespace holt::bench
