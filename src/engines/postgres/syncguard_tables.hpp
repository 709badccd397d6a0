// SPDX-License-Identifier: Apache-2.0
#pragma once
// The two tables of a SyncGuard fleet: whether they are there, and what `holt doctor` says of them.
// Holt does not make them, as SyncGuard's locks do not: a wrong name, database or search_path would
// else become a fleet of its own, and exclude nobody.

#include "engines/postgres/link.hpp"
#include "engines/postgres/place.hpp"
#include "engines/postgres/pool.hpp"

#include <holt/diagnosis.hpp>

#include <boost/asio/awaitable.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace holt::postgres {

/// `text` with the names of the store's schema and of the fleet's tables in their places.
[[nodiscard]] std::string in_tables(std::string_view text, Place const& place);

/// Throws EngineError when a table is not there or is not SyncGuard's.
void check_syncguard_tables(Link& link, Place const& place, Instant deadline);

/// Changes findings about Holt's own layout into what is true of this one, and adds "layout".
asio::awaitable<void> add_syncguard_findings(Env& env, Place const& place, Pool& pool,
                                             std::chrono::nanoseconds patience,
                                             std::vector<Finding>& findings);

}  // namespace holt::postgres
