// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `holt doctor` is told about the server that listings are read from (read_store).

#include "engines/postgres/place.hpp"
#include "engines/postgres/pool.hpp"

#include <holt/diagnosis.hpp>

#include <string>

namespace holt::postgres {

/// Whether `reads` leads to a copy of this store, and how far it is behind. `system` is the
/// identifier of the store's own server. What fails is part of the finding; on Env::executor().
asio::awaitable<Finding> diagnose_reads(Place const& place, Pool& pool, Pool& reads,
                                        std::string system, Instant deadline);

}  // namespace holt::postgres
