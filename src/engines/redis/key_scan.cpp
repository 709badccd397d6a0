// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/key_scan.hpp"

#include "engines/redis/scripting.hpp"

namespace holt::redis {
namespace {

constexpr std::string_view keys_per_scan = "1000";

}  // namespace

std::string pattern_of(std::string_view text) {
  std::string pattern;
  for (char const c : text) {
    if (std::string_view("*?[]\\^-").contains(c)) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

asio::awaitable<std::vector<std::string>> scan_keys(Connection& connection, std::string start,
                                                    std::string more, Instant deadline) {
  std::vector<std::string> found;
  auto const pattern = pattern_of(start + more) + '*';
  std::string position = "0";
  do {
    auto scan = command("SCAN", position, "MATCH", pattern, "COUNT", keys_per_scan);
    Reply const reply =
        co_await run_command(connection, std::move(scan), Effect::reads, "list", deadline);
    position = (*reply)[0].text();
    auto const keys = (*reply)[1];
    for (std::size_t i = 0; i < keys.size(); ++i) {
      found.emplace_back(keys[i].text().substr(start.size()));
    }
  } while (position != "0");
  // A key may be shown twice.
  std::ranges::sort(found);
  auto const doubles = std::ranges::unique(found);
  found.erase(doubles.begin(), doubles.end());
  co_return found;
}

}  // namespace holt::redis
