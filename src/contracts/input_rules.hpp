// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every engine refuses before any I/O: each throws InvalidArgument with what would be right.
// And where a page of a listing starts.

#include "contracts/lease_store.hpp"
#include "contracts/record_store.hpp"

#include <holt/error.hpp>
#include <holt/name.hpp>

#include <cstdint>
#include <set>
#include <string>

namespace holt {

inline void check_request(LeaseRequest const& request) {
  auto const count = request.names.size();
  if (count < 1 || count > LeaseStore::max_names) {
    throw InvalidArgument(std::to_string(count) + " names in one request: use 1 to " +
                          std::to_string(LeaseStore::max_names));
  }
  if (count > 1 && std::set(request.names.begin(), request.names.end()).size() != count) {
    throw InvalidArgument("the names in one request must differ");
  }
  if (request.note.size() > LeaseStore::max_note_bytes) {
    throw InvalidArgument("a note of " + std::to_string(request.note.size()) +
                          " bytes is too long: use at most " +
                          std::to_string(LeaseStore::max_note_bytes));
  }
  if (request.owner.empty()) throw InvalidArgument("a request needs an owner");
  if (request.ttl <= Nanos(0)) throw InvalidArgument("a ttl must be above zero");
}

inline void check_key(std::string const& key) {
  if (!key.empty() && key.size() <= Name::max_bytes) return;
  throw InvalidArgument("a key of " + std::to_string(key.size()) +
                        " bytes is not possible: use 1 to " + std::to_string(Name::max_bytes));
}

inline void check_value(std::string const& value) {
  if (value.size() <= RecordStore::max_value_bytes) return;
  throw InvalidArgument("a value of " + std::to_string(value.size()) +
                        " bytes is too long: use at most " +
                        std::to_string(RecordStore::max_value_bytes));
}

inline void check_page_size(std::uint32_t limit) {
  constexpr std::uint32_t max_page = 1000;
  if (limit >= 1 && limit <= max_page) return;
  throw InvalidArgument("a page of " + std::to_string(limit) +
                        " entries is not possible: use 1 to " + std::to_string(max_page));
}

/// Where a listing starts: at `prefix`, or right behind `cursor` when that comes later. The
/// smallest text above the cursor is the cursor with a zero byte behind it.
[[nodiscard]] inline std::string first_of_page(std::string const& prefix,
                                               std::string const& cursor) {
  if (cursor.empty() || cursor < prefix) return prefix;
  return cursor + '\0';
}

}  // namespace holt
