// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/schema.hpp"

#include "engines/postgres/errors.hpp"
#include "postgres_sql.hpp"

#include <fmt/format.h>

namespace holt::postgres {
namespace {

void check_readable(SchemaVersion const& found, Place const& place) {
  if (found.min_reader <= newest_version()) return;
  throw failed(
      ErrorCode::invalid_argument, Outcome::not_applied, "open",
      fmt::format("the schema \"{}\" is of a newer Holt (version {}, for programs that know "
                  "migration {}; this one knows {})",
                  place.schema, found.version, found.min_reader, newest_version()),
      "install a newer Holt");
}

[[noreturn]] void refuse_to_migrate(Place const& place, std::optional<SchemaVersion> const& found) {
  throw failed(ErrorCode::invalid_argument, Outcome::not_applied, "open",
               found ? fmt::format("the schema \"{}\" is of version {}, and this program needs {}",
                                   place.schema, found->version, newest_version())
                     : fmt::format("there is no store in the schema \"{}\"", place.schema),
               "run `holt doctor` once with an address of the role that owns the schema, and "
               "without migrate=no");
}

/// Inside a transaction that holds the lock of migrations.
void migrate(Link& link, Place const& place, Instant deadline) {
  Parameters schema;
  schema.add(place.schema);
  auto const exists = link.ask("migrate", std::string(sql::migration_look), schema, deadline);
  if (!exists.flag(0, 0)) {
    link.run("migrate", fmt::format("CREATE SCHEMA \"{}\"", place.schema), deadline);
  }
  int done = 0;
  if (exists.flag(0, 1)) {
    auto const found = link.ask("migrate", in_schema(sql::meta_read, place.schema), {}, deadline);
    done = found.rows() == 0 ? 0 : static_cast<int>(found.integer(0, 0));
  }
  for (auto const& migration : migrations) {
    if (migration.number <= done) continue;
    link.run("migrate", in_schema(migration.text, place.schema), deadline);
  }
}

}  // namespace

int newest_version() { return migrations.back().number; }

std::optional<SchemaVersion> schema_version(Link& link, Place const& place, Instant deadline) {
  try {
    auto const found = link.ask("open", in_schema(sql::meta_read, place.schema), {}, deadline);
    if (found.rows() == 0) return std::nullopt;
    return SchemaVersion{static_cast<int>(found.integer(0, 0)),
                         static_cast<int>(found.integer(0, 1))};
  } catch (EngineError const& error) {
    auto const state = state_of(error);
    if (state == "42P01" || state == "3F000") return std::nullopt;
    throw;
  }
}

void prepare_schema(Link& link, Place const& place, Instant deadline) {
  auto const found = schema_version(link, place, deadline);
  if (found) check_readable(*found, place);
  if (found && found->version >= newest_version()) return;
  if (!place.migrate) refuse_to_migrate(place, found);
  Parameters schema;
  schema.add(place.schema);
  link.run("migrate", "BEGIN ISOLATION LEVEL READ COMMITTED", deadline);
  link.ask("migrate", std::string(sql::migration_lock), schema, deadline);
  migrate(link, place, deadline);
  link.run("migrate", "COMMIT", deadline);
}

}  // namespace holt::postgres
