// SPDX-License-Identifier: Apache-2.0
#pragma once
// Opens a file as a Holt store, or as the tasks of one: recognises it, makes or migrates its
// tables, and voids what another boot of the machine left. A file that is as it should be costs one
// read and no write. The rest is for who looks at a store that is open: what it says of itself, and
// what it lacks.

#include "contracts/env.hpp"
#include "engines/sqlite/connection.hpp"
#include "engines/sqlite/place.hpp"
#include "sqlite_sql.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holt::sqlite {

/// "Holt" in the header of the file: tells a store from other SQLite files.
inline constexpr int application_id = 0x486F6C74;

/// What a file is made of, and what it says of itself.
struct Schema {
  int application = application_id;  ///< in the header of the file
  std::span<Migration const> migrations;
  std::string_view read_meta;    ///< answers (version, min_reader, boot_id)
  std::string_view forget_boot;  ///< voids what another boot left
  std::string_view store_boot;   ///< ?1: the boot that the file belongs to from now on
};
/// Of leases and records.
[[nodiscard]] Schema store_schema() noexcept;
/// Of tasks, which have a file of their own.
[[nodiscard]] Schema task_schema() noexcept;

/// Opens the prepared place. Throws EngineError: not a store of ours (which is left as it is),
/// damaged, made by a newer version that this one cannot read, or locked by somebody.
[[nodiscard]] std::unique_ptr<Connection> open_store(Env& env, Place const& place,
                                                     Schema const& schema = store_schema());

/// Where migrate=no forbids to make a store: throws EngineError when there is no file. (Looked at
/// before the place is prepared, which makes one.)
void check_is_there(Place const& place);

/// The format of the prepared place's file, 0 when it has none yet; changes nothing. Throws as
/// open_store().
[[nodiscard]] int format_of(Env& env, Place const& place, Schema const& schema = store_schema());

/// What a store says of itself.
struct Meta {
  std::int64_t version = 0;
  std::int64_t min_reader = 0;
  std::string boot_id;
};

/// Nothing: there are no such tables. Throws DatabaseError.
[[nodiscard]] std::optional<Meta> read_meta(Connection& store,
                                            Schema const& schema = store_schema());

/// The newest format that this Holt knows.
[[nodiscard]] std::int64_t known_format() noexcept;

/// What a store of our format should have and this one has not, as "table" or "table.column".
/// Throws DatabaseError.
[[nodiscard]] std::vector<std::string> missing_parts(Env& env, Connection& store);

}  // namespace holt::sqlite
