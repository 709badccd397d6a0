// SPDX-License-Identifier: Apache-2.0
#pragma once
// The store's schema: which migrations it has seen, and bringing it up to date.

#include "engines/postgres/link.hpp"
#include "engines/postgres/place.hpp"

#include <optional>

namespace holt::postgres {

struct SchemaVersion {
  int version = 0;
  int min_reader = 0;  ///< the oldest program that may use it: the last migration that knows
};

/// What the schema says; nothing: there is none yet. Throws EngineError.
[[nodiscard]] std::optional<SchemaVersion> schema_version(Link& link, Place const& place,
                                                          Instant deadline);

/// The same, 0 for none. Throws EngineError also when the schema is too new for this program.
[[nodiscard]] SchemaVersion look_at_schema(Link& link, Place const& place, Instant deadline);

/// Makes or updates the schema, if that is needed: in one transaction, and under a lock, so that
/// programs that start together do it once. Answers the version that it had before. Throws
/// EngineError: it is needed and not allowed, or the schema is too new for this program.
int prepare_schema(Link& link, Place const& place, Instant deadline);

/// The last migration that this program knows.
[[nodiscard]] int newest_version();

}  // namespace holt::postgres
