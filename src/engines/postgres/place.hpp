// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a store on PostgreSQL is and how to get in: a URL, taken apart and checked before any I/O.
//   postgres://[user[:password]@][host[:port],...][/database][?option=value&...]
// (or postgresql://). It is libpq's URL with all that libpq knows: several hosts, sslmode,
// passfile, service, host=/folder/of/socket. Options of our own: place_options.cpp.

#include "engines/postgres/syncguard_options.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::postgres {

/// Keywords of libpq and their values.
using Settings = std::vector<std::pair<std::string, std::string>>;

struct PoolOptions {
  int max = 4;  ///< connections
  int min = 1;  ///< so many stay open however idle they are
  std::chrono::seconds lifetime{3600};
  std::chrono::seconds idle{300};  ///< so long a connection above the least number is kept unused
  std::chrono::seconds check{60};  ///< an unused connection is asked whether it lives
};

struct Place {
  Settings settings;
  std::string schema = "holt";
  PoolOptions pool;
  bool migrate = true;                ///< makes and updates the schema, where the role may
  bool listens = true;                ///< false: waiters ask by the clock
  std::optional<Settings> listen_at;  ///< where to listen, if not at `settings`
  std::optional<Settings> read_at;    ///< for listings alone: standbys, say
  SyncguardOptions syncguard;         ///< true: leases are in a fleet's tables

  /// For people: canonical, without secrets. Parsed again it leads to the same store.
  [[nodiscard]] std::string url() const;
};

/// Throws InvalidArgument, whose text has no secret.
[[nodiscard]] Place parse_place(std::string_view url);

/// The value of a keyword; empty: not set.
[[nodiscard]] std::string_view setting(Settings const& settings, std::string_view keyword);
void set(Settings& settings, std::string_view keyword, std::string value);

/// `text` with the value in the place of each mark.
[[nodiscard]] std::string with_value(std::string_view text, std::string_view mark,
                                     std::string_view value);
/// `text` with the store's schema where it says "@schema@", and without the comment it begins with.
[[nodiscard]] std::string in_schema(std::string_view text, std::string_view schema);

}  // namespace holt::postgres
