// SPDX-License-Identifier: Apache-2.0
#pragma once
// All pages of a listing. Not a snapshot: what changes meanwhile may be seen or not.

#include "contracts/lease_store.hpp"
#include "contracts/record_store.hpp"

#include <boost/asio/awaitable.hpp>

#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace holt {

inline constexpr std::uint32_t whole_page = 1000;

inline asio::awaitable<std::vector<LeaseInfo>> list_all(LeaseStore& store, std::string prefix,
                                                        Instant deadline) {
  std::vector<LeaseInfo> all;
  std::string cursor;
  do {
    LeasePage page = co_await store.list(prefix, cursor, whole_page, deadline);
    std::ranges::move(page.leases, std::back_inserter(all));
    cursor = std::move(page.next);
  } while (!cursor.empty());
  co_return all;
}

inline asio::awaitable<std::vector<Record>> list_all(RecordStore& store, std::string prefix,
                                                     Instant deadline) {
  std::vector<Record> all;
  std::string cursor;
  do {
    RecordPage page = co_await store.list(prefix, cursor, whole_page, deadline);
    std::ranges::move(page.records, std::back_inserter(all));
    cursor = std::move(page.next);
  } while (!cursor.empty());
  co_return all;
}

}  // namespace holt
