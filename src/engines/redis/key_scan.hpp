// SPDX-License-Identifier: Apache-2.0
#pragma once
// Looking for the keys of a fleet, which has no list of them: by SCAN, never by KEYS.

#include "engines/redis/connection.hpp"

#include <boost/asio/awaitable.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::redis {

/// A pattern that just this text fits.
[[nodiscard]] std::string pattern_of(std::string_view text);

/// What is behind `start` in all keys that begin with it and go on with `more`: in byte order, each
/// once. Looks at the whole database, some keys with each call.
asio::awaitable<std::vector<std::string>> scan_keys(Connection& connection, std::string start,
                                                    std::string more, Instant deadline);

/// A page of a listing in which both Holt's own and a fleet's stand, in byte order of their names.
/// `own` goes up to its `next`, if it has one; `fleets` has at least `limit` + 1 if there are so
/// many. Answers the next page's cursor.
template <class Item, class NameOf>
std::string merge_pages(std::vector<Item>& own, std::string next, std::vector<Item> fleets,
                        std::uint32_t limit, NameOf const& name_of) {
  auto const before = [&](Item const& one, Item const& other) {
    return name_of(one) < name_of(other);
  };
  if (!next.empty()) {
    std::erase_if(fleets, [&](Item const& item) { return name_of(item) > next; });
  }
  std::vector<Item> all;
  std::ranges::merge(std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()),
                     std::make_move_iterator(fleets.begin()), std::make_move_iterator(fleets.end()),
                     std::back_inserter(all), before);
  own = std::move(all);
  if (own.size() <= limit) return next;
  own.erase(own.begin() + limit, own.end());
  return name_of(own.back());
}

}  // namespace holt::redis
